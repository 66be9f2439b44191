"""Load the documents and the index that an evaluation uses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lpisearch.errors import NothingToEvaluate
from lpisearch.evaluation.experiments.collection import (
    digest_of,
    library_collection,
    matrix_collection,
)
from lpisearch.indexes.checking import AUTO
from lpisearch.indexes.opening import entry_named
from lpisearch.indexes.rebuild import rebuild_command
from lpisearch.messages import Message, call
from lpisearch.records import Filter
from lpisearch.storage import TOKENISER, fingerprint
from lpisearch.wording import are

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.evaluation.experiments.collection import Collection
    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.indexes.session import Session
    from lpisearch.settings import EvaluateOptions
    from lpisearch.storage import IndexEntry


@dataclass(frozen=True, eq=False, slots=True)
class StoredVectors:
    """The documents as an index in use has them.

    Attributes
    ----------
    method, dims
        Of the index.
    vectors
        Documents as rows at unit length.
    places
        The row of each document, by its key in the library.
    notes
        What is to be known of them.
    """

    method: str
    dims: int
    vectors: NDArray[np.float32]
    places: dict[int, int]
    notes: tuple[str, ...]

    def of(self, keys: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of documents."""
        return np.asarray(self.vectors[[self.places[key] for key in keys]])

    def known(self, collection: Collection) -> Collection:
        """Keep the documents that the index has."""
        rows = [row for row, key in enumerate(collection.keys) if key in self.places]
        missing = len(collection) - len(rows)
        if not missing:
            return collection
        if not rows:
            raise NothingToEvaluate(
                "None of the labelled documents is in the index.", call("index")
            )
        said = f"{are(missing, 'document')} not in the index (skipped)."
        return replace(collection.of(rows), notes=(*collection.notes, said))


@dataclass(frozen=True, eq=False, slots=True)
class EvaluationInput:
    """A library or a file, read once.

    Attributes
    ----------
    session
        The library.
    collection
        Its documents, or those of the file.
    has_index
        Whether it is a library: a file has no index.
    """

    session: Session
    collection: Collection
    has_index: bool

    @classmethod
    def open(cls, session: Session, options: EvaluateOptions) -> EvaluationInput:
        """Read the documents.

        Raises
        ------
        LibraryError, MatrixUnreadable, NothingToEvaluate
        """
        if options.matrix is not None:
            return cls(session, matrix_collection(options.matrix), has_index=False)
        return cls(session, library_collection(session), has_index=True)

    def entry(self, name: str) -> IndexEntry | None:
        """Return what the library says of an index; None if it has no default one.

        Raises
        ------
        IndexNotFound
        """
        if not self.has_index:
            return None
        with self.session.reading() as snapshot:
            return entry_named(snapshot, name)

    def stored_vectors(self, name: str) -> StoredVectors | None:
        """Open the vectors of an index; None if there is none.

        Raises
        ------
        IndexNotFound, IndexDamaged, IndexTooNew
        """
        found = index_in_use(self.session, name) if self.has_index else None
        if found is None:
            return None
        index, notes = found.opened, list(found.notes)
        if found.entry.spec.labels == "use":
            notes.append("The index was trained on the labels it is compared with here.")
        rows: list[int] = index.document_rows.tolist()
        places = {key: place for place, key in enumerate(rows)}
        vectors = index.vectors
        return StoredVectors(index.manifest.method, vectors.shape[1], vectors, places, tuple(notes))


class InUse(NamedTuple):
    """An index of a library, what the library says of it, and what is to be known of it."""

    opened: SubspaceIndex
    entry: IndexEntry
    notes: tuple[str, ...]


def index_in_use(session: Session, name: str) -> InUse | None:
    """Open an index of a library; None if it has no default one.

    Raises
    ------
    IndexNotFound, IndexDamaged, IndexTooNew
    """
    with session.indexes.reading(name) as reading:
        if reading.trouble is not None:
            raise reading.trouble
        if reading.opened is None:
            return None
        index, entry = reading.opened.index, reading.opened.entry
        hashes = reading.snapshot.corpus.content_hashes(entry.spec.where)
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
    """Return a digest of all that an evaluation reads from a library.

    Raises
    ------
    LibraryError
    """
    with session.reading() as snapshot:
        parts: list[object] = [
            sorted(snapshot.documents.ids().items()),
            sorted(snapshot.corpus.content_hashes(Filter()).items()),
            sorted(snapshot.labels.by_key(Filter()).items()),
            sorted(snapshot.labels.splits_by_key(Filter()).items()),
            snapshot.settings.get(TOKENISER),
            [(entry.name, entry.folder) for entry in snapshot.indexes.entries()],
        ]
    return digest_of([repr(part).encode() for part in parts])


def index_options(source: EvaluationInput, options: EvaluateOptions) -> tuple[EvaluateOptions, str]:
    """Take what an index was built with where nothing else is asked for; name its method.

    Returns
    -------
    tuple
        The options, and the method: "rlpi" if there is no index.
    """
    entry = None if options.methods else source.entry(options.index)
    if entry is None:
        return options, "rlpi"
    asked = entry.spec
    return replace(
        options,
        alpha=options.alpha if options.alpha is not None else asked.alpha,
        weighting=options.weighting or asked.weighting,
        neighbours=asked.neighbours,
        graph=AUTO if asked.labels == "use" else asked.graph,
        radius=asked.radius,
        edge_weights=asked.edge_weights,
        settings=asked.settings,
    ), entry.method
