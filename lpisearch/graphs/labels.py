"""Graphs from labels: documents of one class are joined, whatever words they use."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.graphs.affinity import Affinity
from lpisearch.graphs.neighbours import nearest
from lpisearch.graphs.options import GraphOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.graphs.affinity import Matrix

# Measured on 20 Newsgroups with 1, 5 and 20 % of the labels: 1 is too weak, 25 too strong.
LABEL_STRENGTH = 5


def same_label(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Join documents of one class with weight 1 / m_c, m_c the size of the class.

    This is the graph of linear discriminant analysis (spg-2008). With `edge_weights="binary"`
    the weight is 1 (rlpi-2007, equation 16). Either way the diagonal counts too, and the
    eigenvectors are the same: indicators of the classes. A document with several labels belongs
    to each by an equal share; one without labels has no edge.
    """
    options = options or GraphOptions()
    shares, _ = memberships(labels, X.shape[0])
    return Affinity(factor=_class_factor(shares, X.dtype, binary=options.edge_weights == "binary"))


def blend(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Join by label where both are labelled, by nearness elsewhere: the semi-supervised graph.

    Edges of `nearest` between two labelled documents are dropped. In their place every document
    of a class is joined to all of it, with weights that sum to five times `n_neighbors`: where
    few documents have labels, these are then not lost among the neighbours.
    """
    options = options or GraphOptions()
    shares, _ = memberships(labels, X.shape[0])
    known = np.diff(shares.indptr) > 0
    edges = nearest(X, options=options).edges
    assert edges is not None  # noqa: S101 -- `nearest` always has edges
    rows = np.repeat(np.arange(X.shape[0]), np.diff(edges.indptr))
    edges.data[known[rows] & known[edges.indices]] = 0
    edges.eliminate_zeros()
    factor = _class_factor(shares, X.dtype, binary=False)
    return Affinity(
        edges=edges, factor=factor * X.dtype.type(np.sqrt(LABEL_STRENGTH * options.n_neighbors))
    )


def memberships(
    labels: Sequence[Any] | None, n_documents: int
) -> tuple[sparse.csr_array, list[Any]]:
    """Turn labels into a documents x classes matrix of shares, and name the classes.

    A row sums to 1, or to 0 if the document is unlabelled: None, -1, "", NaN or an empty
    collection. A list, tuple or set holds several labels. Classes are numbered in the order of
    their names.

    Raises
    ------
    ValueError
        If there are no labels, or not one for each document.
    """
    if labels is None:
        raise ValueError("This graph needs labels (y), and there are none.")
    if not isinstance(labels, (list, tuple)):
        labels = list(np.asarray(labels))
    if len(labels) != n_documents:
        raise ValueError(f"There are {n_documents} documents, but {len(labels)} labels.")
    own = [_labels_of(label) for label in labels]
    names = sorted({one for each in own for one in each}, key=lambda one: (str(type(one)), one))
    if not names:
        raise ValueError("No document has a label.")
    numbers = {name: number for number, name in enumerate(names)}
    counts = [len(each) for each in own]
    data = 1 / np.repeat(counts, counts)
    indices = np.array([numbers[one] for each in own for one in each], dtype=np.int32)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return sparse.csr_array((data, indices, indptr), shape=(n_documents, len(names))), names


def _labels_of(label: Any) -> list[Any]:
    """List the labels of one document."""
    if isinstance(label, (list, tuple, set, frozenset, np.ndarray)):
        return list(dict.fromkeys(one for each in label for one in _labels_of(each)))
    is_nan = isinstance(label, float) and math.isnan(label)
    return [] if label is None or is_nan or label in ("", -1) else [label]


def _class_factor(shares: sparse.csr_array, dtype: Any, *, binary: bool) -> sparse.csr_array:
    """Give F with F Fᵀ = W: the shares, each class divided by the root of its size."""
    sizes = np.asarray(shares.sum(axis=0)).ravel()
    scale = np.ones_like(sizes) if binary else 1 / np.sqrt(sizes)
    data = shares.data * scale[shares.indices]
    return sparse.csr_array((data.astype(dtype), shares.indices, shares.indptr), shares.shape)
