"""Candidates: an engine over the few units that the database finds for one query.

A database with the tables of an index (index/in_database.py) returns the best thousand units by
words, by titles and paths, and by the vector; the filter restricts all three. They make up a small
index, which is scored by the same code as one in a folder. What depends on all documents is not
taken from the candidates: frequencies of words and the mean length are those of the index; BM25 and
feedback are standardised by sums over all documents that the database adds up, cosines by μ · q and
the square root of qᵀ C q (index/fusion.py).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from lpisearch.index.fusion import Moments, Standard, standard_of_moments
from lpisearch.index.in_database import MOMENTS, NAMED, NUMBERS, StoredArrays, read_manifest
from lpisearch.index.positions import Fields, Sequences
from lpisearch.index.postings import LEXICON, DocumentTerms, Postings, WeightedWords
from lpisearch.index.subspace import HASH_BYTES, Passages, SubspaceIndex
from lpisearch.model.documents import Filter
from lpisearch.numeric.rows import PackedRows
from lpisearch.search.engine import Engine, Units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.options import SearchOptions
    from lpisearch.search.query import Query
    from lpisearch.storage.metadata import IndexEntry
    from lpisearch.storage.postgres.search_tables import QueryTerms, SearchTables
    from lpisearch.storage.store import ReadTransaction, Store

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]


CANDIDATES = 1000
"""The number of units that each leg brings, at least."""
_KEYS_IN_QUERY = 10_000
_LOADINGS_KEPT = 4096
_FIELD = "field_"


class Loadings:
    """The linear map (terms x dims), whose rows are read when first used."""

    def __init__(self, store: Store, folder: str, shape: tuple[int, int]) -> None:
        self._store, self._folder, self.shape = store, folder, shape
        self._rows: dict[int, Floats] = {}

    def at(self, terms: NDArray[np.integer[Any]]) -> Floats:
        """Return the rows of terms."""
        needed = terms.tolist()
        missing = [term for term in needed if term not in self._rows]
        known = dict(self._rows) if missing else self._rows
        if missing:
            with self._store.reading() as snapshot:
                read = _tables(snapshot).loadings(self._folder, missing)
            known |= {term: np.frombuffer(row, "<f4") for term, row in read.items()}
            self._rows = known if len(known) <= _LOADINGS_KEPT else {}
        rows = np.empty((len(needed), self.shape[1]), np.float32)
        for row, term in zip(rows, needed, strict=True):
            row[:] = known[term]
        return rows


class Stored:
    """An index in the tables of a database: what all queries share."""

    def __init__(self, store: Store, snapshot: ReadTransaction, entry: IndexEntry) -> None:
        self.folder, tables = entry.folder, _tables(snapshot)
        self.manifest = read_manifest(snapshot, entry.folder)
        self.arrays = StoredArrays(store, entry.folder, self.manifest)
        self.numbers: dict[str, Any] = json.loads(tables.fact(entry.folder, NUMBERS))
        dims = self.manifest.arrays["vectors"].shape[1]
        moments = np.frombuffer(tables.fact(entry.folder, MOMENTS), "<f4").reshape(dims + 1, dims)
        self.moments = Moments.of_array(moments)
        self.has_fields = f"{_FIELD}lexicon" in self.arrays
        self.named = np.empty(0, np.int32)
        if self.has_fields:
            self.named = np.frombuffer(tables.fact(entry.folder, NAMED), "<i4")
        self.loadings = None
        if "loadings" in self.arrays:
            rows, columns = self.manifest.arrays["loadings"].shape
            self.loadings = Loadings(store, entry.folder, (rows, columns))


@dataclass(frozen=True, eq=False)
class CandidatePostings(Postings):
    """The entries of a few words in some units, with the statistics of the whole index."""

    all_starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    whole_documents: int = 0
    whole_mean: float = 0.0

    @property
    def n_documents(self) -> int:
        """The number of documents of the index."""
        return self.whole_documents

    @property
    def mean_length(self) -> float:
        """The mean number of tokens of a document of the index."""
        return self.whole_mean

    def frequencies(self, words: NDArray[np.integer[Any]] | int | None = None) -> NDArray[np.int64]:
        """Return the document frequencies of terms in the index."""
        starts = self.all_starts
        return np.asarray(np.diff(starts) if words is None else starts[words + 1] - starts[words])


class _OwnArrays(StoredArrays):
    """Arrays of candidates in place of those of all documents."""

    def __init__(self, stored: StoredArrays, own: Mapping[str, NDArray[Any]]) -> None:
        self._stored = stored
        self.__dict__.update(
            {name: value for name, value in vars(stored).items() if name != "data"}
        )
        self.data = dict(own)

    def _read(self, name: str) -> NDArray[Any]:
        return self._stored[name]


@dataclass(frozen=True)
class CandidateIndex(SubspaceIndex):
    """The index of the candidates of one query."""

    stored: Stored
    rows: tuple[Any, ...] = ()

    @classmethod
    def of_rows(cls, stored: Stored, rows: Sequence[Any]) -> CandidateIndex:
        """Make it of rows of the table of units, documents first."""
        documents = [row for row in rows if row.unit == row.owner]
        arrays = _unit_arrays(documents) | {
            "vectors": _vectors(documents, stored.moments.mean.size),
            "document_rows": np.array([row.document_id for row in documents], np.int64),
            "content_hashes": np.frombuffer(
                b"".join(row.hash for row in documents), np.uint8
            ).reshape(-1, HASH_BYTES),
            "twins": np.array([row.twin for row in documents], np.int32),
            "taken_in": np.zeros((len(documents), 3), np.int32),
        }
        arrays |= _sequences(documents).arrays()
        every = cast("dict[str, NDArray[Any]]", _OwnArrays(stored.arrays, arrays))
        return cls(stored.manifest, every, stored, tuple(rows))

    @cached_property
    def packed_loadings(self) -> Any:
        """The linear map, of which rows are read."""
        return self.stored.loadings

    @cached_property
    def moments(self) -> Moments | None:
        """Mean and covariance of the vectors of all documents."""
        return self.stored.moments

    @cached_property
    def packed_vectors(self) -> PackedRows:
        """The vectors of the candidates."""
        return PackedRows(self.arrays["vectors"])

    @cached_property
    def documents(self) -> list[Any]:
        """The rows of documents."""
        return [row for row in self.rows if row.unit == row.owner]

    @cached_property
    def passage_rows(self) -> list[Any]:
        """The rows of passages."""
        return [row for row in self.rows if row.unit != row.owner]

    @cached_property
    def unit_numbers(self) -> Numbers:
        """The numbers of the units in the whole index: documents, then passages."""
        return np.array([row.unit for row in (*self.documents, *self.passage_rows)], np.int64)

    @cached_property
    def entries(self) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """Kinds, terms, units (as numbers in the whole index) and counts of the query's words."""
        own = [row for row in self.rows if row.kinds is not None]
        units = np.repeat(
            np.array([row.unit for row in own], np.int64), [len(row.kinds) for row in own]
        )
        kinds, terms, counts = (
            np.array([value for row in own for value in getattr(row, name)], np.int64)
            for name in ("kinds", "terms", "counts")
        )
        return kinds, terms, units, counts

    @cached_property
    def postings(self) -> Postings:
        """The entries of the query's words in the documents."""
        return self.text_postings(self.entries, is_passage=False)

    def text_postings(
        self, entries: tuple[Numbers, Numbers, Numbers, Numbers], *, is_passage: bool
    ) -> CandidatePostings:
        """Return entries in documents or in passages as postings."""
        kinds, terms, units, counts = entries
        some = kinds == int(is_passage)
        rows = self.passage_rows if is_passage else self.documents
        at = np.searchsorted(np.array([row.unit for row in rows], np.int64), units[some])
        lengths = np.array([row.length for row in rows], np.int32)
        return self._postings("", (terms[some], at, counts[some]), lengths)

    @cached_property
    def passages(self) -> Passages | None:
        """The passages of the candidates; None if there are none."""
        rows = self.passage_rows
        if not rows:
            return None
        arrays = _unit_arrays(rows)
        owners = np.searchsorted(
            np.array([row.unit for row in self.documents], np.int64),
            np.array([row.owner for row in rows], np.int64),
        )
        return Passages(
            owners.astype(np.int32),
            np.array([(row.span_start, row.span_end) for row in rows], np.int32),
            PackedRows(_vectors(rows, self.stored.moments.mean.size)),
            self.text_postings(self.entries, is_passage=True),
            DocumentTerms.of_arrays(arrays, len(rows)),
            _sequences(rows),
        )

    @cached_property
    def fields(self) -> Fields | None:
        """The entries of the query's words in titles, headings and paths."""
        if not self.stored.has_fields:
            return None
        kinds, terms, units, counts = self.entries
        some = kinds > 1
        order = np.argsort(self.unit_numbers)
        at = order[np.searchsorted(self.unit_numbers[order], units[some])]
        lengths = np.zeros(len(self.unit_numbers), np.int32)
        postings = self._postings(_FIELD, (terms[some], at, counts[some]), lengths)
        sizes = np.array([row.name_size for row in self.documents], np.uint8)
        return Fields(postings, sizes)

    def _postings(
        self, prefix: str, entries: tuple[Numbers, Numbers, Numbers], lengths: NDArray[np.int32]
    ) -> CandidatePostings:
        terms, units, counts = entries
        order = np.lexsort((units, terms))
        stored, numbers = self.stored.arrays, self.stored.numbers
        all_starts = stored[f"{prefix}posting_starts"]
        starts = np.zeros(len(all_starts), np.int64)
        np.cumsum(np.bincount(terms, minlength=len(all_starts) - 1), out=starts[1:])
        lexicon: dict[str, Any] = {name: stored[prefix + name] for name in LEXICON}
        return CandidatePostings(
            **lexicon,
            posting_starts=starts,
            posting_places=units[order].astype(np.int32),
            posting_counts=counts[order].astype(np.uint16),
            document_lengths=lengths,
            all_starts=all_starts,
            whole_documents=numbers["documents"],
            whole_mean=numbers["mean_length"],
        )


