"""The rule of Laplacian eigenmaps for new documents: one step from the nearest fitted ones.

An eigenvector of W y = λ D y has at each fitted document i the value

    y_i = (1 / λ) Σⱼ W_ij y_j / Σⱼ W_ij.

A new document gets its place by the same equation, from the fitted documents that it would name
as neighbours, with the weights that those edges would have (the Nyström step of Bengio et al.,
2004). A document in the direction of a fitted one takes that one's place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.projections.inverted import InvertedRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lpisearch.projections.rows import Floats, SparseRows

# Two documents whose cosine is nearer to 1 than this are the same; rounding is far below it.
SAME = 1e-6


def fold(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Place rows of unit length.

    Parameters
    ----------
    arrays
        `places` (fitted documents x dimensions), `eigenvalues`, the fitted documents as
        `lists`, `members` and `weights`, and how edges are made: `edge_weights` (a name),
        `edge_limits` (how many neighbours at most, the cosine that they must exceed, and the
        heat scale).
    rows
        Documents.
    """
    places = np.asarray(arrays["places"])
    fitted = InvertedRows.of_arrays(arrays, len(places))
    found = np.zeros((len(rows), places.shape[1]), places.dtype)
    for place, (terms, weights) in zip(found, rows, strict=True):
        cosines = fitted.cosines(terms, weights)
        nearest = int(np.argmax(cosines))
        if cosines[nearest] > 1 - SAME:
            place[:] = places[nearest]
            continue
        near, edges = _edges(cosines, arrays)
        total = edges.sum()
        if total > 0:
            place[:] = edges @ places[near] / (total * arrays["eigenvalues"])
    return found


def _edges(
    cosines: NDArray[np.float64], arrays: Mapping[str, NDArray[Any]]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the fitted documents that a new one names, and the weight of each edge."""
    most, least, heat_scale = arrays["edge_limits"].tolist()
    near = np.flatnonzero(cosines > least)
    if len(near) > most:
        at = len(near) - int(most)
        near = np.sort(near[np.argpartition(cosines[near], at)[at:]])
    edges = np.minimum(cosines[near], 1)
    name = str(arrays["edge_weights"][0])
    if name == "binary":
        edges = np.ones_like(edges)
    elif name == "heat":
        edges = np.exp((2 * edges - 2) / heat_scale)
    return near, edges
