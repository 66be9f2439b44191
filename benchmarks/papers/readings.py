"""What the papers leave open of k-means and of LSI, each reading measured on the same draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.papers.datasets import load
from benchmarks.papers.methods import learn
from lpisearch.evaluation.cells import TERMS, TermWeights
from lpisearch.evaluation.clustering import clustering_accuracy, mutual_information
from lpisearch.methods.catalogue import CATALOGUE
from lpisearch.methods.linalg import truncated_svd
from lpisearch.text.vocabulary import normalise_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from benchmarks.papers.protocol import Part
    from lpisearch.evaluation.collection import Collection

    Floats = NDArray[np.float64]

UNIT = "tf"
PARTITION, COSINE, SINGLE = "partition", "cosine", "single moves"
STARTS = 10
DIMS = {"c": 0, "c − 1": 1}
INITS = {"k-means++": "k-means++", "random documents": "random"}
ROWS = ("as they are", "unit length")
_STEPS = 300
_ROUNDS = 30
_LEAST_SAVED = 1e-6


@dataclass(frozen=True, slots=True)
class Found:
    """What one start of k-means came to; a smaller objective is better."""

    objective: float
    clusters: NDArray[np.intp]


def measure_starts(part: Part) -> dict[str, Any]:
    """Run k-means from each of several starts, and tell how good each end is.

    The options are a weighting, how centres are drawn, the distance, and the number of starts.
    """
    scheme, init, distance, starts = part.options
    collection = _drawn(part)
    X = _weighted(collection, scheme)
    labels = collection.single_labels
    run = {COSINE: _by_cosine, SINGLE: _by_single_moves}.get(distance, _by_distance)
    found = [run(X, len(set(labels)), init, seed) for seed in range(starts)]
    agreed = [agreement(labels, each.clusters) for each in found]
    return {
        "objective": [each.objective for each in found],
        "AC": [each["AC"] for each in agreed],
        "NMI": [each["NMI"] for each in agreed],
        "documents": X.shape[0],
        "terms": int(np.count_nonzero(np.bincount(X.indices) > 1)),
    }


def measure_lsi(part: Part) -> dict[str, Any]:
    """Cluster documents in the leading singular directions by each reading of “LSI”.

    The options are the numbers of dimensions of which the best is taken.
    """
    collection = _drawn(part)
    labels = collection.single_labels
    n_classes = len(set(labels))
    X = _weighted(collection, UNIT)
    rng = np.random.default_rng(0)
    most = max(*part.options, 2 * n_classes)
    plain = truncated_svd(X, most, rng=rng)
    mean = np.asarray(X.mean(axis=0)).ravel()
    centred = truncated_svd(X, n_classes, rng=rng, mean=mean)
    weighed = truncated_svd(_weighted(collection, "tfidf"), n_classes, rng=rng)
    U, scaled = plain.documents, plain.documents * plain.values
    places = {
        "c dimensions": scaled[:, :n_classes],
        "c dimensions, rows at unit length": unit(scaled[:, :n_classes]),
        "c dimensions, all of one scale": U[:, :n_classes],
        "c − 1 dimensions": scaled[:, : n_classes - 1],
        "c dimensions without the first": scaled[:, 1 : n_classes + 1],
        "2 c dimensions": scaled[:, : 2 * n_classes],
        "c dimensions about the mean (PCA)": centred.documents * centred.values,
        "c dimensions of tf-idf": weighed.documents * weighed.values,
    }
    found = {name: agreement(labels, _best(Z, n_classes)) for name, Z in places.items()}
    tried = [agreement(labels, _best(scaled[:, :dims], n_classes)) for dims in part.options]
    turned = [agreement(labels, _best(unit(scaled[:, :dims]), n_classes)) for dims in part.options]
    said = f"the best of {min(part.options)} … {max(part.options)} dimensions, by the labels"
    found[said] = max(tried, key=_accuracy)
    found[f"{said}, rows at unit length"] = max(turned, key=_accuracy)
    return {"readings": found}


def measure_grid(part: Part) -> dict[str, Any]:
    """Cluster the documents of a draw by every reading."""
    collection = _drawn(part)
    labels, X = collection.single_labels, _weighted(collection, UNIT)
    n_classes = len(set(labels))
    found = {}
    for dims, fewer in DIMS.items():
        if part.method.name != TERMS:
            if not fewer or not CATALOGUE[part.method.name].is_nested:
                arguments = (*part.method.arguments, ("n_components", n_classes - fewer))
                own = replace(part.method, arguments=tuple(sorted(arguments)))
                learned = np.asarray(learn(own, X, n_classes).vectors(X))
            places: Any = learned[:, : n_classes - fewer]
        elif fewer:
            continue
        else:
            places = X
        for (init, by), rows in product(INITS.items(), ROWS):
            if rows == ROWS[1] and part.method.name == TERMS:
                continue  # terms are at unit length
            Z = places if rows == ROWS[0] else unit(places)
            clusters = KMeans(n_classes, n_init=STARTS, init=by, random_state=0).fit(Z).labels_
            found[f"{dims}; {init}; {rows}"] = agreement(labels, clusters)
    return {"readings": found}


def agreement(labels: list[str], clusters: Any) -> dict[str, float]:
    """Give AC and NMI in per cent."""
    found = clusters.tolist()
    return {
        "AC": 100 * clustering_accuracy(labels, found),
        "NMI": 100 * mutual_information(labels, found),
    }


def unit(Z: Any) -> Any:
    """Bring rows to unit length; a row of zeros stays one."""
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(lengths > 0, lengths, 1)


def _accuracy(found: dict[str, float]) -> float:
    return found["AC"]


def _drawn(part: Part) -> Collection:
    collection = load(part.data)
    rows = np.flatnonzero(np.isin(np.array(collection.single_labels), part.subset))
    return collection.of(rows)


def _weighted(collection: Collection, scheme: str) -> csr_array:
    return TermWeights.learn(collection, scheme).apply(collection.counts)


def _best(Z: Any, n_clusters: int) -> NDArray[np.intp]:
    model = KMeans(n_clusters, n_init=STARTS, random_state=0)
    return np.asarray(model.fit(np.ascontiguousarray(Z)).labels_)


def _by_distance(X: csr_array, n_clusters: int, init: str, seed: int) -> Found:
    """Lloyd's steps by Euclidean distance; a cluster that is empty gets the farthest document."""
    centres: Any = init
    if init == PARTITION:
        groups = np.random.default_rng(seed).permutation(np.arange(X.shape[0]) % n_clusters)
        centres = _sums(X, groups, n_clusters) / np.bincount(groups)[:, np.newaxis]
    model = KMeans(n_clusters, n_init=1, init=centres, random_state=seed, max_iter=_STEPS).fit(X)
    return Found(float(model.inertia_), np.asarray(model.labels_))


