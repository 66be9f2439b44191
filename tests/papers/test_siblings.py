"""NPE, LSDA, MCFS, LSC, GNMF and kernel OLPI against dense versions written from their papers."""

from typing import Any

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.linalg import subspace_angles
from scipy.optimize import nnls
from sklearn.linear_model import lars_path
from sklearn.manifold._locally_linear import barycenter_weights

from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import nearest
from lpisearch.methods import kernels
from lpisearch.methods.gnmf import GNMF
from lpisearch.methods.kolpi import KOLPI
from lpisearch.methods.lpi import LPI
from lpisearch.methods.lsc import LSC, _mean_directions
from lpisearch.methods.lsda import LSDA, divided
from lpisearch.methods.mcfs import MCFS
from lpisearch.methods.nmf import NMF
from lpisearch.methods.npe import NPE
from lpisearch.methods.olpi import OLPI
from lpisearch.methods.placement import kernel
from tests.papers import naive

N, P = 120, 7
X = naive.documents(N, 150)
ROWS = sparse.csr_array(X)
NEW = naive.documents(9, 150, seed=0)
LABELS: Any = np.arange(N) % 3
W = naive.nearest(X, P)
DISTANCES = 2 - 2 * X @ X.T


def degrees(A: Any, B: Any) -> float:
    """Give the largest angle between the columns of two matrices."""
    return float(np.degrees(subspace_angles(A, B).max()))


def neighbours(rows: Any, p: int) -> Any:
    """Give the p nearest others of each row."""
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -1)
    return np.argsort(-cosines, axis=1)[:, :p]


def rebuilding(rows: Any, near: Any) -> Any:
    """Solve equation 1 of NPE for each document, with a thousandth of the trace on the diagonal."""
    weights = np.zeros((len(rows), len(rows)))
    for i, others in enumerate(near):
        differences = rows[i] - rows[others]
        gram = differences @ differences.T
        w = np.linalg.solve(gram + 1e-3 * np.trace(gram) * np.eye(len(gram)), np.ones(len(gram)))
        weights[i, others] = w / w.sum()
    return weights


class TestNPE:
    """He, Cai, Yan, Zhang, 2005."""

    def test_weights_rebuild_each_document_from_its_nearest(self) -> None:
        near = neighbours(X, P)
        found = NPE(4, n_neighbors=P).fit(ROWS).weights_.toarray()
        np.testing.assert_allclose(found, rebuilding(X, near), atol=1e-9)
        own = barycenter_weights(X, X, near, reg=1e-3)
        np.testing.assert_allclose(np.take_along_axis(found, near, axis=1), own, atol=1e-9)

    @pytest.mark.parametrize("y", [None, LABELS])
    def test_directions_solve_equation_5(self, y: Any) -> None:
        if y is None:
            near = neighbours(X, P)
        else:
            near = np.zeros((N, P), int)
            for label in range(3):
                own = np.flatnonzero(y == label)
                near[own] = own[neighbours(X[own], P)]
        residual = np.eye(N) - rebuilding(X, near)
        M = residual.T @ residual
        V = naive.terms_space(X)
        Z = X @ V
        # The constant, which every document rebuilds, is left out.
        complement = linalg.null_space(np.ones((1, N)) @ Z)
        Z = Z @ complement
        values, b = linalg.eigh(Z.T @ M @ Z, Z.T @ Z)
        found = NPE(4, n_neighbors=P).fit(ROWS, y)
        np.testing.assert_allclose(1 - found.eigenvalues_, values[:4], atol=1e-8)
        assert degrees(found.components_.T, V @ complement @ b[:, :4]) < 1e-3


