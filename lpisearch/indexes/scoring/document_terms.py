"""Forward index: the main terms of each document.

Feedback needs the telling terms of the documents that come first, and the score of a place needs
to know from how many terms it was made. Twenty terms a document are kept: 120 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.indexes.postings import NO_COLUMN
from lpisearch.indexes.scoring.bm25 import half_saturation, inverse_frequency, saturation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.indexes.postings import Postings

STRONGEST = 20
NO_TERM = -1
_BLOCK = 50_000
_MANY = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False, slots=True)
class DocumentTerms:
    """The terms of documents.

    Attributes
    ----------
    distinct_terms
        Of how many terms of the subspace each document's place was made.
    strongest_terms, strongest_counts
        For each document the numbers (in the postings) of the terms with the largest BM25, in
        falling order, and how often each is in it; `NO_TERM` where it has fewer.
    """

    distinct_terms: NDArray[np.int32]
    strongest_terms: NDArray[np.int32]
    strongest_counts: NDArray[np.uint16]

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_documents: int) -> DocumentTerms:
        """Take the arrays of an index that are named after the attributes.

        An index of an earlier program has none: every place is sure, and no term is strong.
        """
        names = [each.name for each in fields(cls)]
        if all(name in arrays for name in names):
            return cls(*(arrays[name].view(np.ndarray) for name in names))
        nothing = np.empty((n_documents, 0), np.int32)
        return cls(np.full(n_documents, _MANY, np.int32), nothing, nothing.astype(np.uint16))

    @classmethod
    def of_postings(cls, postings: Postings) -> DocumentTerms:
        """Turn postings around."""
        counts = postings.counts()
        n = counts.shape[0]
        half = half_saturation(postings.document_lengths, postings.mean_length)
        idf = inverse_frequency(postings.frequencies(), postings.n_documents)
        terms = np.empty((n, STRONGEST), np.int32)
        times = np.empty((n, STRONGEST), np.uint16)
        for start in range(0, n, _BLOCK):
            rows = slice(start, start + _BLOCK)
            terms[rows], times[rows] = strongest_of_rows(counts[rows], half[rows], idf)
        has_column = postings.lexicon_columns != NO_COLUMN
        kept = np.repeat(has_column, np.diff(postings.posting_starts))
        distinct = np.bincount(postings.posting_places[kept], minlength=n)
        return cls(distinct.astype(np.int32), terms, times)

    def with_documents(
        self, places: NDArray[np.int64], numbers: NDArray[np.int64], fresh: csr_array, now: Postings
    ) -> DocumentTerms:
        """Return those of other documents. Of documents that stay the strongest terms stay, too.

        Parameters
        ----------
        places
            For each document in its new order its place before, below zero for a new one.
        numbers
            The number that each term has now, by the one that it had.
        fresh
            How often each term, by its number now, is in each new document.
        now
            The postings of all documents as they are now.
        """
        is_new, stays = places < 0, places[places >= 0]
        n, width = len(places), self.strongest_terms.shape[1]
        distinct = np.empty(n, np.int32)
        terms = np.full((n, width), NO_TERM, np.int32)
        times = np.zeros((n, width), np.uint16)
        distinct[~is_new] = self.distinct_terms[stays]
        times[~is_new] = self.strongest_counts[stays]
        before = self.strongest_terms[stays]
        filled = before != NO_TERM
        renumbered = np.full(before.shape, NO_TERM, np.int32)
        renumbered[filled] = numbers[before[filled]]
        terms[~is_new] = renumbered
        known = now.lexicon_columns[fresh.indices] != NO_COLUMN
        rows = np.repeat(np.arange(fresh.shape[0]), np.diff(fresh.indptr))
        distinct[is_new] = np.bincount(rows[known], minlength=fresh.shape[0])
        if width:
            half = half_saturation(now.document_lengths)[is_new]
            idf = inverse_frequency(np.diff(now.posting_starts), n)
            terms[is_new], times[is_new] = strongest_of_rows(fresh, half, idf)
        return DocumentTerms(distinct, terms, times)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is to be stored, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def strongest_of_rows(
    counts: csr_array, half: NDArray[np.float32], idf: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
    """Return the terms with the largest BM25 of each row, in falling order, and their counts.

    Parameters
    ----------
    counts
        Documents as rows, terms by their numbers in the postings, ascending in each row.
    half
        Of each row: see `half_saturation`.
    idf
        Of each term.
    """
    terms = np.full((counts.shape[0], STRONGEST), NO_TERM, np.int32)
    times = np.zeros((counts.shape[0], STRONGEST), np.uint16)
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    strengths = saturation(counts.data, half[rows]) * idf[counts.indices]
    # Row and strength in one number: one sort brings the strongest of each row to its front.
    keys = rows - strengths / (2 * max(float(strengths.max(initial=0)), 1e-9))
    order = np.argsort(keys, kind="stable")
    ranks = np.arange(len(order)) - counts.indptr[rows]
    first = ranks < STRONGEST
    terms[rows[first], ranks[first]] = counts.indices[order[first]]
    times[rows[first], ranks[first]] = counts.data[order[first]]
    return terms, times
