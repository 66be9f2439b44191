"""Weighting schemes and row normalisation.

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
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lpisearch.errors import BadOption
from lpisearch.messages import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.numeric.rows import SparseRows

    Floats = NDArray[np.float32]
    Lengths = Callable[[], Floats]  # one per count, computed on demand


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