def _by_single_moves(X: csr_array, n_clusters: int, init: str, seed: int) -> Found:
    """Lloyd's steps, then moves of single documents until none helps, as `kmeans` of Matlab did.

    To leave a cluster of n documents saves n / (n − 1) of the squared distance, to enter one costs
    n / (n + 1) of it.
    """
    clusters = _by_distance(X, n_clusters, init, seed).clusters.copy()
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    for _ in range(_ROUNDS):
        sums = _sums(X, clusters, n_clusters).astype(np.float64)
        sizes = np.bincount(clusters, minlength=n_clusters).astype(float)
        wanted = _saved(np.asarray(X @ sums.T), squares, clusters, sums, sizes).max(axis=1)
        movable = np.flatnonzero(wanted > _LEAST_SAVED)
        moved = 0
        for row in movable[np.argsort(-wanted[movable])]:
            terms = slice(X.indptr[row], X.indptr[row + 1])
            at, weights = X.indices[terms], X.data[terms]
            products = (sums[:, at] @ weights)[np.newaxis]
            saved = _saved(products, squares[[row]], clusters[[row]], sums, sizes)[0]
            target, own = int(saved.argmax()), int(clusters[row])
            if saved[target] > _LEAST_SAVED:
                sums[own, at] -= weights
                sums[target, at] += weights
                sizes[own], sizes[target] = sizes[own] - 1, sizes[target] + 1
                clusters[row] = target
                moved += 1
        if not moved:
            break
    lengths = np.square(sums).sum(axis=1) / np.maximum(sizes, 1)
    return Found(float(squares.sum() - lengths.sum()), clusters)


def _saved(
    products: Floats, squares: Floats, clusters: NDArray[np.intp], sums: Floats, sizes: Floats
) -> Floats:
    """Give what the objective loses when documents move to each cluster; 0 for their own."""
    n = np.maximum(sizes, 1)
    lengths = np.square(sums).sum(axis=1)
    distances = squares[:, np.newaxis] - 2 * products / n + lengths / n**2
    rows = np.arange(len(clusters))
    own = sizes[clusters]
    left = np.where(own > 1, distances[rows, clusters] * own / np.maximum(own - 1, 1), 0.0)
    saved: Floats = left[:, np.newaxis] - distances * sizes / (sizes + 1)
    saved[rows, clusters] = 0
    return saved


def _by_cosine(X: csr_array, n_clusters: int, init: str, seed: int) -> Found:
    """Spherical k-means: centres at unit length, from random documents; an empty one stays put."""
    del init  # random documents alone
    X = normalise_rows(X)
    rng = np.random.default_rng(seed)
    centres = X[rng.choice(X.shape[0], n_clusters, replace=False)].toarray()
    clusters = np.full(X.shape[0], -1)
    for _ in range(_STEPS):
        cosines = np.asarray(X @ centres.T)
        before, clusters = clusters, cosines.argmax(axis=1)
        if np.array_equal(before, clusters):
            break
        sums = unit(_sums(X, clusters, n_clusters))
        empty = np.bincount(clusters, minlength=n_clusters) == 0
        centres = np.where(empty[:, np.newaxis], centres, sums)
    return Found(float(-cosines.max(axis=1).sum()), clusters)


def _sums(X: csr_array, groups: NDArray[np.intp], n_groups: int) -> Any:
    from scipy.sparse import csr_array

    ones = (np.ones(len(groups), X.dtype), (groups, np.arange(len(groups))))
    return np.asarray((csr_array(ones, shape=(n_groups, len(groups))) @ X).toarray())
