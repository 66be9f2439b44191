"""Graphs of nearest neighbours, exact and approximate; near-duplicates; recall of a graph.

Memory is bounded by the edges. The exact graphs take time quadratic in the number of documents: the
cosines of a block of rows are computed densely for terms of many documents, and by adding the
lists of documents of all other terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy import sparse

from lpisearch.graphs.affinity import Affinity, euclidean, searched, symmetric_edges
from lpisearch.graphs.base import GraphOptions
from lpisearch.numeric.rows import unit_rows
from lpisearch.numeric.threads import map_threads, one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix

    T = TypeVar("T")


GROUP = 16


def nearest(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Join each document to the p nearest by cosine (rlpi-2007, equation 11).

    There is an edge if either end is among the nearest of the other. Only documents with a positive
    cosine are neighbours, so a document may have fewer than p, or none and degree 0. The diagonal
    is zero. Beyond `exact_documents` documents, `pruned` finds them. With the Euclidean metric, the
    nearest rows as they are given are neighbours, whatever their cosine and number.
    """
    options = options or GraphOptions()
    n = X.shape[0]
    if n < 2:  # noqa: PLR2004 -- a pair
        return Affinity(edges=sparse.csr_array((n, n), dtype=X.dtype))
    if options.search is not None:
        return Affinity(edges=searched(X, options))
    p = min(options.n_neighbors, n - 1)
    if options.metric == "euclidean":
        return Affinity(edges=euclidean(X, *_nearest_rows(X, p), options))
    if n > options.exact_documents:
        return pruned(X, labels, options)

    def select(cosines: Floats, start: int) -> tuple[NDArray[np.intp], Floats]:
        del start
        columns = top_columns(cosines, p)
        return columns, np.take_along_axis(cosines, columns, axis=1)

    blocks = map_cosines(unit_rows(X), select)
    columns = np.concatenate([columns.ravel() for columns, _ in blocks])
    cosines = np.concatenate([values.ravel() for _, values in blocks])
    named = sparse.csr_array((np.maximum(cosines, 0), columns, np.arange(n + 1) * p), shape=(n, n))
    named.eliminate_zeros()
    return Affinity(edges=symmetric_edges(named, options))


def _nearest_rows(X: Matrix, p: int) -> tuple[NDArray[np.intp], Floats]:
    """Return the p nearest other rows of each row, and their squared distances."""
    rows = sparse.csr_array(X)
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()

    def select(products: Floats, start: int) -> tuple[NDArray[np.intp], Floats]:
        here = np.arange(len(products))
        scores = 2 * products - squares
        scores[here, start + here] = -np.inf
        columns = top_columns(scores, p)
        own = squares[start + here][:, np.newaxis]
        return columns, own - np.take_along_axis(scores, columns, axis=1)

    blocks = map_cosines(X, select)
    return tuple(np.concatenate(each) for each in zip(*blocks, strict=True))  # type: ignore[return-value]  # of two


