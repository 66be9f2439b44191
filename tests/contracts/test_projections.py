"""Every projection of the registry keeps the same contract."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles

from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.base import FewerDimensions
from tests.contracts.test_methods import GRAPH_PROJECTIONS, corpus, fitted
from tests.methods import PROJECTIONS

every_projection = pytest.mark.parametrize("name", sorted(PROJECTIONS))


@every_projection
def test_projects_by_its_components_alone(name: str) -> None:
    X = corpus()
    projection = fitted(name, X)
    assert projection.components_.shape == (5, X.shape[1])
    np.testing.assert_allclose(projection.transform(X), X @ projection.components_.T, atol=1e-12)
    np.testing.assert_array_equal(projection.transform(2 * X), 2 * projection.transform(X))


@every_projection
def test_largest_loading_is_positive(name: str) -> None:
    components = fitted(name, corpus()).components_
    largest = np.abs(components).argmax(axis=1)
    assert (components[np.arange(len(components)), largest] > 0).all()


@every_projection
def test_dense_and_both_sparse_kinds_agree(name: str) -> None:
    X = corpus()
    dense = fitted(name, X)
    for kind in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
        projection = fitted(name, kind(X))
        np.testing.assert_allclose(projection.components_, dense.components_, atol=1e-8)
        np.testing.assert_allclose(projection.transform(kind(X)), dense.transform(X), atol=1e-8)


@every_projection
def test_float32_is_close_to_float64(name: str) -> None:
    X = corpus()
    double, single = fitted(name, X), fitted(name, X.astype(np.float32))
    assert double.components_.dtype == np.float64
    assert single.components_.dtype == single.eigenvalues_.dtype == np.float32
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    angles = subspace_angles(double.components_.T, single.components_.T.astype(np.float64))
    assert angles.max() < 1e-2
    np.testing.assert_allclose(single.eigenvalues_, double.eigenvalues_, rtol=1e-3)


@every_projection
def test_two_fits_are_equal_bit_for_bit(name: str) -> None:
    X = sparse.csr_array(corpus(700, 300), dtype=np.float32)
    first, second = fitted(name, X), fitted(name, X)
    np.testing.assert_array_equal(first.components_, second.components_)
    np.testing.assert_array_equal(first.eigenvalues_, second.eigenvalues_)


@every_projection
def test_order_of_documents_does_not_matter(name: str) -> None:
    X = corpus()
    order = np.random.default_rng(1).permutation(len(X))
    straight, shuffled = fitted(name, X), fitted(name, X[order])
    np.testing.assert_allclose(shuffled.transform(X), straight.transform(X), atol=1e-6)


@every_projection
def test_more_dimensions_than_rank_warn(name: str) -> None:
    X = np.eye(6)[[0, 0, 1, 1, 2, 2, 0, 1]] + 0.1
    with pytest.warns(FewerDimensions, match="50 dimensions were requested"):
        projection = fitted(name, X, 50)
    assert 1 <= projection.n_components_ <= 3
    assert projection.components_.shape == (projection.n_components_, 6)
    assert np.isfinite(projection.components_).all()


@every_projection
def test_disconnected_documents_are_told_apart(name: str) -> None:
    X = sparse.csr_array(sparse.block_diag([corpus(20, 15, seed) for seed in range(3)]))
    points = fitted(name, X).embed(X)
    own = np.repeat(np.arange(3), 20)
    cosines = points @ points.T
    assert cosines[own[:, np.newaxis] != own].max() < cosines[own[:, np.newaxis] == own].mean()


@every_projection
def test_duplicates_share_a_place(name: str) -> None:
    X = np.vstack([corpus(20), np.repeat(corpus(3), 20, axis=0)])
    points = fitted(name, X).transform(X)
    assert np.isfinite(points).all()
    np.testing.assert_allclose(points[20:40], np.tile(points[20], (20, 1)), atol=1e-12)


@every_projection
def test_empty_documents_are_projected_to_zero(name: str) -> None:
    X = np.vstack([corpus(), np.zeros((2, 80))])
    projection = fitted(name, X)
    assert not projection.transform(X)[-2:].any()
    assert not projection.embed(X)[-2:].any()
    alone = fitted(name, X[:-2])
    np.testing.assert_allclose(projection.embed(X)[:-2], alone.embed(X[:-2]), atol=1e-6)


@every_projection
def test_embedding_has_unit_rows(name: str) -> None:
    X = corpus()
    projection = fitted(name, X)
    scaled = projection.transform(X) * projection.scales_
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    assert np.count_nonzero(lengths) > len(X) / 2
    lengths[lengths == 0] = 1
    np.testing.assert_allclose(projection.embed(X), scaled / lengths, atol=1e-12)


@pytest.mark.parametrize("name", GRAPH_PROJECTIONS)
class TestGraphProjections:
    """What holds where a graph is used."""

    def test_a_ready_graph_serves(self, name: str) -> None:
        X = corpus()
        given = PROJECTIONS[name](n_components=5).fit(X, affinity=nearest(X))
        as_matrix = PROJECTIONS[name](n_components=5).fit(X, affinity=nearest(X).toarray())
        np.testing.assert_allclose(given.components_, fitted(name, X).components_, atol=1e-10)
        np.testing.assert_allclose(as_matrix.components_, given.components_, atol=1e-8)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"graph": "friends"}, "graph must be one of auto, nearest"),
            ({"n_neighbors": 0}, "n_neighbors must be at least 1"),
            ({"edge_weights": "heavy"}, "edge_weights must be one of cosine"),
            ({"heat_scale": 0}, "heat_scale must be above 0"),
            ({"radius": 2}, "radius must be above 0"),
            ({"eigenvalue_power": -1}, "eigenvalue_power must be a number of at least 0"),
        ],
    )
    def test_bad_options_are_refused(
        self, name: str, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            fitted(name, corpus(), **options)

    def test_wrong_graph_is_refused(self, name: str) -> None:
        X = corpus()
        projection = PROJECTIONS[name](n_components=2)
        with pytest.raises(ValueError, match="3 x 3, but there are 60 documents"):
            projection.fit(X, affinity=np.ones((3, 3)))
        with pytest.raises(ValueError, match="not symmetric"):
            projection.fit(X, affinity=np.triu(np.ones((60, 60))))
        with pytest.raises(ValueError, match="negative"):
            projection.fit(X, affinity=-np.ones((60, 60)))
