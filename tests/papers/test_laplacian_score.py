"""The Laplacian score and LS+LPI of lpfl-2012, sections 2.2 and 5, against their definitions."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.graphs.base import GRAPHS, GraphOptions
from lpisearch.methods.laplacian_score import LaplacianScore
from lpisearch.methods.locality import best_terms, laplacian_scores
from lpisearch.methods.lpi import LPI
from lpisearch.methods.ls_lpi import LSLPI


def documents(n: int = 40, n_terms: int = 30, seed: int = 0) -> Any:
    """Make documents of two topics with five terms of their own each; the rest is noise."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, (n, n_terms)).astype(float)
    X[: n // 2, :5] += 1 + rng.poisson(1, (n // 2, 5))
    X[n // 2 :, 5:10] += 1 + rng.poisson(1, (n // 2, 5))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("graph", ["nearest", "ball", "complete", "label", "blend"])
def test_scores_by_definition(graph: str, centred: bool) -> None:  # noqa: FBT001 -- a case
    X = documents()
    labels = [0 if i < 20 else 1 for i in range(40)]
    if graph == "blend":
        labels[::3] = [-1] * len(labels[::3])
    affinity = GRAPHS[graph].build(X, labels, GraphOptions(n_neighbors=4))
    W = affinity.toarray()
    D = np.diag(W.sum(axis=1))
    for j, f in enumerate(X.T):
        g = f - (f @ D @ np.ones(40)) / D.sum() if centred else f
        expected = (g @ (D - W) @ g) / (g @ D @ g)
        for kind in (np.asarray, sparse.csr_array):
            score = laplacian_scores(kind(X), affinity, centred=centred)[j]
            assert score == pytest.approx(expected, abs=1e-10)


def test_scores_of_a_factor_kept_sparse() -> None:
    X = documents()
    full = laplacian_scores(X, GRAPHS["complete"].build(X, None, GraphOptions()))
    X_sparse = sparse.csr_array(X)
    kept = laplacian_scores(X_sparse, GRAPHS["complete"].build(X_sparse, None, GraphOptions()))
    np.testing.assert_allclose(kept, full, atol=1e-10)


def test_terms_of_a_topic_come_first() -> None:
    found = LaplacianScore(10, n_neighbors=5).fit(documents())
    assert set(found.selected_) == set(range(10))
    assert (np.diff(found.eigenvalues_) <= 0).all()
    np.testing.assert_allclose(found.eigenvalues_, 1 - found.scores_[found.selected_])


def test_a_term_that_all_share_alike_is_no_feature() -> None:
    """About its mean it is nothing; without the mean (equation 7) it would be the best of all."""
    X = np.hstack([documents(), np.full((40, 1), 0.3)])
    centred = LaplacianScore(31, n_neighbors=5)
    with pytest.warns(UserWarning, match="31 dimensions were requested"):
        centred.fit(X)
    assert np.isinf(centred.scores_[30])
    assert 30 not in centred.selected_
    assert LaplacianScore(1, n_neighbors=5, centred=False).fit(X).selected_[0] == 30


def test_isolated_documents_take_no_part() -> None:
    X = documents()
    more = np.zeros((41, 31))
    more[:40, :30], more[40, 30] = X, 1
    scores = LaplacianScore(5).fit(more).scores_
    np.testing.assert_allclose(scores[:30], LaplacianScore(5).fit(X).scores_, atol=1e-12)
    assert np.isinf(scores[30])


def test_equal_scores_are_taken_in_the_order_of_terms() -> None:
    scores = np.array([0.5, np.inf, 0.2 + 1e-15, 0.5 - 1e-15, 0.2])
    assert best_terms(scores, 3).tolist() == [2, 4, 0]
    assert best_terms(scores, 9).tolist() == [2, 4, 0, 3]


def test_the_selection_matrix_is_made_on_demand() -> None:
    X = sparse.csr_array(documents())
    found = LaplacianScore(7).fit(X)
    assert all(np.ndim(value) < 2 for value in vars(found).values())
    assert found.components_.sum() == 7
    np.testing.assert_array_equal(found.components_.argmax(axis=1), found.selected_)
    np.testing.assert_array_equal(found.transform(X), X.toarray()[:, found.selected_])


@pytest.mark.parametrize("m", [4, 12])
def test_lpi_of_the_best_terms(m: int) -> None:
    X = documents()
    affinity = GRAPHS["nearest"].build(X, None, GraphOptions(5))
    found = LSLPI(3, n_selected=m).fit(X, affinity=affinity)
    best = np.sort(LaplacianScore(m).fit(X, affinity=affinity).selected_)
    np.testing.assert_array_equal(found.selected_, best)
    alone = LPI(3).fit(X[:, best], affinity=affinity)
    np.testing.assert_allclose(found.components_[:, best], alone.components_, atol=1e-10)
    assert not np.delete(found.components_, best, axis=1).any()


def test_terms_that_neighbours_share_by_default() -> None:
    X = documents(60, 200)
    found = LSLPI(2, n_neighbors=5).fit(X)
    np.testing.assert_array_equal(found.selected_, np.flatnonzero(found.scores_ < 1))
    assert set(range(10)) <= set(found.selected_)
    assert 10 < len(found.selected_) < 170


def test_a_term_at_random_scores_about_1() -> None:
    X = documents(200, 30)
    affinity = GRAPHS["nearest"].build(X, None, GraphOptions(8))
    chance = np.random.default_rng(1).random((200, 40))
    assert laplacian_scores(chance, affinity).mean() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize(
    ("m", "message"),
    [
        (0, 'n_selected must be a whole number above 0 or "auto", not 0'),
        (-2, "n_selected must be a whole number"),
        (2.5, "n_selected must be a whole number"),
        ("most", "n_selected must be a whole number"),
        (31, "n_selected is 31, but the documents have only 30 terms"),
    ],
)
def test_a_useless_number_of_terms_is_refused(m: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LSLPI(2, n_selected=m).fit(documents())
