"""Terms, which are the columns, and counts of documents.

A `Vocabulary` never changes once an index is built: new words of later documents count as unknown.
Counts are a `csr_array` with documents as ROWS (columns in the papers) and terms as columns: int32
indices, sorted in each row, no duplicates, float32 counts. Columns keep the order in which terms
first appear, so those of a shard need no second sort once the vocabulary is known, and frequent
terms are close together in memory.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, compress, count, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lpisearch.errors import BadOption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray
    from scipy.sparse import csr_array

    FindColumns = Callable[[Iterable[str]], Iterable[int]]


@dataclass(frozen=True, slots=True)
class VocabularyLimits:
    """Which terms get a column.

    `min_df`: the fewest documents of a term. None: 1 up to 1,000 documents, 2 up to 10,000,
    otherwise 3; a rare term links hardly any documents, and the lexical index finds it anyway.
    `max_df`: the largest share of documents; the default of 1 drops nothing, as a term in every
    document has next to no weight. `max_terms`: those in the most documents, the earlier one of two
    equal.
    """

    min_df: int | None = None
    max_df: float = 1.0
    max_terms: int | None = 100_000

    def __post_init__(self) -> None:
        if self.min_df is not None and self.min_df < 1:
            raise BadOption("min_df", f"must be at least 1, not {self.min_df}")
        if not 0 < self.max_df <= 1:
            raise BadOption("max_df", f"must be above 0 and at most 1, not {self.max_df}")
        if self.max_terms is not None and self.max_terms < 1:
            raise BadOption("max_terms", f"must be at least 1, not {self.max_terms}")

    def min_df_for(self, n_documents: int) -> int:
        """Return the least number of documents for a library of that size."""
        if self.min_df is not None:
            return self.min_df
        return 1 + sum(n_documents > size for size in _MIN_DF_RISES_ABOVE)

    def choose(
        self, document_frequencies: NDArray[np.integer], n_documents: int
    ) -> NDArray[np.bool_]:
        """Return for each term whether it stays."""
        # A share such as .3 of 10 documents must not come out as 2.9999 documents.
        largest = np.floor(self.max_df * n_documents + 1e-9)
        stays = document_frequencies >= self.min_df_for(n_documents)
        stays &= document_frequencies <= largest
        if self.max_terms is not None and np.count_nonzero(stays) > self.max_terms:
            candidates = np.flatnonzero(stays)
            order = np.argsort(-document_frequencies[candidates], kind="stable")
            stays[candidates[order[self.max_terms :]]] = False
        return stays


class TermCounts(NamedTuple):
    """The terms of one text: ascending columns, their counts, and the number of unknown words."""

    indices: NDArray[np.int32]
    counts: NDArray[np.float32]
    unknown: int


@dataclass(frozen=True, eq=False, slots=True)
class Vocabulary:
    """Terms and their columns.

    `terms` are in the order of their first appearance, which is that of the columns; `n_documents`
    includes empty ones; `index` maps a term to its column.
    """

    terms: tuple[str, ...]
    document_frequencies: NDArray[np.int32]
    n_documents: int
    index: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {term: column for column, term in enumerate(self.terms)})

    def __len__(self) -> int:
        return len(self.terms)

    @classmethod
    def choose_by(
        cls,
        terms: Sequence[str],
        frequencies: NDArray[np.int32],
        n_documents: int,
        limits: VocabularyLimits | None = None,
    ) -> tuple[Vocabulary, NDArray[np.bool_]]:
        """Choose among all terms by the number of documents of each."""
        stays = (limits or VocabularyLimits()).choose(frequencies, n_documents)
        return cls(tuple(compress(terms, stays)), frequencies[stays], n_documents), stays

    @classmethod
    def from_bytes(
        cls, terms: bytes, document_frequencies: NDArray[np.int32], n_documents: int
    ) -> Vocabulary:
        """Read the result of `terms_as_bytes`."""
        return cls(tuple(terms.decode().split()), document_frequencies, n_documents)

    def terms_as_bytes(self) -> bytes:
        """Return the terms in UTF-8, one per line, for storage; no term has a space."""
        return "\n".join(self.terms).encode()

    def count(self, tokens: Iterable[str] | Mapping[str, float]) -> TermCounts:
        """Count the tokens of one text, perhaps weighted, without SciPy: for queries."""
        counted = Counter(tokens)
        known = sorted(
            (self.index[token], counted[token]) for token in counted if token in self.index
        )
        columns, counts = zip(*known, strict=True) if known else ((), ())
        unknown = sum(number for token, number in counted.items() if token not in self.index)
        return TermCounts(np.array(columns, np.int32), np.array(counts, np.float32), unknown)


_MIN_DF_RISES_ABOVE = (1_000, 10_000)


# Documents that are sorted together: few enough for their tokens to stay in the processor's cache.
BLOCK = 256


@dataclass(frozen=True, eq=False, slots=True)
class Counts:
    """Counts of terms (columns) in documents (rows); `lengths` include unknown tokens."""

    matrix: csr_array
    lengths: NDArray[np.int32]


def count_all_terms(
    shards: Iterable[Sequence[str]], known: Iterable[str] = ()
) -> tuple[tuple[str, ...], Counts]:
    """Count every term: the known ones in their order, then new ones as they appear."""
    numbered = {term: column for column, term in enumerate(known)}
    # A new term gets the next column.
    columns: dict[str, int] = defaultdict(count(len(numbered)).__next__, numbered)
    table = _Table.of(shards, partial(map, columns.__getitem__))
    return tuple(columns), table.keep_columns(np.ones(len(columns), np.bool_))


class TermNumbers:
    """Numbers terms in the order of their first appearance, and counts them block by block."""

    def __init__(self) -> None:
        self._columns: dict[str, int] = defaultdict(count(0).__next__)

    def count(self, texts: Sequence[str]) -> Counts:
        """Count the terms of some documents; columns are the terms so far."""
        table = _Table.of([texts], partial(map, self._columns.__getitem__))
        return table.keep_columns(np.ones(len(self._columns), np.bool_))

    @property
    def terms(self) -> tuple[str, ...]:
        """All terms so far, in order."""
        return tuple(self._columns)


def narrow(counts: csr_array, stays: NDArray[np.bool_]) -> csr_array:
    """Return the columns that stay, moved together in their order."""
    from scipy.sparse import csr_array

    mask = stays[counts.indices]
    indptr = _total_before(mask)[counts.indptr].astype(counts.indptr.dtype)
    columns = (np.cumsum(stays) - 1).astype(counts.indices.dtype)
    data = (counts.data[mask], columns[counts.indices[mask]], indptr)
    matrix = csr_array(data, shape=(counts.shape[0], int(np.count_nonzero(stays))))
    matrix.has_canonical_format = True
    return matrix


def count_terms(shards: Iterable[Sequence[str]], vocabulary: Vocabulary) -> Counts:
    """Count the terms of a vocabulary in documents that may be new to it."""
    unknown = len(vocabulary)
    known = vocabulary.index.get
    table = _Table.of(shards, lambda tokens: map(known, tokens, repeat(unknown)))
    return table.keep_columns(np.append(np.ones(unknown, np.bool_), False))


@dataclass(slots=True)
class _Table:
    """The entries of a growing matrix, row after row, in memory that grows in place."""

    columns: array[int] = field(default_factory=lambda: array("i"))
    counts: array[float] = field(default_factory=lambda: array("f"))
    row_sizes: array[int] = field(default_factory=lambda: array("i"))
    tokens: array[int] = field(default_factory=lambda: array("i"))

    @classmethod
    def of(cls, shards: Iterable[Sequence[str]], find: FindColumns) -> _Table:
        table = cls()
        for shard in shards:
            for start in range(0, len(shard), BLOCK):
                table.append(shard[start : start + BLOCK], find)
        return table

    @property
    def indices(self) -> NDArray[np.int32]:
        return np.frombuffer(self.columns, np.int32)

    @property
    def lengths(self) -> NDArray[np.int32]:
        return np.frombuffer(self.tokens, np.int32)

    def append(self, texts: Sequence[str], find: FindColumns) -> None:
        """Add a row for each text."""
        lengths: list[int] = []

        def split() -> Iterator[list[str]]:  # one text at a time: a list of all is slower
            for text in texts:
                tokens = text.split()
                lengths.append(len(tokens))
                yield tokens

        keys = np.fromiter(find(chain.from_iterable(split())), np.int64)
        # Row and column in one number: one sort brings equal ones together, rows in order.
        keys += np.repeat(np.arange(len(texts), dtype=np.int64) << 32, lengths)
        keys.sort()
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        keys_once = keys[firsts]
        sizes = np.bincount(keys_once >> 32, minlength=len(texts))
        self.columns.frombytes(keys_once.astype(np.int32).tobytes())
        self.counts.frombytes(np.diff(firsts, append=len(keys)).astype(np.float32).tobytes())
        self.row_sizes.frombytes(sizes.astype(np.int32).tobytes())
        self.tokens.extend(lengths)

    def keep_columns(self, stays: NDArray[np.bool_]) -> Counts:
        """Return the matrix of the columns that stay, moved together in their order."""
        from scipy.sparse import csr_array

        mask = stays[self.indices]
        row_starts = _total_before(np.frombuffer(self.row_sizes, np.int32))
        indptr = _total_before(mask)[row_starts]
        new_columns = np.cumsum(stays, dtype=np.int32) - 1
        pointer: DTypeLike = np.int32 if indptr[-1] <= np.iinfo(np.int32).max else np.int64
        indices = new_columns[self.indices[mask]].astype(pointer, copy=False)
        counts = np.frombuffer(self.counts, np.float32)[mask]
        shape = (len(self.lengths), int(np.count_nonzero(stays)))
        matrix = csr_array((counts, indices, indptr.astype(pointer)), shape=shape)
        matrix.has_canonical_format = True
        return Counts(matrix, self.lengths.copy())


def _total_before(values: NDArray[np.integer] | NDArray[np.bool_]) -> NDArray[np.int64]:
    totals = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=totals[1:])
    return totals
