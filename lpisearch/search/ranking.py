"""Rank scores and collapse near-duplicates.

Scores are compared to six decimals, so that equal documents tie whatever the processor rounds.
Ties are broken by the document's id, the last in the alphabet first, as TREC does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lpisearch.compute.stretches import largest

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

DECIMALS = 6
_STEP = 10.0**-DECIMALS
NEAR = 0.98


def best(
    scores: NDArray[np.float32],
    count: int,
    ranks_of_ids: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    among: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Return the places of the best scores in order.

    Parameters
    ----------
    scores
        Of every place.
    count
        How many are wanted; there are fewer if there are not as many.
    ranks_of_ids
        Gives, for some places, the ranks of their ids in the alphabet. Asked only of ties.
    among
        The only places that may be found.
    """
    pool = scores if among is None else scores[among]
    count = min(count, len(pool))
    if count <= 0:
        return np.empty(0, np.int64)
    chosen = np.arange(len(pool))
    if count < len(pool):
        border = pool[largest(pool, count)].min()
        chosen = np.flatnonzero(pool >= border - _STEP)  # with all that tie with the last
    places = chosen if among is None else among[chosen]
    values = rounded(scores[places])
    order = np.lexsort((_later_first(places, values, ranks_of_ids), -values))
    return places[order[:count]]


def rounded(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return scores as they are compared and shown."""
    return np.asarray(scores.astype(np.float64).round(DECIMALS) + 0.0)  # + 0: no -0


def _later_first(
    places: NDArray[np.int64],
    values: NDArray[np.float64],
    ranks_of_ids: Callable[[NDArray[np.int64]], NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Return a key for each place that puts the later id first; zeros where nothing ties."""
    key = np.zeros(len(places), np.int64)
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    tied = sizes[group] > 1
    if tied.any():
        key[tied] = -ranks_of_ids(places[tied])
    return key


def rank_of(scores: NDArray[np.float32], score: float) -> int:
    """Return the rank of a score among others, from 1: one more than how many are better."""
    return 1 + int(np.count_nonzero(scores > np.float32(score)))


def alphabet_ranks(ids: list[str]) -> NDArray[np.int64]:
    """Return the rank of each id in the order of its characters' code points."""
    ranks = np.empty(len(ids), np.int64)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return ranks


def is_near(vector: NDArray[np.float32], others: NDArray[np.float32], least: float = NEAR) -> bool:
    """Tell whether a document is nearly the same as one of others (rows), by their cosine."""
    return bool(len(others)) and bool((others @ vector).max() >= least)
