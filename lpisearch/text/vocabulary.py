"""Terms, which are the columns; counts of documents, and their weights.

A `Vocabulary` never changes once an index is built: new words of later documents count as unknown.
Counts are a `csr_array` with documents as ROWS (columns in the papers) and terms as columns: int32
indices, sorted in each row, no duplicates, float32 counts. Columns keep the order in which terms
first appear, so those of a shard need no second sort once the vocabulary is known, and frequent
terms are close together in memory.

A `csr_array` of counts (documents as ROWS; columns in the papers) becomes one with the same
entries, weighted, in float32. A `Weighting` is what was learned from the corpus: it weighs queries
and later documents as the corpus was.

With t the count of a term in a document, n the number of documents and f the number of those that
contain the term:

============  ==========================================================================
tf            t
tfidf         t · log((n + 1) / f)
log-tfidf     log(1 + t) · log((n + 1) / f)
bm25          t (k1 + 1) / (t + k1 (1 - b + b · length / mean length)) · idf,
              where idf = log(1 + (n - f + ½) / (f + ½))
============  ==========================================================================

The n + 1 keeps a term of every document just above zero, so that a library of one document, or of
equal ones, is not empty. A length is the sum of a document's counts of known terms.

In a small library “cheap” and “puncture” may be equally rare; in English they are not. So the idf
of a word of a query is that of the library and a share of the general one, log(1 / p), where p is
the probability that a text of 1,000 words contains it. `frequency_lists` has the counts. The share
is ¼ (1 + 1000 / (n + 1000)): the fewer documents, the less their own counts are worth.
"""

from __future__ import annotations

import zlib
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, compress, count, repeat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from lpisearch.errors import BadOption
from lpisearch.messages import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray
    from scipy.sparse import csr_array

    from lpisearch.numeric.rows import SparseRows

    FindColumns = Callable[[Iterable[str]], Iterable[int]]
    Floats = NDArray[np.float32]
    Lengths = Callable[[], Floats]  # one per count, computed on demand


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


DEFAULT_WEIGHTING = "log-tfidf"


class LocalWeight(Protocol):
    """Weighs counts by themselves: the part that is not idf."""

    def __call__(
        self, counts: Floats, relative_lengths: Lengths, weighting: Weighting, /
    ) -> Floats:
        """Return a weight for each count, given its document's length by the mean length."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A weighting scheme: a local weight times an idf."""

    local: LocalWeight
    idf: Callable[[Floats, int], Floats]


@dataclass(frozen=True, eq=False, slots=True)
class Weighting:
    """A scheme with what it learned from a corpus.

    `name` is that of a scheme in `WEIGHTINGS`; k1 and b are those of BM25: how soon a repeated term
    saturates, how much the length of a document counts.
    """

    name: str
    idf: Floats
    mean_length: float
    k1: float = 1.2
    b: float = 0.75

    def __post_init__(self) -> None:
        weighting_scheme(self.name)
        if not self.k1 >= 0:
            raise BadOption("k1", f"{self.k1} is below 0")
        if not 0 <= self.b <= 1:
            raise BadOption("b", f"{self.b} is not between 0 and 1")

    @classmethod
    def fit(
        cls,
        counts: csr_array,
        name: str = DEFAULT_WEIGHTING,
        *,
        factors: Floats | None = None,
        k1: float = 1.2,
        b: float = 0.75,
    ) -> Weighting:
        """Learn idf and mean length from a matrix of counts without duplicate entries.

        `factors` multiply the weight of each term.
        """
        n_documents, n_terms = counts.shape
        frequencies = np.bincount(counts.indices, minlength=n_terms)
        mean_length = float(counts.sum(dtype=float)) / max(n_documents, 1)
        learned = cls.of_frequencies(frequencies, n_documents, mean_length, name, factors)
        return replace(learned, k1=k1, b=b)

    @classmethod
    def of_frequencies(
        cls,
        frequencies: NDArray[np.integer],
        n_documents: int,
        mean_length: float,
        name: str = DEFAULT_WEIGHTING,
        factors: Floats | None = None,
    ) -> Weighting:
        """Learn from the number of documents of each term, and their mean length."""
        idf = weighting_scheme(name).idf(frequencies.astype(np.float32), n_documents)
        return cls(name, idf if factors is None else idf * factors, mean_length)

    def apply(self, counts: csr_array) -> csr_array:
        """Return the weights of a matrix of counts; the two share their indices."""
        from scipy.sparse import csr_array

        entries = (self.of_rows(counts), counts.indices, counts.indptr)
        return csr_array(entries, shape=counts.shape)

    def of_rows(self, counts: csr_array | SparseRows) -> Floats:
        """Return the weight of each entry of some rows of counts."""

        def lengths() -> Floats:
            relative = self._relative(_row_sums(counts.data, counts.indptr))
            return np.repeat(relative, np.diff(counts.indptr))

        return self._weigh(counts.indices, counts.data, lengths)

    def weigh_query(
        self, indices: NDArray[np.int32], counts: NDArray[np.floating], *, unit: bool = True
    ) -> Floats:
        """Return the weights of one text, by default of unit length, without SciPy.

        They are those that the text would have as a document; without known words it has none.
        """
        lengths = self._relative(np.full(len(counts), counts.sum()))
        weights = self._weigh(indices, counts, lambda: lengths)
        length = float(np.linalg.norm(weights))
        return (weights / length).astype(np.float32) if unit and length > 0 else weights

    def _weigh(
        self, indices: NDArray[np.integer], counts: NDArray[np.floating], lengths: Lengths
    ) -> Floats:
        local = weighting_scheme(self.name).local
        weights = local(counts.astype(np.float32, copy=False), lengths, self)
        return np.asarray(weights * self.idf[indices])

    def _relative(self, lengths: NDArray[np.floating]) -> Floats:
        return (lengths / (self.mean_length or 1.0)).astype(np.float32)