def ball(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Join documents whose unit rows are nearer than ε (lpp-analysis-2005, equation 3).

    On unit rows the distance ε is the cosine 1 - ε² / 2; only positive cosines count. The
    diagonal is zero, as in `nearest`.
    """
    del labels
    options = options or GraphOptions()
    least = options.min_cosine

    def select(cosines: Floats, start: int) -> sparse.csr_array:
        del start
        rows, columns = np.nonzero(cosines > least)
        near = (cosines[rows, columns], (rows, columns))
        return sparse.csr_array(near, shape=cosines.shape)

    n = X.shape[0]
    blocks = [sparse.csr_array((0, n), dtype=X.dtype), *map_cosines(unit_rows(X), select)]
    named = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    return Affinity(edges=symmetric_edges(named, options))


def top_columns(values: Floats, p: int) -> NDArray[np.intp]:
    """Return the columns of the p largest values of each row, in no order.

    They are in the p groups of columns with the largest maxima; only those groups are searched.
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


STRONGEST_TERMS = 16
STRONGEST_DOCUMENTS = 300
CANDIDATES = 48  # at least; three for each requested neighbour
_CANDIDATES_A_NEIGHBOUR = 3
_BLOCK = 1024


def pruned(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Join each document to approximately the p nearest by cosine, as `nearest`.

    Candidates come from the strongest terms of a document alone, and from the strongest documents
    of each of these terms; the best of them are compared by their exact cosine. So the work for a
    document does not grow with their number, and a neighbour is missed only if it shares weak
    terms alone: more than nine tenths of the weight of all edges stay (benchmarks/graphs.py).
    """
    del labels
    options = options or GraphOptions()
    search = _Search(sparse.csr_array(unit_rows(X)), options.n_neighbors)
    blocks = map_threads(search.block, range(0, X.shape[0], _BLOCK))
    named: sparse.csr_array = sparse.csr_array((X.shape[0], X.shape[0]), dtype=X.dtype)
    if blocks:
        named = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    return Affinity(edges=symmetric_edges(named, options))


class _Search:
    """The rows, and the lists that give candidates."""

    def __init__(self, X: sparse.csr_array, n_neighbors: int) -> None:
        self._X = X
        self._n_neighbors = n_neighbors
        self._n_candidates = max(CANDIDATES, _CANDIDATES_A_NEIGHBOUR * n_neighbors)
        self._strongest = strongest_entries(X, STRONGEST_TERMS)
        by_term = sparse.csr_array(self._strongest.T)
        self._lists = strongest_entries(by_term, STRONGEST_DOCUMENTS)

    def block(self, start: int) -> sparse.csr_array:
        """Return the cosines of some documents with their neighbours."""
        stop = min(start + _BLOCK, self._X.shape[0])
        candidates = sparse.csr_array(self._strongest[start:stop] @ self._lists)
        rows, columns = _best_of_rows(candidates, self._n_candidates)
        others = columns != rows + start
        rows, columns = rows[others], columns[others]
        cosines = self._X[start + rows].multiply(self._X[columns]).sum(axis=1)
        near = sparse.csr_array((cosines, (rows, columns)), shape=(stop - start, self._X.shape[0]))
        near.eliminate_zeros()
        return strongest_entries(near, self._n_neighbors)


def _best_of_rows(
    X: sparse.csr_array, most: int
) -> tuple[NDArray[np.intp], NDArray[np.integer[Any]]]:
    """Return row and column of the largest entries of each row, in no order within the row."""
    best = []
    bounds = X.indptr.tolist()
    for first, last in pairwise(bounds):
        if last - first <= most:
            best.append(np.arange(first, last))
        else:
            best.append(first + np.argpartition(X.data[first:last], -most)[-most:])
    chosen = np.concatenate(best) if best else np.empty(0, np.intp)
    rows = np.repeat(np.arange(X.shape[0]), [len(entries) for entries in best])
    return rows, X.indices[chosen]


# A term in more than this share of the documents is cheaper in a full matrix.
COMMON_SHARE = 1 / 8
BLOCK_ENTRIES = 2**20
# Entries of lists that are added together, about.
LISTED = 2**18


def map_cosines(X: Matrix, select: Callable[[Floats, int], T]) -> list[T]:
    """Call `select(cosines, start)` for consecutive blocks of rows; return the results in order.

    `cosines` has a row for each of the documents `start`, `start + 1`, … and a column for every
    document; the cosine of a document with itself is set to 0. Memory is a few blocks.
    """
    pairs = _Pairs(sparse.csr_array(X))
    n = X.shape[0]
    rows = int(np.clip(BLOCK_ENTRIES // max(n, 1), 4, 256))

    def block(start: int) -> T:
        return select(pairs.block(start, min(start + rows, n)), start)

    with one_blas_thread():
        return map_threads(block, range(0, n, rows))


class _Pairs:
    """X in two parts: common terms as a dense matrix, the documents of each other term as lists."""

    def __init__(self, X: sparse.csr_array) -> None:
        n, n_terms = X.shape
        frequency = np.bincount(X.indices, minlength=n_terms)
        common = frequency > COMMON_SHARE * n
        self._full: Any = X[:, np.flatnonzero(common)].toarray()
        self._full_transposed = np.ascontiguousarray(self._full.T)
        self._rare = _without_terms(X, common)
        self._lists = sparse.csr_array(self._rare.T)

    def block(self, start: int, stop: int) -> Floats:
        """Return the cosines of the documents from `start` to `stop` with all documents."""
        cosines: Any = self._full[start:stop] @ self._full_transposed
        self._add(cosines, start, stop)
        here = np.arange(stop - start)
        cosines[here, start + here] = 0
        return np.asarray(cosines)

    def _add(self, cosines: Floats, start: int, stop: int) -> None:
        """Add, for each document, the lists of its terms times their weights.

        Those of some documents are copied, one behind the other, into the cache. A product of two
        sparse matrices would do without, but takes more than twice the time.
        """
        n = cosines.shape[1]
        bounds = self._rare.indptr[start : stop + 1]
        terms = self._rare.indices[bounds[0] : bounds[-1]]
        weights = self._rare.data[bounds[0] : bounds[-1]]
        cuts = bounds - bounds[0]
        listed = np.append(0, np.cumsum(np.diff(self._lists.indptr)[terms]))[cuts]
        starts = np.searchsorted(listed, range(0, listed[-1], LISTED))
        for first, last in pairwise(np.unique([*starts, len(cosines)]).tolist()):
            own = slice(cuts[first], cuts[last])
            lists, count = self._lists[terms[own]], last - first
            rows = n * np.arange(count, dtype=lists.indices.dtype)
            lists.indices += np.repeat(rows, np.diff(listed[first : last + 1]))
            entries = (lists.data, lists.indices, lists.indptr)
            joined = sparse.csc_array(entries, shape=(count * n, len(weights[own])))
            cosines[first:last] += (joined @ weights[own]).reshape(count, n)


def _without_terms(X: sparse.csr_array, dropped: NDArray[np.bool_]) -> sparse.csr_array:
    """Drop the entries of some terms, and sort the terms of each row."""
    keep = ~dropped[X.indices]
    rows = np.repeat(np.arange(X.shape[0], dtype=np.int32), np.diff(X.indptr))[keep]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))])
    indptr = indptr.astype(X.indptr.dtype)
    rest = sparse.csr_array((X.data[keep], X.indices[keep], indptr), shape=X.shape)
    rest.sum_duplicates()
    return rest


# Rows to sort together, so that their entries stay in the cache.
_LIST_BLOCK = 4096


def strongest_entries(X: sparse.csr_array, most: int) -> sparse.csr_array:
    """Return the entries of largest weight in each row; of equal ones, those of earlier columns."""
    if not X.shape[0]:
        return X
    starts = range(0, X.shape[0], _LIST_BLOCK)
    blocks = [_strongest_of_block(X[start : start + _LIST_BLOCK], most) for start in starts]
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))


def first_entries(X: sparse.csr_array, most: int) -> sparse.csr_array:
    """Return the entries of the first columns in each row."""
    X.sort_indices()
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return _entries(X, rows, np.flatnonzero(np.arange(X.nnz) - X.indptr[rows] < most))


def _strongest_of_block(X: sparse.csr_array, most: int) -> sparse.csr_array:
    X.sort_indices()
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    # One key, nearly in order, takes a quarter of the time of two; the rest of a row is below ½.
    order = np.argsort(rows - X.data / (2 * abs(X.data).max(initial=1)), kind="stable")
    ranks = np.arange(X.nnz) - X.indptr[rows]
    return _entries(X, rows, np.sort(order[ranks < most]))


def _entries(
    X: sparse.csr_array, rows: NDArray[np.intp], chosen: NDArray[np.intp]
) -> sparse.csr_array:
    return sparse.csr_array((X.data[chosen], (rows[chosen], X.indices[chosen])), shape=X.shape)


SAMPLE = 200


@dataclass(frozen=True, slots=True)
class Recall:
    """The share of the exact nearest neighbours that are joined, and their share of the cosines."""

    edges: float
    weight: float


def recall(
    X: Matrix, affinity: Affinity, n_neighbors: int, seed: int, sample: int = SAMPLE
) -> Recall:
    """Compare the edges of a sample of the documents (rows of X) with their exact neighbours."""
    if affinity.edges is None:
        raise ValueError("This graph has no edges to compare.")
    rows = sparse.csr_array(unit_rows(X))
    chosen = np.random.default_rng(seed).permutation(X.shape[0])[:sample]
    cosines = sparse.csr_array(rows[chosen] @ rows.T)
    cosines[np.arange(len(chosen)), chosen] = 0
    near = strongest_entries(cosines, n_neighbors)
    near.eliminate_zeros()
    if not near.nnz:
        return Recall(1.0, 1.0)
    joined = near.multiply(affinity.edges[chosen] > 0)
    return Recall(joined.nnz / near.nnz, float(joined.sum() / near.sum()))


LEAST_COSINE = 0.5
# Near-duplicates share strong terms, and the earliest documents of a term may be leaders.
DUPLICATE_STRONGEST_TERMS = 10
LIST_LENGTH = 64
# Below this cosine of the strongest terms alone, a pair is not compared further.
LEAST_CANDIDATE_COSINE = 0.25
PASSES = 3
_DUPLICATE_BLOCK = 4096


def near_duplicate_groups(
    X: sparse.csr_array, min_cosine: float = LEAST_COSINE
) -> NDArray[np.intp]:
    """Return the group of each document (row at unit length), in the order of their leaders.

    In the order of the rows, a document joins the group of a leader with at least this cosine, or
    leads a new group; one without a term stays alone. If a list is too short for the leader of a
    large group, several documents lead it at first; further passes over the leaders join them, and
    a document can then be a little farther from its leader. The time is linear in the documents.
    """
    leaders = np.arange(X.shape[0])
    remaining = leaders
    for _ in range(PASSES):
        joined = _join(X[remaining], min_cosine)
        if np.array_equal(joined, np.arange(len(remaining))):
            break
        new_leader = leaders.copy()
        new_leader[remaining] = remaining[joined]
        leaders = new_leader[leaders]
        remaining = np.unique(remaining[joined])
    return np.asarray(np.unique(leaders, return_inverse=True)[1])


def _join(X: sparse.csr_array, min_cosine: float) -> NDArray[np.intp]:
    """Return the nearest earlier leader of each document, or the document itself."""
    later, earlier, cosines = _near_pairs(X, min_cosine)
    order = np.lexsort((-cosines, later))
    joined = np.arange(X.shape[0])
    leads = np.ones(X.shape[0], np.bool_)
    for document, other in zip(later[order].tolist(), earlier[order].tolist(), strict=True):
        if leads[other] and leads[document]:
            leads[document] = False
            joined[document] = other
    return joined


def _near_pairs(
    X: sparse.csr_array, min_cosine: float
) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]], Floats]:
    """Find near pairs, the later document first, with their cosines."""
    strongest = sparse.csr_array(unit_rows(strongest_entries(X, DUPLICATE_STRONGEST_TERMS)))
    lists = first_entries(sparse.csr_array(strongest.T), LIST_LENGTH)
    empty = np.empty(0, np.intp)
    pairs = [(empty, empty, np.empty(0, X.dtype))]
    for start in range(0, X.shape[0], _DUPLICATE_BLOCK):
        candidates = sparse.coo_array(strongest[start : start + _DUPLICATE_BLOCK] @ lists)
        later, earlier = candidates.row + start, candidates.col
        chosen = (candidates.data >= LEAST_CANDIDATE_COSINE) & (earlier < later)
        later, earlier = later[chosen].astype(np.intp), earlier[chosen].astype(np.intp)
        cosines = X[later].multiply(X[earlier]).sum(axis=1)
        near = cosines >= min_cosine
        pairs.append((later[near], earlier[near], cosines[near]))
    later, earlier = (np.concatenate([part[side] for part in pairs]) for side in (0, 1))
    return later, earlier, np.concatenate([part[2] for part in pairs])
