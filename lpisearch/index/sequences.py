"""Sequences: the tokens of documents and passages in order, and words of a query that stand near.

A query word that stands next to the one typed before it says more than both far apart. So the index
stores the tokens of each unit (a short document, or a passage of a long one) as numbers of terms,
four bytes each. Nearness is scored like a word: for two neighbouring words of the query,

    (idf + idf) / 2 · (next(f₁) + near(f₈)) · PAIR_SHARE,

with f₁ how often the second follows the first, f₈ how often both are within eight tokens in any
order, both saturated as in BM25. Stop words are no tokens, neither here nor in the query.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


SEQUENCE_STARTS, SEQUENCE_TERMS = "sequence_starts", "sequence_terms"
NEAR = 8
PAIR_SHARE = 0.125


@dataclass(frozen=True, eq=False, slots=True)
class Sequences:
    """The terms (numbers in the postings) of each unit in order; those of unit i at starts[i]."""

    starts: NDArray[np.int64]
    terms: NDArray[np.int32]

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> Self | None:
        """Take the arrays of an index; None from an index of an earlier version."""
        if prefix + SEQUENCE_TERMS not in arrays:
            return None
        return cls(
            *(arrays[prefix + name].view(np.ndarray) for name in (SEQUENCE_STARTS, SEQUENCE_TERMS))
        )

    def arrays(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """Return the arrays to store, by name."""
        return {prefix + SEQUENCE_STARTS: self.starts, prefix + SEQUENCE_TERMS: self.terms}

    def of_units(self, units: Numbers) -> tuple[NDArray[np.int32], Numbers]:
        """Return the terms of some units, one after the other, and the unit (position) of each."""
        starts = self.starts[units]
        sizes = self.starts[units + 1] - starts
        owners = np.repeat(np.arange(len(units)), sizes)
        first = np.cumsum(sizes) - sizes
        return self.terms[np.arange(len(owners)) + (starts - first)[owners]], owners

    def taken(self, units: Numbers, numbers: Numbers | None = None) -> Sequences:
        """Return those of some units, by new numbers of the terms if any are given.

        A unit below 0 has no terms.
        """
        sizes = np.zeros(len(units) + 1, np.int64)
        is_old = units >= 0
        sizes[1:][is_old] = np.diff(self.starts)[units[is_old]]
        terms, _ = self.of_units(units[is_old])
        if numbers is not None:
            terms = numbers[terms].astype(np.int32)
        return Sequences(np.cumsum(sizes), terms)

    def joined(self, others: Sequences) -> Sequences:
        """Return them, and after them the sequences of other units."""
        starts = np.concatenate([self.starts, others.starts[1:] + self.starts[-1]])
        return Sequences(starts, np.concatenate([self.terms, others.terms]))

    def with_units(self, units: Numbers, others: Sequences) -> Sequences:
        """Return them with the sequences of other units in place of `units`, which are empty."""
        sizes = np.diff(self.starts)
        sizes[units] = np.diff(others.starts)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        terms = np.empty(int(starts[-1]), np.int32)
        is_other = np.zeros(len(sizes), np.bool_)
        is_other[units] = True
        of_others = np.repeat(is_other, sizes)
        terms[of_others], terms[~of_others] = others.terms, self.terms
        return Sequences(starts, terms)


class SequenceWriter:
    """Numbers the tokens of units; a token without a number is left out."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        self._terms: array[int] = array("i")
        self._starts: array[int] = array("q", [0])

    def add(self, texts: Iterable[str]) -> None:
        """Add units, given as tokens joined by spaces."""
        numbers = self._numbers
        for text in texts:
            self._terms.extend(numbers[token] for token in text.split() if token in numbers)
            self._starts.append(len(self._terms))

    def finish(self) -> Sequences:
        """Return all that was added."""
        return Sequences(
            np.frombuffer(self._starts, np.int64), np.frombuffer(self._terms, np.int32)
        )


class Pairs(NamedTuple):
    """Neighbouring words of a query: numbers of their terms, and the weight of each pair."""

    first: Numbers
    second: Numbers
    weights: NDArray[np.float32]


def count_pairs(
    terms: NDArray[np.int32], owners: Numbers, pairs: Pairs, n_terms: int
) -> tuple[Numbers, Numbers, Numbers, NDArray[np.bool_]]:
    """Count pairs in the sequences of units.

    Returns
    -------
    tuple
        Units, pairs, how often each pair is in each unit, and whether that is in order and adjacent
        (or, else, near). Only what occurs is returned.
    """
    words = np.unique(np.concatenate([pairs.first, pairs.second]))
    rank = np.full(n_terms + 1, -1, np.int16)  # the last for terms that are gone
    rank[words] = np.arange(len(words))
    ranks = rank[terms]
    at = np.flatnonzero(ranks >= 0)
    own, unit = ranks[at], owners[at]
    table = np.full((len(words), len(words)), -1, np.int64)
    table[rank[pairs.first], rank[pairs.second]] = np.arange(len(pairs.first))
    found: list[NDArray[np.int64]] = []
    n_pairs = len(pairs.first)
    for step in range(1, NEAR):
        distance = at[step:] - at[:-step]
        close = np.flatnonzero((distance < NEAR) & (unit[step:] == unit[:-step]))
        if not close.size:
            break  # the next are farther apart still
        before, after = own[close], own[close + step]
        forward, backward = table[before, after], table[after, before]
        for number, in_order in ((forward, True), (backward, False)):
            is_pair = number >= 0
            base = unit[close][is_pair] * n_pairs + number[is_pair]
            found.append(base * 2)
            if in_order:
                found.append(base[distance[close][is_pair] == 1] * 2 + 1)
    keys, counts = np.unique(np.concatenate([np.empty(0, np.int64), *found]), return_counts=True)
    return keys // 2 // n_pairs, keys // 2 % n_pairs, counts, keys % 2 == 1
