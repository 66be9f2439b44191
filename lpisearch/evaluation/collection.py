"""Collections to evaluate: documents of a library or a matrix (CSR, svmlight), with labels."""

from __future__ import annotations

import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.errors import LpiSearchError, NothingToEvaluate
from lpisearch.index.directory import entry_named, rebuild_command
from lpisearch.index.projection import AUTO
from lpisearch.messages import Message, are, call, have, quoted, system_reason
from lpisearch.model.documents import Filter
from lpisearch.storage.integrity import fingerprint
from lpisearch.storage.metadata import TOKENISER, IndexEntry
from lpisearch.text.languages import TokeniserSettings
from lpisearch.text.vocabulary import DEFAULT_WEIGHTING, VocabularyLimits, count_all_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.options import EvaluateOptions
    from lpisearch.search.session import Session
    from lpisearch.storage.store import ReadTransaction

    Rows = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False, slots=True)
class Collection:
    """Documents as counts of terms (rows here, columns in the papers), with their labels."""

    name: str
    counts: csr_array  # documents x all terms; learners choose terms by `limits`
    labels: tuple[tuple[str, ...], ...]
    splits: tuple[str, ...]
    terms: tuple[str, ...]  # names of columns; () if the source has none
    keys: tuple[int, ...]  # of the documents in the library; () for a file
    weighting: str  # the default
    limits: VocabularyLimits
    fingerprint: str  # equal for equal documents and labels
    tokeniser: TokeniserSettings | None = None
    notes: tuple[str, ...] = ()  # what was skipped

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def single_labels(self) -> list[str]:
        """The first label of each document, "" without one."""
        return [own[0] if own else "" for own in self.labels]

    def of(self, rows: Sequence[int] | Rows) -> Collection:
        """Return the documents of these rows."""
        indices = np.asarray(rows, np.int64)
        chosen = indices.tolist()
        return replace(
            self,
            counts=self.counts[indices],
            labels=tuple(self.labels[row] for row in chosen),
            splits=tuple(self.splits[row] for row in chosen),
            keys=tuple(self.keys[row] for row in chosen) if self.keys else (),
        )


def library_collection(session: Session) -> Collection:
    """Count the terms of all documents of a library."""
    keys: list[int] = []
    hashes: list[bytes] = []

    def shards(snapshot: ReadTransaction) -> Iterator[list[str]]:
        for shard in snapshot.corpus.shards(Filter()):
            keys.extend(shard.keys)
            hashes.extend(shard.hashes)
            yield shard.tokens

    with session.reading() as snapshot:
        terms, counted = count_all_terms(shards(snapshot))
        named = snapshot.corpus.labels(Filter())
        split = snapshot.corpus.splits(Filter())
        stored = snapshot.settings.get(TOKENISER) or {}
    if not keys:
        raise NothingToEvaluate("The library has no documents.", call("ingest", "PATH"))
    terms, counts = _in_order(terms, counted.matrix)
    labels = tuple(tuple(named.get(key, ())) for key in keys)
    splits = tuple(split.get(key, "") for key in keys)
    return Collection(
        name=session.path.name,
        counts=counts,
        labels=labels,
        splits=splits,
        terms=terms,
        keys=tuple(keys),
        weighting=DEFAULT_WEIGHTING,
        limits=VocabularyLimits(),
        fingerprint=_digest(hashes, labels, splits),
        tokeniser=TokeniserSettings.from_dict(stored),
    )


def _in_order(terms: Sequence[str], counts: csr_array) -> tuple[tuple[str, ...], csr_array]:
    """Sort terms alphabetically, so that their order does not depend on the documents."""
    from scipy.sparse import csr_array

    order = sorted(range(len(terms)), key=terms.__getitem__)
    columns = np.empty(len(terms), counts.indices.dtype)
    columns[order] = np.arange(len(terms))
    ordered = csr_array((counts.data, columns[counts.indices], counts.indptr), shape=counts.shape)
    ordered.sort_indices()
    return tuple(terms[column] for column in order), ordered