@dataclass(frozen=True, eq=False)
class CandidateUnits(Units):
    """Candidates, standardised as all units of the index would be.

    `standards` are those of BM25 by its words; the tables are those of the database.
    """

    index: CandidateIndex | None = None
    tables: SearchTables | None = None
    standards: dict[bytes, Standard] = field(default_factory=dict)

    @property
    def whole(self) -> CandidateIndex:
        """The index of the candidates."""
        assert self.index is not None  # noqa: S101
        return self.index

    @property
    def size(self) -> int:
        """The number of documents of the index."""
        return int(self.whole.stored.numbers["documents"])

    @property
    def movers(self) -> int:
        """The number of units of the index that may move a query."""
        return int(self.whole.stored.numbers["movers"])

    def bm25(self, query: WeightedWords) -> Floats:
        """Return the BM25 of each candidate; words that are not the query's are read first."""
        name = query.words.tobytes()
        if name in self.standards or self.tables is None or not len(self.unit_count):
            return super().bm25(query)
        from lpisearch.storage.postgres.search_tables import PASSAGES, TEXTS

        asked = query_terms(query.words, query.weights * self.idf(query.words), (TEXTS, PASSAGES))
        index = self.whole
        row = self.tables.feedback(index.stored.folder, asked, index.unit_numbers.tolist())
        self.standards[name] = _standard(row, self.size)
        columns = (row.kinds, row.terms, row.units, row.counts)
        entries = tuple(np.array(values or (), np.int64) for values in columns)
        postings = [
            index.text_postings(cast("Any", entries), is_passage=bool(part))
            for part in range(len(self.words))
        ]
        words = [replace(self.words[0], postings=postings[0])]
        if len(postings) > 1:
            words.append(replace(self.words[1], postings=postings[1], among=postings[0]))
        return Units.bm25(replace(self, words=tuple(words)), query)

    @property
    def unit_count(self) -> Numbers:
        """The numbers of the candidates in the whole index."""
        return self.whole.unit_numbers

    def word_standard(self, query: WeightedWords, _bm25: Floats) -> Standard:
        """Return how the BM25 of all documents is standardised."""
        return self.standards.get(query.words.tobytes(), Standard(np.float32(0), np.float32(0)))

    def cosine_standard(self, vector: Floats, _cosines: Floats) -> Standard:
        """Return how the cosines of all documents are standardised."""
        return self.whole.stored.moments.standard(vector)

    def named_documents(self, words: Sequence[str], found: int) -> int:
        """Return how many documents of the index have any of some words in their name."""
        fields = self.fields
        if fields is None:
            return found
        numbers: list[int] = [at for at in map(fields.postings.find, words) if at >= 0]
        return max([found, *map(int, self.whole.stored.named[numbers])])


