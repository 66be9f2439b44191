"""Which documents a map is learned from: one of each group of near-duplicates, a sample of many.

Near-duplicates make small tight parts in a graph of neighbours, and each such part takes a
dimension for itself. So one of each group, its leader, stands for all; the others are placed by
the linear map that is learned. Of more than 20,000 leaders a sample is taken: dimensions, not
documents, are what a large library lacks (docs/ranking.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lpisearch.graphs.near_duplicates import near_duplicate_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

MOST_LEADERS = 20_000
# Fewer have more dimensions than they need: then all documents are learned from.
LEAST_LEADERS = 600


def documents_to_learn_from(
    X: csr_array, seed: int, least: int = LEAST_LEADERS, most: int = MOST_LEADERS
) -> NDArray[np.intp]:
    """Choose rows of documents, in their order.

    Parameters
    ----------
    X
        Documents as rows of unit length.
    seed
        Of the sample, where there are too many.
    least, most
        All documents are taken where leaders are fewer, a sample where they are more.
    """
    _, leaders = np.unique(near_duplicate_groups(X), return_index=True)
    if len(leaders) < least:
        return np.arange(X.shape[0])
    if len(leaders) > most:
        leaders = np.random.default_rng(seed).permutation(leaders)[:most]
    return np.sort(leaders)