def labelled(collection: Collection) -> Collection:
    """Keep the documents with labels and words; raise NothingToEvaluate below two labels."""
    sizes = np.diff(collection.counts.indptr)
    rows = [row for row, own in enumerate(collection.labels) if own and sizes[row]]
    without = sum(not own for own in collection.labels)
    notes = list(collection.notes)
    if without:
        notes.append(f"{have(without, 'document')} no label (skipped).")
    if wordless := len(collection) - len(rows) - without:
        notes.append(f"{have(wordless, 'document')} no words (skipped).")
    names = {name for row in rows for name in collection.labels[row]}
    if not names and without < len(collection):
        raise NothingToEvaluate(
            "No labelled document contains any words.",
            Message(call("entries"), "  (lists the documents)"),
        )
    if not names:
        raise NothingToEvaluate(
            "No document has a label to compare with.",
            Message("add labels to the documents: ", call("ingest", "PATH", labels="folder")),
        )
    if len(names) == 1:
        raise NothingToEvaluate(
            f"All labelled documents have the same label, {quoted([*names])}; at least "
            "two labels are needed.",
            Message("add documents with another label: ", call("ingest", "PATH")),
        )
    return replace(collection.of(rows), notes=tuple(notes))


def single_labelled(collection: Collection, largest: int | None = None) -> Collection:
    """Keep the documents with just one label, as in the papers, and the largest classes."""
    known = labelled(collection)
    rows = [row for row, own in enumerate(known.labels) if len(own) == 1]
    notes = list(known.notes)
    if len(rows) < len(known):
        several = len(known) - len(rows)
        notes.append(f"{have(several, 'document')} more than one label (skipped).")
    sizes = Counter(known.labels[row][0] for row in rows)
    if largest is not None and largest < len(sizes):
        classes = set(sorted(sizes, key=lambda name: (-sizes[name], name))[:largest])
        rows = [row for row in rows if known.labels[row][0] in classes]
        notes.append(f"Using only the {largest:,} largest of {len(sizes):,} classes.")
    if len({known.labels[row][0] for row in rows}) < 2:  # noqa: PLR2004 (to tell apart takes two)
        raise NothingToEvaluate(
            "Fewer than two classes have documents with just one label.",
            Message(call("status"), "  (lists the labels)"),
        )
    return replace(known.of(rows), notes=tuple(notes))


def has_several(collection: Collection) -> bool:
    """Return whether a document has more than one label."""
    return any(len(own) > 1 for own in collection.labels)


def matrix_collection(path: Path) -> Collection:
    """Read a collection from a matrix file."""
    matrix = read_matrix(path)
    counts = matrix.counts
    names = ["\x1f".join(own).encode() for own in matrix.labels]
    parts = (counts.data, counts.indices, counts.indptr)
    return Collection(
        name=path.name,
        counts=counts,
        labels=matrix.labels,
        splits=("",) * len(names),
        terms=(),
        keys=(),
        weighting="tf",  # published matrices are used as they are, at unit length
        limits=VocabularyLimits(min_df=1, max_terms=None),
        fingerprint=digest_of([*(part.tobytes() for part in parts), *names]),
    )


def digest_of(parts: Sequence[bytes]) -> str:
    """Return a digest of a sequence of byte strings."""
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _digest(hashes: Sequence[bytes], labels: Sequence[Sequence[str]], splits: Sequence[str]) -> str:
    names = ("\x1f".join([*own, split]).encode() for own, split in zip(labels, splits, strict=True))
    return digest_of([*hashes, *names])