class TestLSDA:
    """Cai, He, Zhou, Han, Bao, 2007."""

    @pytest.mark.parametrize("balance", [0.1, 0.5])
    @pytest.mark.parametrize("shrinkage", [0.1, 1.0])
    def test_directions_solve_equation_17(self, balance: float, shrinkage: float) -> None:
        same = LABELS[:, np.newaxis] == LABELS
        within, between = W * same, W * ~same
        D_w, L_b = np.diag(within.sum(axis=1)), np.diag(between.sum(axis=1)) - between
        V = naive.terms_space(X)
        Z = X @ V
        right = Z.T @ D_w @ Z
        right += shrinkage * np.trace(right) / len(right) * np.eye(len(right))
        left = Z.T @ (balance * L_b + (1 - balance) * within) @ Z
        values, b = linalg.eigh(left, right)
        found = LSDA(4, balance=balance, shrinkage=shrinkage, n_neighbors=P).fit(ROWS, LABELS)
        np.testing.assert_allclose(found.eigenvalues_, values[::-1][:4], rtol=1e-7)
        assert degrees(found.components_.T, V @ b[:, ::-1][:, :4]) < 1e-3

    def test_without_labels_it_is_lpi_and_the_constant(self) -> None:
        found = LSDA(5, balance=0, shrinkage=0, n_neighbors=P).fit(ROWS).transform(X)
        lpi = LPI(4, n_neighbors=P).fit(ROWS).transform(X)
        assert degrees(found, np.column_stack([np.ones(N), lpi])) < 1e-3

    def test_a_document_without_a_label_is_apart_from_none(self) -> None:
        some = [label or -1 for label in LABELS.tolist()]
        known = np.array([label > 0 for label in some])
        apart = (LABELS[:, np.newaxis] != LABELS) & known & known[:, np.newaxis]
        W_b = nearest(ROWS, None, GraphOptions(P)).edges.toarray() * apart  # type: ignore[union-attr]
        within, between = divided(nearest(ROWS, None, GraphOptions(P)), some)
        np.testing.assert_allclose(between.toarray(), W_b)
        np.testing.assert_allclose(within.toarray() + W_b, W, atol=1e-12)


class TestMCFS:
    """Cai, Zhang, He, 2010."""

    @pytest.mark.parametrize("d", [10, 25])
    def test_terms_have_the_largest_weights_of_least_angle_regressions(self, d: int) -> None:
        _, Y = naive.eigenmap(W, 3)
        scores = np.zeros(X.shape[1])
        for y in np.sqrt(W.sum()) * Y.T:
            _, _, path = lars_path(X, y, method="lasso")
            within = np.flatnonzero(np.count_nonzero(path, axis=0) > d)[0] - 1
            # The path ends where the next term would enter.
            scores = np.maximum(scores, np.abs(path[:, within]))
        found = MCFS(d, n_responses=3, n_neighbors=P).fit(ROWS)
        assert set(found.selected_) == set(np.argsort(-scores)[:d])
        assert (np.diff(found.scores_[found.selected_]) <= 0).all()

    def test_a_term_in_place_of_its_copy(self) -> None:
        """Copies of a term have the best Laplacian score together; one is enough here."""
        twice = np.hstack([X, X[:, [np.argmax(X.sum(axis=0))]]])
        found = MCFS(20, n_responses=3).fit(twice).selected_
        assert not {150, int(np.argmax(X.sum(axis=0)))} <= set(found.tolist())


