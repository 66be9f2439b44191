"""Choose training documents: one per near-duplicate group, sampled if there are many.

Near-duplicates make small tight parts in a graph of neighbours, and each such part takes a
dimension for itself. So one of each group, its leader, stands for all; the others are placed by
the linear map that is learned. Of more than 20,000 leaders a sample is taken: dimensions, not
documents, are what a large library lacks (docs/ranking.md).

Of very many documents three times as many as that are drawn first, and grouped: what is learned
from costs what a sample costs, however many documents there are. A large group has some of its
documents among those drawn, and one leader; a small one hardly ever has two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lpisearch.compute.gathering import gather, whole
from lpisearch.graphs.near_duplicates import near_duplicate_groups
from lpisearch.indexes.projecting import DRAWN_A_LEADER, MOST_LEADERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.compute.row_blocks import RowBlocks

# Fewer have more dimensions than they need: then all documents are learned from.
LEAST_LEADERS = 600
# Where labels are learned from, so many documents of each are, however few there are of it.
LEAST_OF_A_LABEL = 20


class Sample(NamedTuple):
    """Some documents: their numbers, ascending, and their rows."""

    numbers: NDArray[np.int64]
    X: csr_array


def documents_to_learn_from(
    rows: RowBlocks, seed: int, least: int = LEAST_LEADERS, most: int = MOST_LEADERS
) -> Sample:
    """Choose documents.

    Parameters
    ----------
    rows
        Documents as rows of unit length.
    seed
        Of the sample, where there are too many.
    least, most
        All documents are taken where leaders are fewer, a sample where they are more.
    """
    drawn = _drawn(rows, seed, most * DRAWN_A_LEADER)
    _, leaders = np.unique(near_duplicate_groups(drawn.X), return_index=True)
    if len(leaders) < least:
        return drawn
    if len(leaders) > most:
        leaders = np.random.default_rng(seed).permutation(leaders)[:most]
    leaders = np.sort(leaders)
    return Sample(drawn.numbers[leaders], drawn.X[leaders])


def labelled_to_learn_from(
    rows: RowBlocks, labels: Sequence[Sequence[str]], seed: int, most: int = MOST_LEADERS
) -> Sample:
    """Choose documents where their labels are learned from too: all, or a sample with every label.

    Parameters
    ----------
    rows
        Documents as rows.
    labels
        Of each.
    seed
        Of the sample.
    most
        All are taken of up to three times as many; else so many, and some of every label.
    """
    n = rows.shape[0]
    if n <= most * DRAWN_A_LEADER:
        return Sample(np.arange(n), whole(rows))
    order = np.random.default_rng(seed).permutation(n)
    chosen = set(order[:most].tolist())
    missing: dict[str, int] = {}
    for number in order.tolist():
        wanted = [one for one in labels[number] if missing.get(one, 0) < LEAST_OF_A_LABEL]
        for one in labels[number]:
            missing[one] = missing.get(one, 0) + 1
        if wanted:
            chosen.add(number)
    numbers = np.array(sorted(chosen), np.int64)
    return Sample(numbers, gather(rows, numbers))


def _drawn(rows: RowBlocks, seed: int, most: int) -> Sample:
    n = rows.shape[0]
    if n <= most:
        return Sample(np.arange(n), whole(rows))
    numbers = np.sort(np.random.default_rng([seed, n]).permutation(n)[:most])
    return Sample(numbers, gather(rows, numbers))
