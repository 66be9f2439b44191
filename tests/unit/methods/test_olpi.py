from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh, qr, svd

from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import nearest
from lpisearch.methods import olpi as olpi_module
from lpisearch.methods.base import FewerDimensions
from lpisearch.methods.olpi import OLPI
from lpisearch.numeric.rows import unit_rows

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Floats


def topics(n_documents: int, n_terms: int, n_topics: int = 3, seed: int = 0) -> Floats:
    """Draw unit rows of word counts from topics that share half of their words."""
    random = np.random.default_rng(seed)
    words = random.dirichlet(np.full(n_terms, 0.1), n_topics) + 0.5 / n_terms
    topic = np.arange(n_documents) % n_topics
    counts = random.poisson(40 * words[topic]).astype(np.float64)
    return np.asarray(unit_rows(counts))


def locality(X: Floats, W: Floats, directions: Floats) -> Floats:
    """f(a) of the paper, equation 6, for each row of directions, about the mean, term by term."""
    D = np.diag(W.sum(axis=1))
    Y = (X - X.mean(axis=0)) @ directions.T
    return np.asarray(np.diag(Y.T @ (D - W) @ Y) / np.diag(Y.T @ D @ Y))


WIDE = topics(40, 120)
TALL = topics(80, 25)


@pytest.mark.parametrize(("X", "rank"), [(WIDE, 39), (TALL, 25)], ids=["wide", "tall"])
def test_all_components_are_orthonormal(X: Floats, rank: int) -> None:
    components = OLPI(n_components=rank).fit(X).components_
    np.testing.assert_allclose(components @ components.T, np.eye(rank), atol=1e-12)


@pytest.mark.parametrize("X", [WIDE, TALL], ids=["wide", "tall"])
def test_eigenvalues_are_one_minus_the_papers_function(X: Floats) -> None:
    olpi = OLPI(n_components=12, n_neighbors=4).fit(X)
    W = nearest(X, options=GraphOptions(n_neighbors=4)).toarray()
    np.testing.assert_allclose(olpi.locality_, locality(X, W, olpi.components_), atol=1e-10)
    np.testing.assert_allclose(olpi.eigenvalues_, 1 - olpi.locality_, atol=1e-15)


@pytest.mark.parametrize("X", [WIDE, TALL], ids=["wide", "tall"])
def test_each_component_is_the_minimum_on_the_complement(X: Floats) -> None:
    olpi = OLPI(n_components=15, n_neighbors=4).fit(X)
    W = nearest(X, options=GraphOptions(n_neighbors=4)).toarray()
    D = np.diag(W.sum(axis=1))
    about = X - X.mean(axis=0)
    V = svd(about, full_matrices=False)[2][:39].T
    for k, f in enumerate(olpi.locality_):
        taken = V.T @ olpi.components_[:k].T
        Z = about @ V @ (qr(taken)[0][:, k:] if k else np.eye(V.shape[1]))
        lowest = eigh(Z.T @ (D - W) @ Z, Z.T @ D @ Z, eigvals_only=True)[0]
        assert f == pytest.approx(lowest, abs=1e-9)


def test_with_all_dimensions_distances_are_those_of_the_documents() -> None:
    Y = OLPI(n_components=39).fit_transform(WIDE)
    Y, about = Y - Y.mean(axis=0), WIDE - WIDE.mean(axis=0)
    np.testing.assert_allclose(Y @ Y.T, about @ about.T, atol=1e-12)


def test_with_all_dimensions_the_map_is_a_rotation() -> None:
    olpi = OLPI(n_components=40, centred=False, eigenvalue_power=0).fit(WIDE)
    Y = olpi.transform(WIDE)
    np.testing.assert_allclose(Y @ Y.T, WIDE @ WIDE.T, atol=1e-12)
    E = olpi.embed(WIDE)
    np.testing.assert_allclose(E @ E.T, WIDE @ WIDE.T, atol=1e-12)


def test_independent_documents_that_are_not_centred_have_a_constant_first_direction() -> None:
    olpi = OLPI(n_components=5, centred=False).fit(WIDE)
    first = olpi.transform(WIDE)[:, 0]
    np.testing.assert_allclose(first, first.mean(), rtol=1e-7)
    assert olpi.locality_[0] == pytest.approx(0, abs=1e-12)
    assert olpi.locality_[1] > 1e-4


def test_centred_documents_have_no_constant_direction() -> None:
    olpi = OLPI(n_components=5).fit(WIDE)
    assert olpi.locality_[0] > 1e-4
    assert olpi.transform(WIDE).std(axis=0).min() > 1e-3


