"""Recall of the exact nearest neighbours, measured on a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from lpisearch.compute.rows import unit_rows
from lpisearch.graphs.lists import strongest_entries

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Affinity, Matrix

SAMPLE = 200


@dataclass(frozen=True, slots=True)
class Recall:
    """What of the exact graph is there.

    Attributes
    ----------
    edges
        The share of the nearest neighbours that are joined.
    weight
        The share of their cosines that these are.
    """

    edges: float
    weight: float


def recall(
    X: Matrix, affinity: Affinity, n_neighbors: int, seed: int, sample: int = SAMPLE
) -> Recall:
    """Compare the edges of some documents with their exact nearest by cosine.

    Parameters
    ----------
    X
        The documents as rows.
    affinity
        Built from them, with edges.
    n_neighbors
        How many neighbours of each document are looked at.
    seed
        Of the sample.
    sample
        How many documents are looked at.
    """
    if affinity.edges is None:
        raise ValueError("This graph has no edges to compare.")
    rows = sparse.csr_array(unit_rows(X))
    chosen = np.random.default_rng(seed).permutation(X.shape[0])[:sample]
    cosines = sparse.csr_array(rows[chosen] @ rows.T)
    itself = sparse.csr_array(
        (np.ones(len(chosen)), (np.arange(len(chosen)), chosen)), cosines.shape
    )
    near = strongest_entries(sparse.csr_array(cosines - cosines.multiply(itself)), n_neighbors)
    near.eliminate_zeros()
    if not near.nnz:
        return Recall(1.0, 1.0)
    joined = near.multiply(affinity.edges[chosen] > 0)
    return Recall(joined.nnz / near.nnz, float(joined.sum() / near.sum()))