def weighting_scheme(name: str) -> Scheme:
    """Return the scheme of that name; raises BadOption with the known names."""
    if name not in WEIGHTINGS:
        guess = nearest(name, WEIGHTINGS)
        raise BadOption("weighting", f"unknown weighting “{name}”{guess}", WEIGHTINGS)
    return WEIGHTINGS[name]


def normalise_rows(matrix: csr_array) -> csr_array:
    """Return the matrix with rows of unit length; rows of zeros stay."""
    from scipy.sparse import csr_array

    data = matrix.data.astype(np.float32, copy=False)
    norms = np.sqrt(_row_sums(np.square(data), matrix.indptr))
    norms[norms == 0] = 1
    unit = data / np.repeat(norms.astype(np.float32), np.diff(matrix.indptr))
    return csr_array((unit, matrix.indices, matrix.indptr), shape=matrix.shape)


def _row_sums(data: NDArray[np.floating], indptr: NDArray[np.integer]) -> NDArray[np.float64]:
    sums = np.zeros(len(indptr) - 1)
    filled = np.diff(indptr) > 0
    if filled.any():
        # An empty row between two others ends where it starts, so sums of the rest are whole.
        sums[filled] = np.add.reduceat(data, indptr[:-1][filled], dtype=np.float64)
    return sums


def _count(counts: Floats, _lengths: Lengths, _weighting: Weighting) -> Floats:
    return counts


def _logarithm(counts: Floats, _lengths: Lengths, _weighting: Weighting) -> Floats:
    return np.log1p(counts)


def _saturated(counts: Floats, relative_lengths: Lengths, weighting: Weighting) -> Floats:
    k1, b = weighting.k1, weighting.b
    half_saturation = (k1 * (1 - b + b * relative_lengths())).astype(np.float32)
    return counts * np.float32(k1 + 1) / (counts + half_saturation)


def _no_idf(frequencies: Floats, _n_documents: int) -> Floats:
    return np.ones_like(frequencies)


def _idf(frequencies: Floats, n_documents: int) -> Floats:
    return np.log((n_documents + 1) / np.maximum(frequencies, 1)).astype(np.float32)


def _probabilistic_idf(frequencies: Floats, n_documents: int) -> Floats:
    return np.log1p((n_documents - frequencies + 0.5) / (frequencies + 0.5)).astype(np.float32)


WEIGHTINGS = {
    "tf": Scheme(_count, _no_idf),
    "tfidf": Scheme(_count, _idf),
    "log-tfidf": Scheme(_logarithm, _idf),
    "bm25": Scheme(_saturated, _probabilistic_idf),
}


FREQUENCY_LISTS = Path(__file__).parent / "frequency_lists"
# The frequency of the words in line n of a list, from 0, is about 10^(-n / 10).
LEVELS = 10
_WORDS_OF_TEXT = 1000
_SHARE, _SHARE_OF_FEW = 0.125, 0.375
_FEW_DOCUMENTS = 1000


class GeneralWords:
    """How common words are in a language, whatever the library.

    `levels` has the line of each stem in the list of the language. A word that is not in it is a
    level rarer than the rarest of those that are.
    """

    def __init__(self, levels: Mapping[str, int]) -> None:
        self._levels = levels
        self._rare = max(levels.values(), default=0) + 1
        frequencies = 10.0 ** (-np.arange(self._rare + 1) / LEVELS)
        self._idf = -np.log(-np.expm1(_WORDS_OF_TEXT * np.log1p(-np.minimum(frequencies, 0.5))))

    def __contains__(self, term: str) -> bool:
        return term in self._levels

    def idf(self, terms: Iterable[str], n_documents: int) -> Floats:
        """Return what is added to the idf of terms in a library of n documents."""
        share = _SHARE + _SHARE_OF_FEW * _FEW_DOCUMENTS / (n_documents + _FEW_DOCUMENTS)
        levels = [self._levels.get(term, self._rare) for term in terms]
        return np.asarray(share * self._idf[levels], np.float32)


@cache
def general_words(language: str) -> GeneralWords | None:
    """Return the general frequencies of a language; None if there is no list of it."""
    file = FREQUENCY_LISTS / f"{language}.txt.gz"
    if not file.is_file():
        return None
    lines = zlib.decompress(file.read_bytes(), 16 + zlib.MAX_WBITS).decode().split("\n")
    levels: dict[str, int] = {}
    for level, line in enumerate(lines):
        levels |= dict.fromkeys(line.split(), level)
    return GeneralWords(levels)