def test_dependent_documents_have_no_constant_direction() -> None:
    assert OLPI(n_components=2, centred=False).fit(TALL).locality_[0] > 1e-4


@pytest.mark.parametrize(("centred", "zeros"), [(True, 1), (False, 2)])
def test_a_graph_in_two_parts_gives_directions_of_locality_zero(
    centred: bool,  # noqa: FBT001 -- a case
    zeros: int,
) -> None:
    half = topics(12, 40, n_topics=1)
    X = np.block([[half, np.zeros((12, 40))], [np.zeros((12, 40)), half[::-1]]])
    olpi = OLPI(n_components=6, centred=centred, n_neighbors=3).fit(X)
    assert olpi.n_graph_components_ == 2
    assert np.count_nonzero(olpi.locality_ < 1e-10) == zeros
    Y = olpi.transform(X)[:, :zeros]
    np.testing.assert_allclose(Y[:12], np.tile(Y[0], (12, 1)), atol=1e-6)
    np.testing.assert_allclose(Y[12:], np.tile(Y[12], (12, 1)), atol=1e-6)
    assert np.linalg.norm(Y[0] - Y[12]) > 0.01


def test_isolated_documents_come_last_and_disturb_no_other_direction() -> None:
    X = np.zeros((42, 122))
    X[:40, :120], X[40, 120], X[41, 121] = WIDE, 1, 1
    olpi = OLPI(n_components=41).fit(X)
    alone = OLPI(n_components=39).fit(WIDE)
    assert olpi.n_isolated_ == 2
    np.testing.assert_allclose(olpi.eigenvalues_[:39], alone.eigenvalues_, atol=1e-10)
    np.testing.assert_array_equal(olpi.eigenvalues_[39:], 0)
    np.testing.assert_allclose(olpi.components_[:39, 120:], 0, atol=1e-12)
    np.testing.assert_array_equal(olpi.scales_[39:], 0)


@pytest.mark.parametrize("labels", [None, list("abcd")])
def test_documents_without_any_neighbour_are_refused(labels: Any) -> None:
    """Where no edge says anything, there is no dimension, and the reason is said, as by LPI."""
    with pytest.raises(ValueError, match="The documents cannot be distinguished"):
        OLPI(2).fit(np.eye(4), labels)


def test_sparse_and_dense_documents_give_the_same_map() -> None:
    dense = OLPI(n_components=8).fit(WIDE)
    other = OLPI(n_components=8).fit(sparse.csr_array(WIDE))
    np.testing.assert_allclose(other.components_, dense.components_, atol=1e-8)


def test_single_precision_agrees_with_double() -> None:
    double = OLPI(n_components=8).fit(WIDE)
    single = OLPI(n_components=8).fit(WIDE.astype(np.float32))
    assert single.components_.dtype == np.float32
    np.testing.assert_allclose(single.eigenvalues_, double.eigenvalues_, atol=1e-5)
    gram = single.components_ @ single.components_.T
    np.testing.assert_allclose(gram, np.eye(8), atol=1e-6)


def test_the_order_of_documents_does_not_matter() -> None:
    order = np.random.default_rng(5).permutation(40)
    one = OLPI(n_components=8).fit(WIDE)
    two = OLPI(n_components=8).fit(WIDE[order])
    np.testing.assert_allclose(two.components_, one.components_, atol=1e-6)


def test_the_largest_loading_is_positive() -> None:
    components = OLPI(n_components=10).fit(WIDE).components_
    largest = np.abs(components).argmax(axis=1)
    assert np.all(components[np.arange(10), largest] > 0)


def test_duplicates_add_no_dimension() -> None:
    X = np.repeat(topics(15, 60), 2, axis=0)
    with pytest.warns(FewerDimensions, match="have only 14"):
        olpi = OLPI(n_components=30, n_neighbors=4).fit(X)
    Y = olpi.transform(X)
    np.testing.assert_allclose(Y[::2], Y[1::2], atol=1e-12)
    gram = olpi.components_ @ olpi.components_.T
    np.testing.assert_allclose(gram, np.eye(14), atol=1e-10)


def test_near_duplicates_keep_the_directions_orthonormal() -> None:
    random = np.random.default_rng(6)
    X = np.repeat(topics(15, 60), 2, axis=0) + 1e-4 * random.random((30, 60))
    olpi = OLPI(n_components=29, n_neighbors=4).fit(X)
    gram = olpi.components_ @ olpi.components_.T
    np.testing.assert_allclose(gram, np.eye(29), atol=1e-8)
    W = nearest(X, options=GraphOptions(n_neighbors=4)).toarray()
    np.testing.assert_allclose(olpi.locality_, locality(X, W, olpi.components_), atol=1e-6)


