"""From cosines to weighted edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Floats
    from lpisearch.graphs.options import GraphOptions


def symmetric_edges(cosines: sparse.csr_array, options: GraphOptions) -> sparse.csr_array:
    """Turn directed cosines (without diagonal) into weighted edges: kept if either end names it."""
    W = sparse.csr_array(cosines.maximum(cosines.T))
    W.data = edge_weight(W.data, options)
    return W


def edge_weight(cosine: Floats, options: GraphOptions) -> Floats:
    """Give the weight of an edge from the cosine of its ends."""
    if options.edge_weights == "binary":
        return np.ones_like(cosine)
    if options.edge_weights == "heat":
        return np.exp((2 * np.minimum(cosine, 1) - 2) / cosine.dtype.type(options.heat_scale))
    return np.minimum(cosine, 1)
