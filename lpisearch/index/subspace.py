"""SubspaceIndex, and the passages of long documents.

Rows of `vectors` are documents, at unit length with each dimension scaled, so that the inner
product of two rows is their cosine. Rows of `loadings` are terms: the papers' A, and the transpose
of a projection's `components_`, so that a query reads only the rows of its words. A method without
a linear map has no loadings: the manifest names the rule that places documents, and the rule has
arrays of its own. Passages are placed by the map that was learned from whole documents, and their
postings have the same terms.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lpisearch.errors import IndexOutdated, IndexUnreadable, SubspaceError
from lpisearch.index import format as index_format
from lpisearch.index.directory import IndexLocation, rebuild_command
from lpisearch.index.format import PLACEMENT, Manifest
from lpisearch.index.fusion import Moments
from lpisearch.index.positions import Fields, Sequences, SequenceWriter
from lpisearch.index.postings import (
    LEXICON,
    NO_COLUMN,
    NOTHING,
    POSTINGS,
    DocumentTerms,
    GeneralIdf,
    Postings,
)
from lpisearch.methods.placement import placement_rule
from lpisearch.numeric.rows import REMOVED, PackedRows, SparseRows
from lpisearch.text.spans import LONG_DOCUMENT, Span, cut_passages
from lpisearch.text.spelling import SPELLED, WRITTEN, Lines
from lpisearch.text.vocabulary import Vocabulary, Weighting, general_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.storage.metadata import IndexEntry
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.text.tokeniser import Tokeniser


HASH_BYTES = 16
PACKED_FROM = 1 << 20
"""The size from which vectors have two bytes per number and loadings one (see docs/scale.md)."""
# Of a document added after the build: 1, its tokens, and how many of them are unknown.
TAKEN_IN = ("documents", "words", "unknown")
_DOCUMENT_ARRAYS = ("vectors", "document_rows", "content_hashes", "taken_in")
_ARRAYS = ("terms", "document_frequencies", "idf", "scales", *_DOCUMENT_ARRAYS)


@dataclass(frozen=True)
class SubspaceIndex:
    """An index that is built or opened.

    The arrays by name: terms (UTF-8, one per line), document_frequencies, idf, loadings (terms x
    dims; with loading_steps, loading_scales if packed) or those of a placement, eigenvalues (if the
    method has any), scales, vectors (documents x dims; with vector_steps, vector_scales and
    vector_moments if packed), document_rows, content_hashes, taken_in (documents x `TAKEN_IN`;
    zeros for documents of the build), those of the postings, and those of passages if a document
    is long. They may be memory-mapped.
    """

    manifest: Manifest
    arrays: dict[str, NDArray[Any]]

    def missing(self) -> list[str]:
        """Return the names of arrays that are missing."""
        needed = {*_ARRAYS, *POSTINGS}
        if self.is_linear:
            needed.add("loadings")
        return sorted(needed - self.arrays.keys())

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The terms of the subspace."""
        return Vocabulary.from_bytes(
            self.arrays["terms"].tobytes(),
            self.arrays["document_frequencies"],
            self.manifest.result.documents,
        )

    @cached_property
    def weighting(self) -> Weighting:
        """The weighting of counts."""
        return Weighting(idf=self.arrays["idf"], **self.manifest.weighting)

    @property
    def term_factors(self) -> NDArray[np.float32]:
        """The factor of the weight of each term: below 1 for boilerplate."""
        every = self.arrays.get("term_factors")
        return np.ones(self.n_terms, np.float32) if every is None else every

    @cached_property
    def terms_of_sides(self) -> dict[tuple[int, bool], tuple[str, ...]]:
        """The terms of each side of a dimension, as far as they were looked up."""
        return {}

    @cached_property
    def term_spreads(self) -> NDArray[np.float64]:
        """The idf of each term times the root of the number of its documents."""
        return np.asarray(self.weighting.idf * np.sqrt(self.vocabulary.document_frequencies))

    @property
    def n_terms(self) -> int:
        """The number of terms with a column in the subspace."""
        return len(self.arrays["idf"])

    @cached_property
    def packed_vectors(self) -> PackedRows:
        """Documents as rows at unit length, as they are stored."""
        return PackedRows.of_arrays(self.arrays, "vector")

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Documents as rows at unit length, all unpacked."""
        return self.packed_vectors.at(slice(None))

    @cached_property
    def moments(self) -> Moments | None:
        """Mean and covariance of the vectors; None in a library that is not large."""
        stored = "vector_moments"
        return Moments.of_array(self._plain(stored)) if stored in self.arrays else None

    @property
    def long_documents(self) -> NDArray[np.int64]:
        """The rows of documents that are long enough to have passages."""
        is_long = self.postings.document_lengths >= LONG_DOCUMENT
        is_long[self.removed] = False
        return np.flatnonzero(is_long)

    @property
    def document_rows(self) -> NDArray[np.int64]:
        """The key of each document in the database, ascending unless a row is `REMOVED`."""
        return self._plain("document_rows")

    @cached_property
    def removed(self) -> NDArray[np.int64]:
        """The rows of documents that were changed or deleted, which do not count."""
        return np.flatnonzero(self.document_rows == REMOVED) if self.manifest.removed else NOTHING

    @property
    def n_documents(self) -> int:
        """The number of documents that are not removed."""
        return len(self.document_rows) - len(self.removed)

    @cached_property
    def removed_passages(self) -> NDArray[np.int64]:
        """The passages of removed documents."""
        if not len(self.removed):
            return NOTHING
        return np.flatnonzero(np.isin(self.arrays.get(f"{PASSAGE}owners", NOTHING), self.removed))

    @property
    def content_hashes(self) -> NDArray[np.uint8]:
        """The content hash of each document (documents x `HASH_BYTES`)."""
        return self._plain("content_hashes")

    @property
    def taken_in(self) -> NDArray[np.int32]:
        """What each document added after the build (documents x `TAKEN_IN`)."""
        return self._plain("taken_in")

    @cached_property
    def packed_loadings(self) -> PackedRows:
        """The linear map (terms x dims), if `is_linear`."""
        return PackedRows.of_arrays(self.arrays, "loading")

    @property
    def scales(self) -> NDArray[np.float32]:
        """The scale of each dimension."""
        return self._plain("scales")

    @property
    def eigenvalues(self) -> NDArray[np.floating[Any]] | None:
        """The spectrum, if the method has one."""
        return self._plain("eigenvalues") if "eigenvalues" in self.arrays else None

    @cached_property
    def postings(self) -> Postings:
        """The documents of every term, including rare ones."""
        return Postings.of_arrays(self.arrays, removed=self.removed)

    @cached_property
    def lexicon(self) -> Lines:
        """The terms of the postings, as lines that all threads share."""
        return Lines(self.postings.lexicon, self.postings.lexicon_starts)

    @cached_property
    def term_frequencies(self) -> NDArray[np.int64]:
        """The document frequency of every line of the lexicon."""
        frequencies, numbers = self.postings.frequencies(), self.postings.line_numbers
        return frequencies if numbers is None else frequencies[numbers]

    @cached_property
    def plain_spellings(self) -> Lines | None:
        """The terms with accents, by their spellings without; None in an earlier index."""
        return Lines(*map(self._plain, SPELLED)) if SPELLED[0] in self.arrays else None

    @cached_property
    def written_words(self) -> Lines | None:
        """The words as documents write them; None in an earlier index."""
        return Lines(*map(self._plain, WRITTEN[:2])) if WRITTEN[0] in self.arrays else None

    @property
    def written_documents(self) -> NDArray[np.int32]:
        """The number of documents of each of the written words."""
        return self._plain(WRITTEN[2])

    @cached_property
    def general_idf(self) -> GeneralIdf | None:
        """What the language of the index adds to the idf of a query; None if it has no list."""
        tokeniser = self.manifest.tokeniser
        words = general_words(str(tokeniser.get("main") or tokeniser.get("language", "")))
        return None if words is None else GeneralIdf(self.postings, words)

    @cached_property
    def document_terms(self) -> DocumentTerms:
        """The strongest terms of every document; none in an index of an earlier program."""
        return DocumentTerms.of_arrays(self.arrays, len(self.document_rows))

    @cached_property
    def twins(self) -> NDArray[np.int32]:
        """For each document the first of those that are nearly the same text."""
        if "twins" in self.arrays:
            return self.arrays["twins"].view(np.ndarray)
        from lpisearch.index.twins import twin_groups

        return twin_groups(self.document_terms, self.packed_vectors, self.twin_keys)

    @cached_property
    def twin_keys(self) -> NDArray[np.uint32]:
        """Numbers of each document, of which documents that are alike share one."""
        if "twin_keys" in self.arrays:
            return self._plain("twin_keys")
        from lpisearch.index.twins import twin_keys

        return twin_keys(self.document_terms.strongest_terms)

    @cached_property
    def passages(self) -> Passages | None:
        """The passages of long documents; None if no document is long."""
        return Passages.of_arrays(self.arrays, self.removed_passages)

    @cached_property
    def fields(self) -> Fields | None:
        """The words of titles, headings and paths; None in an index of an earlier version."""
        passages = self.removed_passages + len(self.document_rows)
        return Fields.of_arrays(self.arrays, np.concatenate([self.removed, passages]))

    @cached_property
    def sequences(self) -> Sequences | None:
        """The tokens of short documents in order; None in an index of an earlier version."""
        return Sequences.of_arrays(self.arrays)

    @cached_property
    def contents(self) -> dict[int, bytes]:
        """The content hash of each document, by its key in the database."""
        hashes = self.content_hashes.tobytes()
        starts = range(0, len(hashes), HASH_BYTES)
        rows = self.document_rows.tolist()
        return {row: hashes[i : i + HASH_BYTES] for row, i in zip(rows, starts, strict=True)}

    @property
    def is_linear(self) -> bool:
        """Whether a vector is a product with the loadings."""
        return not self.manifest.placement

    def by_column(self, counts: csr_array) -> csr_array:
        """Return counts of the terms with a column, from those of the terms of the postings."""
        from scipy.sparse import csr_array

        columns = self.postings.lexicon_columns
        has_column = columns[counts.indices] != NO_COLUMN
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        entries = (counts.data[has_column], (rows[has_column], columns[counts.indices[has_column]]))
        narrowed: csr_array = csr_array(entries, shape=(counts.shape[0], self.n_terms))
        return narrowed

    def project(self, counts: csr_array) -> NDArray[np.float32]:
        """Return the vectors of counts of documents (rows), made as those of the corpus were."""
        weights = self.weighting.apply(counts)
        if not self.is_linear:
            return self.project_weights(SparseRows.of_matrix(weights).unit())
        own, columns = np.unique(weights.indices, return_inverse=True)
        shape = (weights.shape[0], len(own))
        narrowed = type(weights)((weights.data, columns, weights.indptr), shape=shape)
        return scaled_rows(narrowed @ self.packed_loadings.at(own), self.scales)

    def project_weights(self, rows: SparseRows) -> NDArray[np.float32]:
        """Return the vectors of weights of terms of unit length; needs NumPy alone."""
        if self.is_linear:
            own, columns = np.unique(rows.indices, return_inverse=True)
            narrowed = SparseRows(rows.indptr, columns, rows.data, len(own))
            coordinates = narrowed.product(self.packed_loadings.at(own))
        else:
            coordinates = placement_rule(self.manifest.placement)(self._placement, rows)
        return scaled_rows(coordinates, self.scales)

    def _plain(self, name: str) -> NDArray[Any]:
        """Return an array as a plain view: slicing a memory-mapped one costs ten times as much."""
        return self.arrays[name].view(np.ndarray)

    @cached_property
    def _placement(self) -> dict[str, NDArray[Any]]:
        own = [name for name in self.arrays if name.startswith(PLACEMENT)]
        return {name.removeprefix(PLACEMENT): self.arrays[name] for name in own}


def open_index(
    location: IndexLocation, transaction: ReadTransaction, entry: IndexEntry
) -> SubspaceIndex:
    """Open and verify an index of the register; a `SubspaceError` names how to rebuild it."""
    try:
        folder = location.fetched(transaction, entry)
        index = SubspaceIndex(*index_format.open_verified(folder))
        if missing := index.missing():
            raise IndexOutdated(entry.name, missing)
    except SubspaceError as error:
        # An index that the system refuses to let us read may be intact: a rebuild would not help.
        if not isinstance(error, IndexUnreadable):
            error.next_step = rebuild_command(entry.spec)
        raise
    return index


def scaled_rows(
    coordinates: NDArray[np.float32], scales: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Scale dimensions, then bring each row to unit length; a row of zeros stays."""
    scaled = np.asarray(coordinates * scales, np.float32)
    largest = np.abs(scaled).max(axis=1, initial=0)
    largest[largest == 0] = 1
    scaled /= largest[:, np.newaxis]  # the square of a small float32 is 0
    lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    lengths[lengths == 0] = 1
    scaled /= lengths[:, np.newaxis]
    return scaled