def test_equal_documents_leave_one_dimension_at_most() -> None:
    X = np.tile(topics(1, 20), (6, 1))
    olpi = OLPI(n_components=1, centred=False).fit(X)
    np.testing.assert_allclose(np.abs(olpi.components_), X[:1], atol=1e-12)
    with pytest.raises(ValueError, match="The documents cannot be distinguished"):
        OLPI(n_components=1).fit(X)


def test_labels_bring_each_class_to_one_point() -> None:
    labels = [f"topic {i % 3}" for i in range(40)]
    olpi = OLPI(n_components=3).fit(WIDE, labels)
    assert olpi.n_graph_components_ == 3
    Y = olpi.transform(WIDE)[:, :2]
    for first in range(3):
        same = Y[first::3]
        np.testing.assert_allclose(same, np.tile(same[0], (len(same), 1)), atol=1e-7)
    assert np.linalg.norm(Y[0] - Y[1]) > 0.01


def test_a_class_of_one_document_counts_as_isolated() -> None:
    labels = [["alone"], *([f"topic {i % 3}"] for i in range(1, 40))]
    olpi = OLPI(n_components=39).fit(WIDE, labels)
    assert olpi.n_isolated_ == 1
    assert np.count_nonzero(olpi.locality_ < 1e-9) == 2
    assert olpi.eigenvalues_[-1] == 0


def test_the_time_of_each_stage_is_kept() -> None:
    seconds = OLPI(n_components=2).fit(WIDE).seconds_
    assert list(seconds) == ["graph", "space", "directions"]
    assert min(seconds.values()) > 0


def test_a_ready_graph_is_used_as_it_is() -> None:
    own = OLPI(n_components=5, n_neighbors=4).fit(WIDE)
    four = nearest(WIDE, options=GraphOptions(n_neighbors=4))
    given = OLPI(n_components=5, n_neighbors=9).fit(WIDE, affinity=four)
    other = OLPI(n_components=5, n_neighbors=9).fit(WIDE)
    np.testing.assert_array_equal(given.components_, own.components_)
    assert np.abs(other.components_ - own.components_).max() > 1e-3


def test_the_svd_space_can_be_limited() -> None:
    components = OLPI(n_components=5, svd_components=9).fit(WIDE).components_
    leading = svd(WIDE - WIDE.mean(axis=0), full_matrices=False)[2][:9]
    np.testing.assert_allclose(components @ leading.T @ leading, components, atol=1e-10)


# With hardly more terms than documents XXᵀ is nearly singular, and the criterion further away.
@pytest.mark.parametrize(("n_terms", "share", "more"), [(900, 1.1, 1e-6), (320, 1, 2e-3)])
def test_many_documents_are_solved_by_iteration(
    n_terms: int, share: float, more: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.vstack([topics(320, n_terms), topics(320, n_terms)[:5]])  # five are there twice
    exact = OLPI(n_components=12, svd_components=None).fit(X)
    monkeypatch.setattr(olpi_module, "FULL_SPACE", 100)
    monkeypatch.setattr(olpi_module, "SMALL", 100)
    found = OLPI(n_components=12).fit(X)
    assert (exact.solver_, found.solver_) == ("exact", "iterative")
    assert np.all(found.locality_ < share * exact.locality_ + more)
    assert np.all(found.eigenvalues_ <= found.bounds_ + 1e-6)
    np.testing.assert_allclose(found.components_ @ found.components_.T, np.eye(12), atol=1e-6)
    again = OLPI(n_components=12).fit(X)
    np.testing.assert_array_equal(again.components_, found.components_)


def test_exact_places_and_the_space_of_the_decomposition_agree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.vstack([topics(40, 120), topics(40, 120)[:3]])
    in_space = OLPI(n_components=8, n_neighbors=4).fit(X)
    monkeypatch.setattr(olpi_module, "SMALL", 10)
    by_places = OLPI(n_components=8, n_neighbors=4).fit(X)
    np.testing.assert_allclose(by_places.locality_, in_space.locality_, atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be"),
        ({"svd_components": "some"}, "svd_components must be"),
        ({"svd_components": 0}, "svd_components must be"),
        ({"eigenvalue_power": -1}, "eigenvalue_power must be"),
        ({"graph": "nearst"}, "graph must be"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OLPI(**parameters).fit(WIDE)  # type: ignore[arg-type]  # that is the point