class DatabaseEngine(Engine):
    """Scores queries by the tables of a database; of itself it has no document."""

    has_all = False

    def __init__(self, stored: Stored, rows: Sequence[Any] = ()) -> None:
        self.stored = stored
        index = CandidateIndex.of_rows(stored, rows)
        super().__init__(index)
        units = {name: getattr(self.units, name) for name in Units.__dataclass_fields__}
        self.units = CandidateUnits(**units, index=index)

    @cached_property
    def encoded(self) -> None:
        """Return nothing: vectors of the user's encoder are not in the tables."""
        return

    @property
    def covered(self) -> tuple[int, int]:
        """The number of documents of the index, and the sum of their keys."""
        return int(self.stored.numbers["documents"]), int(self.stored.numbers["keys"])

    @property
    def whole_index(self) -> SubspaceIndex:
        """The index of all documents, whose arrays are read into memory when first used."""
        arrays = cast("dict[str, NDArray[Any]]", self.stored.arrays)
        return SubspaceIndex(self.stored.manifest, arrays)

    def of_query(
        self, query: Query, transaction: ReadTransaction, options: SearchOptions
    ) -> Engine:
        """Return an engine over the candidates of a query."""
        from lpisearch.storage.postgres.search_tables import FIELDS, PASSAGES, TEXTS

        idf = self.units.idf(query.words)
        forms = {form for word in query.ordered for form in (word, *query.forms.get(word, ()))}
        forms |= {form for own in query.forms.values() for form in own} | {*query.forms}
        others = {self.postings.find(form) for form in forms} - {-1, *query.words.tolist()}
        asked = [
            query_terms(query.words, query.weights * idf, (TEXTS, PASSAGES)),
            query_terms(sorted(others), np.zeros(len(others)), (TEXTS, PASSAGES)),
        ]
        fields = self.units.fields
        if fields is not None and forms:
            named = np.array(
                sorted({fields.postings.find(form) for form in forms} - {-1}), np.int64
            )
            rarity = np.log1p(self.units.size / np.maximum(fields.postings.frequencies(named), 1))
            asked.append(query_terms(named, rarity, (FIELDS,)))
        tables, folder = _tables(transaction), self.stored.folder
        keys, where = query.allowed, options.where
        if keys is not None and len(keys) <= _KEYS_IN_QUERY:
            where = Filter()
        vector = query.vector if options.by != "lexical" else query.vector[:0]
        rows = tables.candidates(
            folder,
            _joined(asked),
            f"[{','.join(map(repr, vector.tolist()))}]" if vector.any() else "",
            max(CANDIDATES, 2 * (options.offset + options.k)),
            (where, sorted(keys) if keys is not None and where == Filter() else None),
        )
        engine = DatabaseEngine(self.stored, rows)
        standards = {}
        if rows:
            standards[query.words.tobytes()] = _standard(rows[0], self.units.size)
        engine.units = replace(
            cast("CandidateUnits", engine.units), tables=tables, standards=standards
        )
        return engine


