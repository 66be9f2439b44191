"""Graphs from labels, and from pairs of documents that a person judged."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from lpisearch.graphs.affinity import Affinity
from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Matrix

    Rows: TypeAlias = NDArray[np.intp]


# On 20 Newsgroups with 1, 5 and 20 % of the labels, 1 is too weak and 25 too strong.
LABEL_STRENGTH = 5


def same_label(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Join documents of one class with weight 1 / m_c, m_c the size of the class.

    This is the graph of linear discriminant analysis (spg-2008). With `edge_weights="binary"`
    the weight is 1 (rlpi-2007, equation 16). Either way the diagonal is included, and the
    eigenvectors are the same: indicators of the classes. A document with several labels belongs
    to each by an equal share; one without labels has no edge.
    """
    options = options or GraphOptions()
    shares = several_classes(labels, X.shape[0])
    return Affinity(factor=_class_factor(shares, X.dtype, binary=options.edge_weights == "binary"))


def blend(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Join by label if both documents are labelled, else by nearness: the semi-supervised graph.

    Edges of `nearest` between two labelled documents are replaced: every document is joined to all
    of its class, with weights that sum to five times `n_neighbors`, so that a few labels are not
    lost among the neighbours.
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


def memberships(labels: Any, n_documents: int) -> tuple[sparse.csr_array, list[Any]]:
    """Return a documents x classes matrix of shares, and the names of the classes in order.

    A row sums to 1, or to 0 if the document is unlabelled: None, -1, "", NaN or an empty
    collection. A list, tuple or set holds several labels; so does a row of an array or sparse
    matrix of 0 and 1, documents x classes. ValueError if there are no labels, not one for each
    document, or numbers that are not classes.
    """
    if labels is None:
        raise ValueError("This graph needs labels (y), and there are none.")
    if sparse.issparse(labels) or (isinstance(labels, np.ndarray) and labels.ndim > 1):
        labels = _flagged(labels)
    elif not isinstance(labels, (list, tuple)):
        labels = list(np.asarray(labels))
    marks: Any = labels if sparse.issparse(labels) else None
    count = len(labels) if marks is None else marks.shape[0]
    if count != n_documents:
        raise ValueError(f"There are {n_documents} documents, but {count} labels.")
    if marks is None:
        names, indices, indptr = _numbered([_labels_of(label) for label in labels])
    else:
        classes, indices = np.unique(marks.indices, return_inverse=True)
        names, indptr = classes.tolist(), marks.indptr
    targets = [name for name in names if isinstance(name, float) and not name.is_integer()]
    if targets:
        raise ValueError(f"y holds {targets[0]:g}, which is not a class: labels are whole or text.")
    if not names:
        raise ValueError("No document has a label.")
    counts = np.diff(indptr)
    data = 1 / np.repeat(counts, counts)
    return sparse.csr_array((data, indices, indptr), shape=(n_documents, len(names))), names


def _numbered(by_document: list[list[Any]]) -> tuple[list[Any], Rows, Rows]:
    """Return the names of all classes in order, and the classes of documents in CSR form."""
    flat = [name for names in by_document for name in names]
    names = sorted(set(flat), key=lambda name: (str(type(name)), name))
    numbers = {name: number for number, name in enumerate(names)}
    indices = np.array([numbers[name] for name in flat], np.intp)
    return names, indices, np.cumsum([0, *map(len, by_document)])


def several_classes(labels: Any, n_documents: int) -> sparse.csr_array:
    """Return the memberships of documents; ValueError if all are of one class."""
    shares, names = memberships(labels, n_documents)
    if len(names) == 1:
        raise ValueError(f"All documents have the same label ({names[0]!r}): 1 class.")
    return shares


def _flagged(flags: Any) -> Any:
    """Read documents x classes as such, in sparse form; a single column, or text, as labels."""
    if flags.shape[1] == 1:
        return list(np.ravel(flags.toarray() if hasattr(flags, "toarray") else flags))
    if not sparse.issparse(flags) and flags.dtype.kind in "OUS":
        return list(flags)
    marks = sparse.csr_array(flags)
    marks.sum_duplicates()
    marks.eliminate_zeros()
    if not np.all(marks.data == 1):
        raise ValueError(
            f"y is documents x {marks.shape[1]} with values other than 0 and 1: give one label a "
            "document, or a 1 for each class it belongs to."
        )
    return marks


def _labels_of(label: Any) -> list[Any]:
    """List the labels of one document."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, (list, tuple, set, frozenset, np.ndarray)):
        return list(dict.fromkeys(name for item in label for name in _labels_of(item)))
    is_nan = isinstance(label, float) and math.isnan(label)
    return [] if label is None or is_nan or label in ("", -1) else [label]


def _class_factor(shares: sparse.csr_array, dtype: Any, *, binary: bool) -> sparse.csr_array:
    """Return F with F Fᵀ = W: the shares, each class divided by the root of its size."""
    sizes = np.asarray(shares.sum(axis=0)).ravel()
    scale = np.ones_like(sizes) if binary else 1 / np.sqrt(sizes)
    data = shares.data * scale[shares.indices]
    return sparse.csr_array((data.astype(dtype), shares.indices, shares.indptr), shares.shape)


TOGETHER, APART = 1.0, 0.0


class Pairs(NamedTuple):
    """Pairs of rows that must be neighbours, and pairs that must not: n x 2 each."""

    must: Rows
    cannot: Rows

    @classmethod
    def of(cls, must: Sequence[tuple[int, int]], cannot: Sequence[tuple[int, int]]) -> Pairs:
        """Make it from lists of pairs."""
        return cls(*(np.array(pairs, np.intp).reshape(-1, 2) for pairs in (must, cannot)))

    @property
    def rows(self) -> Rows:
        """The documents in any pair, without repetition, in order."""
        return np.unique(np.concatenate([self.must, self.cannot]))

    def among(self, rows: Rows) -> Pairs:
        """Renumber the documents by their positions in sorted rows that contain all of them."""
        return Pairs(np.searchsorted(rows, self.must), np.searchsorted(rows, self.cannot))


def with_pairs(W: Affinity, pairs: Pairs) -> Affinity:
    """Return the graph with weight 1 for pairs that must be, 0 for pairs that must not be.

    ValueError if a pair that must not be follows from those that must be.
    """
    contradiction = first_contradiction(pairs, W.shape[0])
    if contradiction is not None:
        raise ValueError(f"Rows {contradiction[0]} and {contradiction[1]} must and cannot be.")
    ends = np.concatenate([pairs.must, pairs.cannot])
    weights = np.repeat([TOGETHER, APART], [len(pairs.must), len(pairs.cannot)])
    ends, first = np.unique(np.sort(ends, axis=1), axis=0, return_index=True)
    rows, columns = ends[ends[:, 0] != ends[:, 1]].T
    weights = weights[first][ends[:, 0] != ends[:, 1]]
    change = weights - _weights(W, rows, columns)
    part = W.edges if W.edges is not None else W.factor
    added = sparse.csr_array((change.astype(part.dtype), (rows, columns)), shape=W.shape)  # type: ignore[union-attr]  # one of them is there
    both = sparse.csr_array(added + added.T)
    edges = both if W.edges is None else sparse.csr_array(W.edges + both)
    edges.data[np.abs(edges.data) < np.finfo(edges.dtype).eps] = 0  # what a difference leaves
    edges.eliminate_zeros()
    return Affinity(edges=edges, factor=W.factor)


def first_contradiction(pairs: Pairs, n_documents: int) -> tuple[int, int] | None:
    """Return the first pair that must not be, but follows from pairs that must be."""
    ones = np.ones(len(pairs.must))
    links = sparse.csr_array((ones, tuple(pairs.must.T)), shape=(n_documents, n_documents))
    part = connected_components(links, directed=False)[1]
    for first, second in pairs.cannot.tolist():
        if part[first] == part[second]:
            return first, second
    return None


def _weights(W: Affinity, rows: Rows, columns: Rows) -> NDArray[np.float64]:
    """Return the weights of some entries."""
    weights = np.zeros(len(rows))
    if W.edges is not None:
        weights += np.asarray(W.edges[rows, columns], np.float64).ravel()
    if W.factor is not None:
        products = W.factor[rows] * W.factor[columns]
        weights += np.asarray(products.sum(axis=1), np.float64).ravel()
    return weights
