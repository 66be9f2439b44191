"""What Xu, Liu and Gong (SIGIR 2003) define as NMF-NCW, and what rlpi-2007 measures with it.

The references are dense, form X Xᵀ and measure |X' - V Uᵀ|² itself.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

from lpisearch.methods.base import NotConverged, generator
from lpisearch.methods.factors import SWEEPS, normalised_cut
from lpisearch.methods.nmf import NMF

ROUNDS = 30


def corpus(n: int = 40, n_terms: int = 50, seed: int = 0) -> Any:
    """Make unit rows on three topics."""
    rng = np.random.default_rng(seed)
    topics = np.arange(n)[:, np.newaxis] % 3
    counts = rng.poisson(np.where(np.arange(n_terms) % 4 == topics, 1.0, 0.15)) + np.eye(n, n_terms)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def cut(X: Any) -> Any:
    """Weight documents by the normalised cut, with the graph of inner products written out."""
    return X / np.sqrt((X @ X.T).sum(axis=1, keepdims=True))


def multiplicative(X: Any, V: Any, U: Any) -> None:
    """Update V, then U, as the paper has it."""
    V *= X @ U / (V @ U.T @ U)
    U *= X.T @ V / (U @ V.T @ V)


def coordinates(X: Any, V: Any, U: Any) -> None:
    """Move each column of V, then of U, to its best, by what the other columns leave over."""
    for A, B, target in ((V, U, X), (U, V, X.T)):
        for column in list(range(A.shape[1])) * SWEEPS:
            a, b = A[:, column], B[:, column]
            rest = target - A @ B.T + np.outer(a, b)
            A[:, column] = np.maximum(rest @ b / (b @ b), 0)


@pytest.mark.parametrize("weighting", ["ncw", "none"])
@pytest.mark.parametrize(
    ("solver", "update"), [("multiplicative", multiplicative), ("hals", coordinates)]
)
def test_rounds_equal_those_of_the_formulas(solver: str, weighting: str, update: Any) -> None:
    X = corpus()
    nmf = NMF(4, weighting=weighting, solver=solver, max_iter=ROUNDS, tolerance=0, n_init=1)
    with pytest.warns(NotConverged, match=f"NMF did not converge in {ROUNDS} steps"):
        nmf.fit(X)
    weighted = cut(X) if weighting == "ncw" else X
    U, V = generator(0).random((4, 50)).T.copy(), np.ones((40, 4))
    for objective in nmf.objectives_:
        update(weighted, V, U)
        assert objective == pytest.approx(np.sum((weighted - V @ U.T) ** 2), abs=1e-8)
    np.testing.assert_allclose(nmf.factors_, (U / np.linalg.norm(U, axis=0)).T, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("weighting", ["ncw", "none"])
@pytest.mark.parametrize("solver", ["hals", "multiplicative"])
def test_objective_never_rises(solver: str, weighting: str, seed: int) -> None:
    nmf = NMF(6, weighting=weighting, solver=solver, tolerance=1e-7, random_state=seed)
    nmf.set_params(max_iter=5000).fit(corpus(seed=seed))
    assert nmf.n_iter_ > 10
    assert np.diff(nmf.objectives_).max() < 1e-12
    assert nmf.objectives_.min() >= 0


def test_coordinate_descent_needs_fewer_rounds() -> None:
    X = corpus()
    with pytest.warns(NotConverged):
        slow = NMF(4, solver="multiplicative", max_iter=60, tolerance=0).fit(X)
    with pytest.warns(NotConverged):
        quick = NMF(4, max_iter=20, tolerance=0).fit(X)
    assert quick.objectives_[-1] <= slow.objectives_[-1] * 1.001


def test_folding_in_is_non_negative_least_squares() -> None:
    nmf = NMF(4).fit(corpus())
    new = corpus(seed=5)
    expected = np.array([nnls(nmf.factors_.T, document)[0] for document in new])
    np.testing.assert_allclose(nmf.transform(new), expected, atol=1e-7)


def test_embedding_is_the_converged_factor() -> None:
    X = corpus()
    nmf = NMF(4, tolerance=1e-9, max_iter=5000).fit(X)
    V = nmf.embedding_ / np.sqrt((X @ X.T).sum(axis=1, keepdims=True))
    objective = np.sum((cut(X) - V @ nmf.factors_) ** 2)
    assert objective == pytest.approx(nmf.objectives_[-1], rel=1e-6)


def test_single_precision_stays_single_and_agrees() -> None:
    X = sparse.csr_array(corpus())
    double, single = NMF(4).fit(X), NMF(4).fit(X.astype(np.float32))
    assert single.factors_.dtype == np.float32
    assert single.objectives_[-1] == pytest.approx(double.objectives_[-1], rel=1e-5)
    np.testing.assert_array_equal(single.clusters_, double.clusters_)


def test_clusters_are_the_largest_parts() -> None:
    nmf = NMF(3).fit(corpus(60, 40))
    np.testing.assert_array_equal(nmf.clusters_, nmf.embedding_.argmax(axis=1))
    pairs = set(zip((np.arange(60) % 3).tolist(), nmf.clusters_.tolist(), strict=True))
    assert len(pairs) == 3


@pytest.mark.data
def test_tdt2(data: Path) -> None:
    """On tdt2, 30 factors share as much with the 30 classes as rlpi-2007 found (.670)."""
    from sklearn.metrics import normalized_mutual_info_score

    from lpisearch.numeric.rows import unit_rows

    stored = np.load(data / "tdt2" / "tdt2.npz")
    parts = (stored["data"].astype(np.float32), stored["indices"], stored["indptr"])
    nmf = NMF(30).fit(unit_rows(sparse.csr_array(parts, shape=tuple(stored["shape"]))))
    labels = stored["label"].ravel()
    assert normalized_mutual_info_score(labels, nmf.clusters_, average_method="max") > 0.64


@pytest.mark.parametrize("factor", [1e-160, 1e-30, 1e30, 1e150])
def test_the_unit_of_the_weights_makes_no_difference(factor: float) -> None:
    X = sparse.csr_array(corpus())
    wanted = normalised_cut(X).toarray()
    np.testing.assert_allclose(normalised_cut(X * factor).toarray(), wanted, rtol=1e-12)
