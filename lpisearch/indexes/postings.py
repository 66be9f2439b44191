"""Inverted index: the documents and counts of each term, for lexical search.

All terms are here, also those too rare for a column of the subspace, and those that later
documents brought. Terms are sorted, so that one is found by bisection in the mapped file; a
term's documents are ascending places (rows of the index's `vectors`).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csc_array, csr_array


MOST = np.iinfo(np.uint16).max
NO_COLUMN = -1
LEXICON = ("lexicon", "lexicon_starts", "lexicon_columns")
NEW = -1  # the place of a document that the postings do not have yet


@dataclass(frozen=True, eq=False)
class Postings:
    """The documents of each term.

    Attributes
    ----------
    lexicon, lexicon_starts
        The terms in UTF-8, sorted, a line each; where each begins, and where all end.
    lexicon_columns
        The column of each term in the subspace, or -1.
    posting_starts
        Where each term's entries begin in the next two, and where all end.
    posting_places, posting_counts
        A document, and how often the term is in it (65,535 at most).
    document_lengths
        The number of tokens of each document.
    """

    lexicon: NDArray[np.uint8]
    lexicon_starts: NDArray[np.int64]
    lexicon_columns: NDArray[np.int32]
    posting_starts: NDArray[np.int64]
    posting_places: NDArray[np.int32]
    posting_counts: NDArray[np.uint16]
    document_lengths: NDArray[np.int32]

    @classmethod
    def array_names(cls) -> tuple[str, ...]:
        """Return the names of its arrays in an index."""
        return tuple(each.name for each in fields(cls))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Postings:
        """Take the arrays of an index that are named after the attributes."""
        # A plain view: slicing a memory-mapped array costs ten times as much.
        own: dict[str, Any] = {name: arrays[name].view(np.ndarray) for name in cls.array_names()}
        return cls(**own)

    @property
    def n_documents(self) -> int:
        """Of how many documents the frequencies are."""
        return len(self.document_lengths)

    @property
    def mean_length(self) -> float:
        """How many tokens a document usually has."""
        return float(self.document_lengths.mean()) if len(self.document_lengths) else 0.0

    def frequencies(self, words: NDArray[np.integer[Any]] | None = None) -> NDArray[np.int64]:
        """Return in how many documents terms are, given by their numbers; all if none are given."""
        starts = self.posting_starts
        return np.asarray(np.diff(starts) if words is None else starts[words + 1] - starts[words])

    @classmethod
    def build(
        cls,
        terms: Sequence[str],
        counts: csr_array,
        lengths: NDArray[np.int32],
        columns: Mapping[str, int],
    ) -> Postings:
        """Turn counts around.

        Parameters
        ----------
        terms
            Of the columns of `counts`, in any order; those in no document are left out.
        counts
            Documents as rows (the papers write them as columns).
        lengths
            The number of tokens of each document.
        columns
            Term → column in the subspace.
        """
        by_term = counts.tocsc()
        present = np.flatnonzero(np.diff(by_term.indptr)).tolist()
        order = sorted(present, key=terms.__getitem__)
        by_term = by_term[:, order]
        names = [terms[column] for column in order]
        own: dict[str, Any] = lexicon_arrays(names, columns) | _entries(by_term, lengths)
        return cls(**own)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is to be stored, by name."""
        return {name: getattr(self, name) for name in self.array_names()}

    def with_rows(self, counts: csr_array, lengths: NDArray[np.int32]) -> Postings:
        """Return the postings of something else by the same terms, such as parts of documents.

        Parameters
        ----------
        counts
            Its rows; the columns are the terms in their order.
        lengths
            The number of tokens of each row.
        """
        return replace(self, **_entries(counts.tocsc(), lengths))

    def counts(self) -> csr_array:
        """Return how often each term is in each document: documents as rows, terms as columns."""
        from scipy.sparse import csc_array, csr_array

        shape = (len(self.document_lengths), len(self))
        entries = (self.posting_counts, self.posting_places, self.posting_starts)
        by_row = csc_array(entries, shape=shape).tocsr()
        counted = (by_row.data.astype(np.float32), by_row.indices, by_row.indptr)
        counts: csr_array = csr_array(counted, shape=shape)
        return counts

    def numbers(self, terms: Iterable[str]) -> NDArray[np.int64]:
        """Return the numbers of terms, -1 for those that are not here."""
        number = {term: at for at, term in enumerate(self.terms())}
        return np.array([number.get(term, -1) for term in terms], np.int64)

    def __len__(self) -> int:
        return len(self.lexicon_columns)

    def terms(self) -> tuple[str, ...]:
        """Return all terms in their order."""
        return tuple(self.lexicon.tobytes().decode().split())

    def term(self, number: int) -> str:
        """Return a term by its number."""
        return self._line(number).decode().rstrip("\n")

    def find(self, term: str) -> int:
        """Return the number of a term, or -1."""
        line = f"{term}\n".encode("utf-8", "surrogatepass")
        number = bisect_left(range(len(self)), line, key=self._line)
        return number if number < len(self) and self._line(number) == line else -1

    def _line(self, number: int) -> bytes:
        starts = self._starts
        return self._bytes[starts[number] : starts[number + 1]].tobytes()

    @cached_property
    def _bytes(self) -> memoryview:
        return self.lexicon.data

    @cached_property
    def _starts(self) -> memoryview:
        return self.lexicon_starts.data


def lexicon_arrays(names: Sequence[str], columns: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """Return what is stored of the terms themselves, which are sorted."""
    lines = [f"{name}\n".encode() for name in names]
    return {
        "lexicon": np.frombuffer(b"".join(lines), np.uint8),
        "lexicon_starts": _running_total([len(line) for line in lines]),
        "lexicon_columns": np.array([columns.get(name, NO_COLUMN) for name in names], np.int32),
    }


def _entries(by_term: csc_array, lengths: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    by_term.sort_indices()
    return {
        "posting_starts": by_term.indptr.astype(np.int64),
        "posting_places": by_term.indices.astype(np.int32),
        "posting_counts": np.minimum(by_term.data, MOST).astype(np.uint16),
        "document_lengths": np.asarray(lengths, np.int32),
    }


def _running_total(sizes: Sequence[int]) -> NDArray[np.int64]:
    totals = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=totals[1:])
    return totals