class TestLSC:
    """Chen, Cai, 2011."""

    @pytest.mark.parametrize("landmarks", [40, N])
    def test_places_are_eigenvectors_of_the_graph_of_landmarks(self, landmarks: int) -> None:
        found: Any = LSC(4, landmarks=landmarks, n_neighbors=5, gamma=2.0).fit(ROWS)
        assert len(found.landmarks_) == landmarks
        distances = DISTANCES[:, found.landmarks_]
        Z = np.exp(-2 * np.maximum(distances, 0))
        Z[np.argsort(np.argsort(distances, axis=1), axis=1) >= 5] = 0
        Z /= Z.sum(axis=1, keepdims=True)
        sums = Z.sum(axis=0)
        graph = Z @ np.diag(np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)) @ Z.T
        np.testing.assert_allclose(graph.sum(axis=1), 1)
        values, Y = naive.eigenmap(graph, 4)
        np.testing.assert_allclose(found.eigenvalues_, values, atol=1e-9)
        assert degrees(found.embedding_, Y) < 1e-3
        # A new document: its weights for the landmarks, through the same equation.
        z = np.exp(-2 * (2 - 2 * NEW @ X[found.landmarks_].T))
        z[np.argsort(np.argsort(-z, axis=1), axis=1) >= 5] = 0
        z /= z.sum(axis=1, keepdims=True)
        weights = graph @ found.embedding_ / found.eigenvalues_
        np.testing.assert_allclose(weights, found.embedding_, atol=1e-8)
        solved = np.linalg.lstsq(Z, found.embedding_, rcond=None)[0]
        if landmarks == 40:
            np.testing.assert_allclose(found.transform(NEW), z @ solved, atol=1e-8)

    @pytest.mark.parametrize("rounds", [1, 4])
    def test_rounds_of_kmeans_move_the_landmarks(self, rounds: int) -> None:
        found: Any = LSC(4, landmarks=12, n_rounds=rounds, n_neighbors=5).fit(ROWS)
        U = X[LSC(4, landmarks=12).fit(ROWS).landmarks_]
        for _ in range(rounds):
            nearest = (X @ U.T).argmax(axis=1)
            U = np.array([X[nearest == j].sum(axis=0) for j in range(12)])
            U /= np.linalg.norm(U, axis=1, keepdims=True)
        cosines = [found._inverted.cosines(row.nonzero()[0], row[row > 0]) for row in X]
        np.testing.assert_allclose(cosines, X @ U.T, atol=1e-12)
        Z = np.exp(2 * X @ U.T - 2)
        Z[np.argsort(np.argsort(-Z, axis=1), axis=1) >= 5] = 0
        Z /= Z.sum(axis=1, keepdims=True)
        values, Y = naive.eigenmap(Z / Z.sum(axis=0) @ Z.T, 4)
        np.testing.assert_allclose(found.eigenvalues_, values, atol=1e-9)
        assert degrees(found.embedding_, Y) < 1e-3

    def test_a_landmark_that_no_document_is_near_to_stays(self) -> None:
        U = sparse.csr_array(np.eye(3)[[0, 0, 1]])
        centres = sparse.csr_array(np.eye(3)[[0, 2, 1]])
        np.testing.assert_array_equal(_mean_directions(U, centres).toarray(), centres.toarray())


class TestGNMF:
    """Cai, He, Han, Huang, 2011."""

    @pytest.mark.parametrize("weight", [0.1, 10.0])
    def test_the_objective_never_rises(self, weight: float) -> None:
        found = GNMF(4, graph_weight=weight, n_neighbors=P, n_init=1).fit(ROWS)
        assert (np.diff(found.objectives_) <= 1e-9 * found.objectives_[0]).all()

    def test_a_round_is_the_update_of_equations_14_and_15(self) -> None:
        rng, weight = np.random.default_rng(3), 5.0
        model = GNMF(4, graph_weight=weight, max_iter=6, n_init=1, n_neighbors=P, random_state=rng)
        model.fit(ROWS)
        U = np.random.default_rng(3).random((4, X.shape[1])).T
        U /= np.linalg.norm(U, axis=0)
        # The scale of the weights is that of the largest one: V alone has it.
        rows, D = X / X.max(), np.diag(W.sum(axis=1))
        V = np.ones((N, 4))
        for _ in range(6):
            V *= (rows @ U + weight * W @ V) / (V @ U.T @ U + weight * D @ V)
            U *= (rows.T @ V) / np.maximum(U @ V.T @ V, 1e-300)
            J = np.sum((rows - V @ U.T) ** 2) + weight * np.trace(V.T @ (D - W) @ V)
        np.testing.assert_allclose(model.objectives_[-1], J * X.max() ** 2, rtol=1e-8)
        lengths = np.linalg.norm(U, axis=0)
        np.testing.assert_allclose(model.factors_, (U / lengths).T, atol=1e-8)
        np.testing.assert_allclose(model.embedding_, V * lengths * X.max(), atol=1e-8)

    def test_documents_of_single_precision_get_as_many_rounds(self) -> None:
        found = GNMF(4, n_neighbors=P).fit(ROWS.astype(np.float32))
        assert found.n_iter_ == GNMF(4, n_neighbors=P).fit(ROWS).n_iter_ == found.max_iter
        assert found.factors_.dtype == np.float32

    def test_without_the_graph_it_is_nmf(self) -> None:
        found = GNMF(3, graph_weight=0, max_iter=5000).fit(ROWS)
        plain = NMF(3, weighting="none", tolerance=1e-9, max_iter=5000).fit(ROWS)
        assert found.objectives_[-1] == pytest.approx(plain.objectives_[-1], rel=1e-2)

    def test_a_new_document_minimises_the_objective_with_its_neighbours(self) -> None:
        model = GNMF(3, graph_weight=2.0, n_neighbors=P).fit(ROWS)
        for row, place in zip(NEW, model.transform(NEW), strict=True):
            near = np.argsort(-(X @ row))[:P]
            weights = np.sqrt(2.0 * (X @ row)[near])
            left = np.vstack([model.factors_.T, *(w * np.eye(3) for w in weights)])
            pulls = [w * model.embedding_[i] for w, i in zip(weights, near, strict=True)]
            best, _ = nnls(left, np.concatenate([row, *pulls]))
            np.testing.assert_allclose(place, best, atol=1e-6)