@dataclass(frozen=True, eq=False, slots=True)
class StoredVectors:
    """The vectors of the documents in an index."""

    method: str
    dims: int
    vectors: NDArray[np.float32]  # rows at unit length
    rows: dict[int, int]  # the row of each document, by its key in the library
    notes: tuple[str, ...]

    def of(self, keys: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of documents."""
        return np.asarray(self.vectors[[self.rows[key] for key in keys]])

    def known(self, collection: Collection) -> Collection:
        """Keep the documents that are in the index."""
        rows = [row for row, key in enumerate(collection.keys) if key in self.rows]
        missing = len(collection) - len(rows)
        if not missing:
            return collection
        if not rows:
            raise NothingToEvaluate(
                "None of the labelled documents is in the index.", call("index")
            )
        note = f"{are(missing, 'document')} not in the index (skipped)."
        return replace(collection.of(rows), notes=(*collection.notes, note))


@dataclass(frozen=True, eq=False, slots=True)
class EvaluationInput:
    """A library or a matrix file, read once."""

    session: Session
    collection: Collection
    has_index: bool  # False for a file

    @classmethod
    def open(cls, session: Session, options: EvaluateOptions) -> EvaluationInput:
        """Read the documents."""
        if options.matrix is not None:
            return cls(session, matrix_collection(options.matrix), has_index=False)
        return cls(session, library_collection(session), has_index=True)

    def entry(self, name: str) -> IndexEntry | None:
        """Return the entry of an index; None if the library has no default index."""
        if not self.has_index:
            return None
        with self.session.reading() as snapshot:
            return entry_named(snapshot, name)

    def stored_vectors(self, name: str) -> StoredVectors | None:
        """Open the vectors of an index; None if there is none."""
        in_use = index_in_use(self.session, name) if self.has_index else None
        if in_use is None:
            return None
        index, notes = in_use.opened, list(in_use.notes)
        if in_use.entry.spec.labels == "use":
            notes.append("The index was trained on the labels it is compared with here.")
        rows = {key: row for row, key in enumerate(index.document_rows.tolist())}
        vectors = index.vectors
        return StoredVectors(index.manifest.method, vectors.shape[1], vectors, rows, tuple(notes))


class InUse(NamedTuple):
    """An index of a library with its entry and notes."""

    opened: SubspaceIndex
    entry: IndexEntry
    notes: tuple[str, ...]


def index_in_use(session: Session, name: str) -> InUse | None:
    """Open an index of a library; None if there is no default index."""
    with session.snapshot(name) as snapshot:
        if snapshot.trouble is not None:
            raise snapshot.trouble
        if snapshot.engine is None or snapshot.entry is None:
            return None
        index, entry = snapshot.engine.whole_index, snapshot.entry
        hashes = snapshot.transaction.corpus.content_hashes(entry.spec.where)
    notes: tuple[str, ...] = ()
    if fingerprint(hashes) != entry.fingerprint:
        command = rebuild_command(entry.spec)
        notes = (
            Message(
                "The index is out of date: documents were added, changed or removed. Next: ",
                command,
            ),
        )
    return InUse(index, entry, notes)


def library_state(session: Session) -> str:
    """Return a digest of everything an evaluation reads from a library."""
    with session.reading() as snapshot:
        parts: list[object] = [
            sorted(snapshot.documents.ids().items()),
            sorted(snapshot.corpus.content_hashes(Filter()).items()),
            sorted(snapshot.corpus.labels(Filter()).items()),
            sorted(snapshot.corpus.splits(Filter()).items()),
            snapshot.settings.get(TOKENISER),
            [(entry.name, entry.folder) for entry in snapshot.indexes.entries()],
        ]
    return digest_of([repr(part).encode() for part in parts])


def index_options(source: EvaluationInput, options: EvaluateOptions) -> tuple[EvaluateOptions, str]:
    """Complete options with those of the index, and return its method ("rlpi" without an index)."""
    entry = None if options.methods else source.entry(options.index)
    if entry is None:
        return options, "rlpi"
    spec = entry.spec
    return replace(
        options,
        alpha=options.alpha if options.alpha is not None else spec.alpha,
        weighting=options.weighting or spec.weighting,
        neighbours=spec.neighbours,
        graph=AUTO if spec.labels == "use" else spec.graph,
        radius=spec.radius,
        edge_weights=spec.edge_weights,
        settings=spec.settings,
    ), entry.method


_PARTS = ("data", "indices", "indptr", "shape", "label")
_NPZ = b"PK"
_MOST_TERMS = 50_000_000
# What NumPy, SciPy, scikit-learn and zipfile raise for files that are cut short or garbled.
_UNREADABLE = (
    ValueError,
    TypeError,
    OverflowError,
    EOFError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


class MatrixUnreadable(LpiSearchError):
    """A file is not a matrix or cannot be read."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: {reason}.",
            "give an .npz file with the arrays data, indices, indptr, shape and label, "
            "or an svmlight file",
        )


