"""The complete graph: every document a neighbour of every other, by inner product."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.graphs.affinity import Affinity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.graphs.affinity import Matrix
    from lpisearch.graphs.options import GraphOptions


def complete(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Weigh every pair by its inner product: W = X Xᵀ, the diagonal too, kept as its factor X.

    With this graph LPI is close to LSI (or PCA, if X is centred; lpp-analysis-2005, section
    4.2). The rows are taken as they are.

    Raises
    ------
    ValueError
        If a document has a negative sum of inner products: it then has no degree.
    """
    del labels, options
    affinity = Affinity(factor=X)
    smallest = affinity.degrees.min(initial=0)
    if smallest < -np.finfo(X.dtype).eps * max(affinity.degrees.max(initial=0), 1):
        raise ValueError(
            "The complete graph needs rows whose inner products have positive sums; "
            f"one sum is {smallest:.3g}. Weights of terms must not be negative."
        )
    return affinity
