"""Graphs of near documents: the p nearest, or all within a ball. Rows of X are documents.

Memory is bounded by the edges that are kept. Both are exact, but for the nearest of very many
documents: the time of all pairs grows with their square.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.compute.rows import unit_rows
from lpisearch.graphs.affinity import Affinity
from lpisearch.graphs.cosines import map_cosines
from lpisearch.graphs.edges import symmetric_edges
from lpisearch.graphs.options import GraphOptions
from lpisearch.graphs.pruning import pruned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix

GROUP = 16


def nearest(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Join each document to the p nearest by cosine (rlpi-2007, equation 11).

    An edge is there if either end names the other. Only documents with a positive cosine are
    neighbours, so a document may have fewer than p. The diagonal is zero: a document is not its
    own neighbour. A document without neighbours (it has no term, or shares none with another) has
    degree 0. Which of several equal cosines is kept at the limit is not specified. Of more than
    `exact_documents` they are those that `pruned` finds.
    """
    options = options or GraphOptions()
    n = X.shape[0]
    if n > options.exact_documents:
        return pruned(X, labels, options)
    if n < 2:  # noqa: PLR2004 -- a pair
        return Affinity(edges=sparse.csr_array((n, n), dtype=X.dtype))
    p = min(options.n_neighbors, n - 1)

    def select(cosines: Floats, start: int) -> tuple[NDArray[np.intp], Floats]:
        del start
        columns = largest(cosines, p)
        return columns, np.take_along_axis(cosines, columns, axis=1)

    found = map_cosines(unit_rows(X), select)
    columns = np.concatenate([columns.ravel() for columns, _ in found])
    cosines = np.concatenate([values.ravel() for _, values in found])
    named = sparse.csr_array((np.maximum(cosines, 0), columns, np.arange(n + 1) * p), shape=(n, n))
    named.eliminate_zeros()
    return Affinity(edges=symmetric_edges(named, options))


def ball(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Join documents whose unit rows are nearer than ε (lpp-analysis-2005, equation 3).

    On unit rows the distance ε is the cosine 1 - ε² / 2; only positive cosines count. The
    diagonal is zero, as in `nearest`.
    """
    del labels
    options = options or GraphOptions()
    least = options.least_cosine

    def select(cosines: Floats, start: int) -> sparse.csr_array:
        del start
        rows, columns = np.nonzero(cosines > least)
        near = (cosines[rows, columns], (rows, columns))
        return sparse.csr_array(near, shape=cosines.shape)

    n = X.shape[0]
    blocks = [sparse.csr_array((0, n), dtype=X.dtype), *map_cosines(unit_rows(X), select)]
    named = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    return Affinity(edges=symmetric_edges(named, options))


def largest(values: Floats, p: int) -> NDArray[np.intp]:
    """Give the columns of the p largest values of each row, in no order.

    The p largest lie in the p groups of columns with the largest maxima, so only those groups
    are searched.
    """
    rows, n = values.shape
    if p == 0:
        return np.empty((rows, 0), dtype=np.intp)
    groups = n // GROUP
    if groups <= 2 * p:
        return np.argpartition(values, n - p, axis=1)[:, n - p :]
    maxima = values[:, : groups * GROUP].reshape(rows, GROUP, groups).max(axis=1)
    best = np.argpartition(maxima, groups - p, axis=1)[:, groups - p :]
    inside = (best[:, :, np.newaxis] + np.arange(GROUP) * groups).reshape(rows, -1)
    beyond = np.broadcast_to(np.arange(groups * GROUP, n), (rows, n - groups * GROUP))
    candidates = np.concatenate([inside, beyond], axis=1)
    chosen = np.argpartition(np.take_along_axis(values, candidates, axis=1), -p, axis=1)[:, -p:]
    return np.take_along_axis(candidates, chosen, axis=1)