class TestKernelOLPI:
    """Section 6 of olpi-2005."""

    @pytest.mark.parametrize("kernel", ["rbf", "poly"])
    def test_it_is_olpi_of_the_documents_in_the_space_of_the_kernel(self, kernel: str) -> None:
        K = np.exp(-DISTANCES) if kernel == "rbf" else (X @ X.T + 1) ** 2
        features = linalg.sqrtm(K).real
        expected = features @ naive.olpi(features - features.mean(axis=0), W, 6)
        found = KOLPI(6, kernel=kernel, n_neighbors=P).fit(ROWS)
        places = found.embedding_
        signs = np.sign(np.sum(places * expected, axis=0))
        np.testing.assert_allclose(places * signs, expected, atol=1e-5)
        # Orthonormal in the space of the kernel: CᵀKC = I, where KC are the places.
        C = np.linalg.solve(K, places)
        np.testing.assert_allclose(C.T @ K @ C, np.eye(6), atol=1e-6)
        new = np.exp(-(2 - 2 * NEW @ X.T)) if kernel == "rbf" else (NEW @ X.T + 1) ** 2
        np.testing.assert_allclose(found.transform(NEW), new @ C, atol=1e-5)

    def test_kernels_are_computed_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        computed = []

        def counted(cosines: Any, *options: Any) -> Any:
            computed.append(cosines.shape[0])
            return kernel(cosines, *options)

        monkeypatch.setattr(kernels, "kernel", counted)
        KOLPI(3, n_neighbors=P).fit(ROWS)
        assert sum(computed) == N

    def test_with_a_linear_kernel_it_is_olpi(self) -> None:
        found = KOLPI(6, kernel="linear", n_neighbors=P).fit(ROWS)
        olpi = OLPI(6, n_neighbors=P).fit(ROWS)
        np.testing.assert_allclose(np.abs(found.embedding_), np.abs(olpi.transform(X)), atol=1e-6)
        np.testing.assert_allclose(found.eigenvalues_, olpi.eigenvalues_, atol=1e-9)

    def test_all_documents_as_landmarks_are_exact(self) -> None:
        exact = KOLPI(5, n_neighbors=P).fit(ROWS)
        drawn = KOLPI(5, n_neighbors=P, exact_documents=1, landmarks=N).fit(ROWS)
        np.testing.assert_allclose(drawn.embedding_, exact.embedding_, atol=1e-8)
        some = KOLPI(5, n_neighbors=P, exact_documents=1, landmarks=30).fit(ROWS)
        assert (some.eigenvalues_ <= exact.eigenvalues_.max() + 1e-9).all()
        assert len(some.landmarks_) == 30
