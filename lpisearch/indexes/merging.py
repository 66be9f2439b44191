"""Merge postings of kept and new documents without recounting.

The entries of a term are in the order of their documents, before and after. So those of documents
that stay are copied as they lie, and the few new ones are put between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.indexes.postings import NO_COLUMN, Postings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csc_array, csr_array

    from lpisearch.terms.vocabulary import Vocabulary

    Whole = NDArray[np.int64]

_MOST = np.iinfo(np.uint16).max
GONE = -1


class Merged(NamedTuple):
    """Postings of other documents by other terms.

    Attributes
    ----------
    postings
        Of the documents as they are now.
    numbers
        The number that each term has now, by the one that it had; `GONE` of a term in no document.
    fresh
        How often each term, by its number now, is in each new document (rows).
    """

    postings: Postings
    numbers: Whole
    fresh: csr_array


def merged(
    before: Postings, places: Whole, tokens: Sequence[str], vocabulary: Vocabulary
) -> Merged:
    """Put new documents between those that stay.

    Parameters
    ----------
    before
        The postings as they are.
    places
        For each document in its new order: its place before, or below zero for a new one. Those
        that stay keep their order.
    tokens
        The joined tokens of the new ones, in their order.
    vocabulary
        Of the subspace.
    """
    from lpisearch.terms.counts import count_all_terms

    names, counted = count_all_terms([tokens], before.terms())
    is_new = places < 0
    kept, moved = _staying(before, places)
    starts = np.searchsorted(kept, before.posting_starts)
    sizes = np.zeros(len(names), np.int64)
    sizes[: len(before)] = np.diff(starts)
    sizes += np.bincount(counted.matrix.indices, minlength=len(names))
    present = np.flatnonzero(sizes)
    order = np.array(sorted(present.tolist(), key=names.__getitem__), np.int64)
    numbers = np.full(len(names), GONE, np.int64)
    numbers[order] = np.arange(len(order))
    fresh = counted.matrix[:, order]
    own_places, own_counts, at = _between(
        fresh.tocsc(), np.flatnonzero(is_new), _Entries(moved, starts, numbers)
    )
    lengths = np.empty(len(places), np.int32)
    lengths[~is_new] = before.document_lengths[places[~is_new]]
    lengths[is_new] = counted.lengths
    found = _named(
        [names[number] for number in order.tolist()],
        vocabulary,
        posting_starts=np.concatenate([[0], np.cumsum(sizes[order])]),
        posting_places=np.insert(moved, at, own_places),
        posting_counts=np.insert(before.posting_counts[kept], at, own_counts),
        document_lengths=lengths,
    )
    return Merged(found, numbers[: len(before)], fresh)


class _Entries(NamedTuple):
    """Entries that stay: their new places, where those of each old term begin, its number now."""

    places: NDArray[np.int32]
    starts: Whole
    numbers: Whole


def _staying(before: Postings, places: Whole) -> tuple[Whole, NDArray[np.int32]]:
    """Return which entries stay, and the new place of the document of each."""
    now = np.full(len(before.document_lengths), GONE, np.int32)
    now[places[places >= 0]] = np.flatnonzero(places >= 0)
    found = now[before.posting_places]
    kept = np.flatnonzero(found >= 0)
    return kept, found[kept]


def _between(
    fresh: csc_array, documents: Whole, old: _Entries
) -> tuple[NDArray[np.int32], NDArray[np.uint16], Whole]:
    """Return the places and counts of new entries by term, and before which old one each goes."""
    fresh.sort_indices()
    places = documents[fresh.indices].astype(np.int32)
    counts = np.minimum(fresh.data, _MOST).astype(np.uint16)
    # Where the entries of each term, by its number now, begin and end among those that stay.
    begins = np.zeros(fresh.shape[1], np.int64)
    ends = np.zeros(fresh.shape[1], np.int64)
    known = old.numbers[: len(old.starts) - 1]
    stays = known >= 0
    begins[known[stays]], ends[known[stays]] = old.starts[:-1][stays], old.starts[1:][stays]
    # A new term has none, and goes where the term before it ends.
    ends = np.maximum.accumulate(ends)
    is_old = np.zeros(len(ends), np.bool_)
    is_old[known[stays]] = True
    begins = np.where(is_old, begins, ends)
    terms = np.repeat(np.arange(fresh.shape[1]), np.diff(fresh.indptr))
    if len(documents) and len(old.places) and documents[0] < old.places.max():
        at = [
            begins[term] + np.searchsorted(old.places[begins[term] : ends[term]], place)
            for term, place in zip(terms.tolist(), places, strict=True)
        ]
        return places, counts, np.array(at, np.int64)
    return places, counts, ends[terms]


def _named(names: Sequence[str], vocabulary: Vocabulary, **entries: Any) -> Postings:
    lines = [f"{name}\n".encode() for name in names]
    starts = np.concatenate([[0], np.cumsum([len(line) for line in lines], dtype=np.int64)])
    columns = [vocabulary.index.get(name, NO_COLUMN) for name in names]
    return Postings(
        lexicon=np.frombuffer(b"".join(lines), np.uint8),
        lexicon_starts=starts.astype(np.int64),
        lexicon_columns=np.array(columns, np.int32),
        **entries,
    )
