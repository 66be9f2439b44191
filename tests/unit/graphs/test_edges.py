"""Edges as the field has them, each against its formula on all pairs."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq
from sklearn.neighbors import KNeighborsTransformer

from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.lpi import LPI

P = 4
X = np.random.default_rng(0).random((40, 6)) * np.random.default_rng(1).random((40, 1))
DISTANCES = np.linalg.norm(X[:, np.newaxis] - X, axis=2)
UNIT = X / np.linalg.norm(X, axis=1, keepdims=True)


def directed(distances: Any) -> Any:
    """Mark the P nearest of each row, without itself."""
    order = np.argsort(distances + np.diag(np.full(len(distances), np.inf)), axis=1)[:, :P]
    marks = np.zeros(distances.shape, bool)
    np.put_along_axis(marks, order, values=True, axis=1)
    return marks


def built(rows: Any = X, **options: Any) -> Any:
    return nearest(sparse.csr_array(rows), None, GraphOptions(P, **options)).toarray()


NEAR = directed(DISTANCES)


@pytest.mark.parametrize("mutual", [False, True])
def test_neighbours_by_euclid_and_the_heat_of_their_distances(mutual: Any) -> None:
    joined = NEAR & NEAR.T if mutual else NEAR | NEAR.T
    expected = np.where(joined, np.exp(-(DISTANCES**2) / 0.3), 0)
    found = built(metric="euclidean", edge_weights="heat", heat_scale=0.3, mutual=mutual)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_neighbours_by_euclid_have_their_cosines() -> None:
    expected = np.where(NEAR | NEAR.T, UNIT @ UNIT.T, 0)
    np.testing.assert_allclose(built(metric="euclidean"), expected, atol=1e-9)


def test_at_unit_length_both_metrics_have_the_same_neighbours() -> None:
    np.testing.assert_allclose(built(UNIT, metric="euclidean"), built(UNIT), atol=1e-9)


def test_mutual_neighbours_by_cosine() -> None:
    near = directed(1 - UNIT @ UNIT.T)
    expected = np.where(near & near.T, UNIT @ UNIT.T, 0)
    np.testing.assert_allclose(built(mutual=True), expected, atol=1e-9)


def test_self_tuning_weights() -> None:
    scale = np.sort(DISTANCES, axis=1)[:, P]
    expected = np.where(NEAR | NEAR.T, np.exp(-(DISTANCES**2) / np.outer(scale, scale)), 0)
    found = built(metric="euclidean", edge_weights="self-tuning")
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("mutual", [False, True])
def test_fuzzy_weights_are_those_of_umap(mutual: Any) -> None:
    ones = np.zeros(NEAR.shape)
    for row, (near, distances) in enumerate(zip(NEAR, DISTANCES, strict=True)):
        over = distances[near] - distances[near].min()

        def missing(scale: float, over: Any = over) -> float:
            return float(np.exp(-over / scale).sum() - np.log2(P + 1))

        ones[row, near] = np.exp(-over / brentq(missing, 1e-6, 1e3))
    both = ones * ones.T
    found = built(metric="euclidean", edge_weights="fuzzy", mutual=mutual)
    np.testing.assert_allclose(found, both if mutual else ones + ones.T - both, atol=1e-6)


def test_documents_in_one_place_are_joined() -> None:
    rows = np.repeat(X[:4], 3, axis=0)
    for weights in ("heat", "self-tuning", "fuzzy"):
        found = nearest(rows, None, GraphOptions(2, metric="euclidean", edge_weights=weights))
        assert np.array_equal(found.toarray() > 0, np.kron(np.eye(4), 1 - np.eye(3)) > 0)


@pytest.mark.parametrize(("rows", "metric"), [(X, "euclidean"), (UNIT, "cosine")])
@pytest.mark.parametrize("weights", ["cosine", "heat", "fuzzy"])
def test_a_search_of_the_user_finds_the_neighbours(rows: Any, metric: str, weights: str) -> None:
    search = KNeighborsTransformer(mode="distance", n_neighbors=P, metric=metric)
    found = built(rows, metric=metric, edge_weights=weights, search=search)
    np.testing.assert_allclose(found, built(rows, metric=metric, edge_weights=weights), atol=1e-7)


def test_a_method_takes_a_search_as_its_graph() -> None:
    search = KNeighborsTransformer(mode="distance", n_neighbors=P, metric="cosine")
    found = LPI(3, graph=search, metric="cosine").fit(UNIT)
    own = LPI(3, n_neighbors=P).fit(UNIT)
    np.testing.assert_allclose(found.eigenvalues_, own.eigenvalues_)


def test_a_search_that_cannot_be_is_refused() -> None:
    class Wrong(KNeighborsTransformer):  # type: ignore[misc]  # scikit-learn has no types
        def fit_transform(self, X: Any, y: Any = None) -> Any:
            return -super().fit_transform(X, y)

    with pytest.raises(ValueError, match="negative or not a number"):
        built(search=Wrong(mode="distance", n_neighbors=P))
    with pytest.raises(ValueError, match=r"metric must be one of .*, not 'manhattan'"):
        built(metric="manhattan")