def packed_arrays(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return what is stored in fewer bytes: a large map, and the order of words."""
    stored: dict[str, NDArray[Any]] = {}
    loadings = arrays.get("loadings")
    if loadings is not None and loadings.size >= PACKED_FROM and loadings.dtype.kind == "f":
        stored |= PackedRows.pack(loadings, np.int8).arrays("loading")
    for prefix in ("", PASSAGE):
        if (sequences := Sequences.of_arrays(arrays, prefix)) is not None:
            stored |= sequences.coded().arrays(prefix)
    return stored


def vector_arrays(places: PackedRows) -> dict[str, NDArray[Any]]:
    """Return the arrays of the vectors of documents."""
    moments = {} if places.steps is None else {"vector_moments": Moments.of_rows(places).as_array()}
    return places.arrays("vector") | moments


PASSAGE = "passage_"  # begins the names of their arrays
_OWN = ("owners", "spans")
_AT_ONCE = 50  # long documents, whose texts are in memory together
_PLACED_AT_ONCE = 10_000


@dataclass(frozen=True, eq=False, slots=True)
class Passages:
    """The passages of an index: rows of their documents (ascending), spans in the texts, vectors.

    The postings have the terms of the documents' postings.
    """

    owners: NDArray[np.int32]
    spans: NDArray[np.int32]
    vectors: PackedRows
    postings: Postings
    terms: DocumentTerms
    sequences: Sequences | None = None

    def __len__(self) -> int:
        return len(self.owners)

    @classmethod
    def of_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], removed: NDArray[np.int64] = NOTHING
    ) -> Self | None:
        """Take the arrays of an index; None if it has no passages."""
        own = {
            name.removeprefix(PASSAGE): arrays[name].view(np.ndarray)
            for name in passage_arrays(arrays)
        }
        if not own:
            return None
        return cls(
            own["owners"],
            own["spans"],
            PackedRows.of_arrays(own, "vector"),
            Postings.of_arrays(arrays, PASSAGE, "", removed),
            DocumentTerms.of_arrays(own, len(own["owners"])),
            Sequences.of_arrays(own),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store, by name; none if there is no passage."""
        if not len(self):
            return {}
        words = {name: a for name, a in self.postings.arrays().items() if name not in LEXICON}
        own = {name: getattr(self, name) for name in _OWN} | words | self.terms.arrays()
        own |= self.vectors.arrays("vector")
        own |= {} if self.sequences is None else self.sequences.arrays()
        return {f"{PASSAGE}{name}": array for name, array in own.items()}

    def of_document(self, place: int) -> slice:
        """Return the passages of a document."""
        start, end = np.searchsorted(self.owners, [place, place + 1]).tolist()
        return slice(start, end)


def passage_arrays(names: Iterable[str]) -> set[str]:
    """Return the names of the arrays of passages."""
    return {name for name in names if name.startswith(PASSAGE)}


def cut_documents(
    snapshot: ReadTransaction,
    tokeniser: Tokeniser,
    places: Mapping[int, int],
    on_step: Callable[[int, int], None] = lambda _done, _total: None,
) -> Iterator[tuple[int, Span]]:
    """Yield the passages of long documents, given by key and row, each with the document's row.

    The words of the title are added once to each passage: each page is about them.
    """
    keys = sorted(places)
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        sections = snapshot.documents.sections(some)
        traits = snapshot.documents.traits_of(some)
        for key, title, text in snapshot.documents.texts(some):
            language = traits[key].language if key in traits else ""
            joined = tokeniser.of_language(language).joined
            about = joined(title)
            for span in cut_passages(text, sections.get(key, ()), joined):
                tokens = f"{about} {span.tokens}" if about else span.tokens
                yield places[key], span._replace(tokens=tokens)
        on_step(start + len(some), len(keys))


def project_passages(
    index: SubspaceIndex, new: Iterable[tuple[int, Span]], unchanged: Passages | None = None
) -> Passages:
    """Place new passages, given with the rows of their documents, next to those of `staying`."""
    from scipy.sparse import vstack

    owners, spans, counts, lengths, fresh = _count(index.postings, new)
    sequences: Sequences | None = fresh
    fresh_vectors, n = _vectors(index, counts), 0
    if unchanged is not None:
        n = len(unchanged)
        sequences = None if unchanged.sequences is None else unchanged.sequences.joined(fresh)
        owners = np.concatenate([unchanged.owners, owners])
        spans = np.vstack([unchanged.spans, spans])
        counts = vstack([unchanged.postings.counts(), counts], format="csr")
        lengths = np.concatenate([unchanged.postings.document_lengths, lengths])
    order = np.argsort(owners, kind="stable")
    vectors = PackedRows(fresh_vectors[order[order >= n] - n])
    if unchanged is not None:
        vectors = unchanged.vectors.with_rows(np.where(order < n, order, -1), vectors.codes)
    elif vectors.codes.size >= PACKED_FROM:
        vectors = PackedRows.pack(vectors.codes)
    postings = index.postings.with_rows(counts[order], lengths[order])
    return Passages(
        owners[order],
        spans[order],
        vectors,
        postings,
        DocumentTerms.of_postings(postings),
        None if sequences is None else sequences.taken(order),
    )


def staying(passages: Passages, places: NDArray[np.integer], postings: Postings) -> Passages:
    """Return the passages of documents that stay, by the terms of new postings.

    `places` has the new row of each document, below zero if it is gone or has changed.
    """
    from scipy.sparse import csr_array

    owners = np.asarray(places)[passages.owners]
    stays = np.flatnonzero(owners >= 0)
    counts = passages.postings.counts()[stays]
    numbers = postings.numbers(passages.postings.terms())
    columns, sequences = numbers[counts.indices], passages.sequences
    known = columns >= 0
    rows = np.repeat(np.arange(len(stays)), np.diff(counts.indptr))
    entries = (counts.data[known], (rows[known], columns[known]))
    renumbered: csr_array = csr_array(entries, shape=(len(stays), len(postings)))
    lengths = passages.postings.document_lengths[stays]
    return Passages(
        owners[stays].astype(np.int32),
        passages.spans[stays],
        passages.vectors.with_rows(stays, np.empty((0, passages.vectors.shape[1]), np.float32)),
        postings.with_rows(renumbered, lengths),
        passages.terms,
        None if sequences is None else sequences.taken(stays, numbers),
    )


def _count(
    postings: Postings, new: Iterable[tuple[int, Span]]
) -> tuple[NDArray[np.int32], NDArray[np.int32], csr_array, NDArray[np.int32], Sequences]:
    """Return owners, spans, counts, lengths and sequences of passages."""
    from scipy.sparse import csr_array

    terms = postings.terms()
    writer = SequenceWriter({term: number for number, term in enumerate(terms)})
    owners, spans, lengths = array("i"), array("i"), array("i")
    for place, span in new:
        owners.append(place)
        spans.extend((span.start, span.end))
        lengths.append(len(span.tokens.split()))
        writer.add([span.tokens])
    sequences = writer.finish()  # a term that no whole document has is dropped
    ones = np.ones(len(sequences.terms), np.float32)
    shape = (len(owners), len(terms))
    counts: csr_array = csr_array((ones, sequences.terms, sequences.starts), shape=shape, copy=True)
    counts.sum_duplicates()
    places, sizes, bounds = (np.frombuffer(each, np.int32) for each in (owners, lengths, spans))
    return places, bounds.reshape(-1, 2), counts, sizes, sequences


def _vectors(index: SubspaceIndex, counts: csr_array) -> NDArray[np.float32]:
    """Place passages in blocks, as documents added later are placed."""
    vectors = np.empty((counts.shape[0], len(index.scales)), np.float32)
    for start in range(0, len(vectors), _PLACED_AT_ONCE):
        some = slice(start, start + _PLACED_AT_ONCE)
        vectors[some] = index.project(index.by_column(counts[some]))
    return vectors