@dataclass(frozen=True, eq=False, slots=True)
class Matrix:
    """A published matrix of documents (rows; columns in the papers) x terms, with labels."""

    counts: csr_array
    labels: tuple[tuple[str, ...], ...]


def read_matrix(path: Path) -> Matrix:
    """Read documents x terms with the labels of each document."""
    try:
        with path.open("rb") as stream:
            is_archive = stream.read(len(_NPZ)) == _NPZ
        counts, labels = _archive(path) if is_archive else _svmlight(path)
    except OSError as error:
        raise MatrixUnreadable(path, system_reason(error)) from error
    except _UNREADABLE as error:
        raise MatrixUnreadable(path, str(error).rstrip(".")) from error
    _check(path, counts, labels)
    counts = _compact(counts)
    counts.eliminate_zeros()  # a term that is stored as 0 times there is not there
    return Matrix(counts, labels)


def _archive(path: Path) -> tuple[csr_array, tuple[tuple[str, ...], ...]]:
    from scipy.sparse import csr_array

    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        missing = [name for name in _PARTS if name not in stored]
        if missing:
            raise ValueError(f"it lacks the array {', '.join(missing)}")
        data, indices, indptr, shape, label = (stored[name] for name in _PARTS)
    if np.iscomplexobj(data):
        raise ValueError("its numbers are complex")
    size = tuple(int(length) for length in shape.ravel().tolist())
    if len(size) != 2:  # noqa: PLR2004 (documents and terms)
        raise ValueError("its shape is not two numbers, of documents and of terms")
    matrix = csr_array((data.astype(np.float32), indices, indptr), shape=size)
    matrix.check_format(full_check=True)
    matrix.sum_duplicates()
    return matrix, tuple((str(name),) for name in label.ravel().tolist())


def _compact(counts: csr_array) -> csr_array:
    """Return counts with 32-bit indices where they fit: the linear SVM takes no others."""
    from scipy.sparse import csr_array

    if counts.nnz > np.iinfo(np.int32).max:
        return counts
    index_arrays = (counts.indices.astype(np.int32), counts.indptr.astype(np.int32))
    return csr_array((counts.data, *index_arrays), shape=counts.shape)


def _svmlight(path: Path) -> tuple[csr_array, tuple[tuple[str, ...], ...]]:
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_file

    matrix, labels = load_svmlight_file(str(path), dtype=np.float32, multilabel=True)
    counts = csr_array(matrix)
    counts.sum_duplicates()
    return counts, tuple(tuple(f"{label:g}" for label in own) for own in labels)


def _check(path: Path, counts: csr_array, labels: tuple[tuple[str, ...], ...]) -> None:
    if not labels:
        raise MatrixUnreadable(path, "it has no documents")
    if len(labels) != counts.shape[0]:
        raise MatrixUnreadable(
            path, f"it has {counts.shape[0]:,} documents, but {len(labels):,} labels"
        )
    if counts.shape[1] > _MOST_TERMS:
        raise MatrixUnreadable(path, f"it has {counts.shape[1]:,} terms, too many to count")
    if not np.isfinite(counts.data).all() or (counts.data < 0).any():
        raise MatrixUnreadable(path, "it has numbers that are negative or not finite")
