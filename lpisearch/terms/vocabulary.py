"""Vocabulary: choose the terms that become matrix columns.

In goes how many documents each term occurs in, out comes a frozen `Vocabulary`. It never changes
once an index is built: what later documents bring anew is counted as unknown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lpisearch.errors import BadOption

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class VocabularyLimits:
    """Which terms are worth a column.

    Attributes
    ----------
    min_df
        A term must occur in at least so many documents. None: in 1 of up to 1,000 documents, in
        2 of up to 10,000, in 3 of more; a rare term links hardly any two documents, and the
        lexical index finds it all the same.
    max_df
        A term must not occur in more than this share of the documents. At the default of 1
        nothing is dropped: a term in every document has next to no weight anyway.
    max_terms
        At most so many: those in the most documents, the earlier one if two are equal.
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
            raise BadOption("max_terms", f"{self.max_terms} leaves no terms")

    def smallest_df(self, n_documents: int) -> int:
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
        stays = document_frequencies >= self.smallest_df(n_documents)
        stays &= document_frequencies <= largest
        if self.max_terms is not None and np.count_nonzero(stays) > self.max_terms:
            candidates = np.flatnonzero(stays)
            order = np.argsort(-document_frequencies[candidates], kind="stable")
            stays[candidates[order[self.max_terms :]]] = False
        return stays


class TermCounts(NamedTuple):
    """The terms of one text: ascending columns, how often each occurs, and the words left out."""

    indices: NDArray[np.int32]
    counts: NDArray[np.float32]
    unknown: int


@dataclass(frozen=True, eq=False, slots=True)
class Vocabulary:
    """Terms and the columns they stand for.

    Attributes
    ----------
    terms
        In the order of their first appearance in the documents; the place is the column.
    document_frequencies
        In how many of the documents each occurs (int32).
    n_documents
        How many documents the vocabulary was built from, empty ones too.
    index
        Term → column.
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
        """Read what `terms_as_bytes` gave."""
        return cls(tuple(terms.decode().split()), document_frequencies, n_documents)

    def terms_as_bytes(self) -> bytes:
        """Return the terms in UTF-8, a line each, to be stored; a term has no space in it."""
        return "\n".join(self.terms).encode()

    def count(self, tokens: Iterable[str] | Mapping[str, float]) -> TermCounts:
        """Count the tokens of one text, without SciPy: the way of a query.

        They may be counted already, and count in parts.
        """
        counted: Counter[int | None] = Counter()
        for token, number in Counter(tokens).items():
            counted[self.index.get(token)] += number
        unknown = counted.pop(None, 0)
        columns = sorted(column for column in counted if column is not None)
        counts: Sequence[int] = [counted[column] for column in columns]
        return TermCounts(np.array(columns, np.int32), np.array(counts, np.float32), unknown)


_MIN_DF_RISES_ABOVE = (1_000, 10_000)