def query_terms(
    words: Sequence[int] | Numbers, factors: NDArray[Any], kinds: Iterable[int]
) -> QueryTerms:
    """Return words to look up in some kinds of postings."""
    from lpisearch.storage.postgres.search_tables import QueryTerms

    terms, own = np.asarray(words, np.int64).tolist(), factors.tolist()
    every = [
        (kind, term, factor) for kind in kinds for term, factor in zip(terms, own, strict=True)
    ]
    return (
        QueryTerms(*(list(column) for column in zip(*every, strict=True)))
        if every
        else QueryTerms([], [], [])
    )


def _joined(asked: Iterable[QueryTerms]) -> QueryTerms:
    from lpisearch.storage.postgres.search_tables import QueryTerms

    some = list(asked)
    return QueryTerms(
        [kind for one in some for kind in one.kinds],
        [term for one in some for term in one.terms],
        [factor for one in some for factor in one.factors],
    )


def _standard(row: Any, documents: int) -> Standard:
    """Return how scores are standardised by sums over the documents that have any."""
    return standard_of_moments(documents, float(row.total), float(row.squares), float(row.most))


def _unit_arrays(rows: Sequence[Any]) -> dict[str, NDArray[Any]]:
    n = len(rows)
    terms = np.frombuffer(b"".join(row.strongest for row in rows), np.int32)
    counts = np.frombuffer(b"".join(row.times for row in rows), np.uint16)
    return {
        "distinct_terms": np.array([row.distinct_terms for row in rows], np.int32),
        "strongest_terms": terms.reshape(n, -1) if n else np.empty((0, 0), np.int32),
        "strongest_counts": counts.reshape(n, -1) if n else np.empty((0, 0), np.uint16),
    }


def _vectors(rows: Sequence[Any], dims: int) -> Floats:
    """Return vectors from the binary form of `halfvec`: two numbers, then the dimensions."""
    joined = b"".join(row.embedding for row in rows)
    codes = np.frombuffer(joined, ">f2").reshape(-1, dims + 2)
    return codes[:, 2:].astype(np.float32)


def _sequences(rows: Sequence[Any]) -> Sequences:
    sizes = [len(row.sequence) // 4 for row in rows]
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    terms = np.frombuffer(b"".join(row.sequence for row in rows), np.int32)
    return Sequences(starts, terms)


def _tables(snapshot: ReadTransaction) -> SearchTables:
    assert snapshot.search_tables is not None  # noqa: S101
    return snapshot.search_tables
