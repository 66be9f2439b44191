"""What lpfl-2012 states: its theorems, algorithm 2 step by step, and the shape of figure 1."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.base import NotConverged
from lpisearch.methods.locality import term_bounds
from lpisearch.methods.lpfl import LPFL, alternating_directions, exchange_terms, max_length_rows


def documents(n: int = 40, n_terms: int = 60, seed: int = 0) -> Any:
    """Make unit rows on four topics, each with words of its own and some of all."""
    rng = np.random.default_rng(seed)
    topic = np.arange(n) % 4
    rates = np.where(np.arange(n_terms) % 8 == topic[:, np.newaxis], 1.5, 0.1)
    X = rng.poisson(rates) + (np.arange(n_terms) == topic[:, np.newaxis])
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def solve(X: Any, Y: Any, m: int, **options: Any) -> Any:
    """Run the alternating directions."""
    return alternating_directions(X, Y, m, rng=np.random.default_rng(0), **options)


def spectrum(X: Any, W: Any) -> Any:
    """Give the eigenvalues of (XᵀLX, XᵀDX) in the space of the columns of X, smallest first."""
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    Q = U[:, s > 1e-9 * s[0]]
    D = np.diag(W.sum(axis=1))
    return eigh(Q.T @ (D - W) @ Q, Q.T @ D @ Q, eigvals_only=True)


def test_theorem_1() -> None:
    """If the selected terms give Y exactly, their map solves the reduced eigenproblem, same λ."""
    X = np.random.default_rng(0).random((20, 60)) ** 4
    W = nearest(X, None, GraphOptions(4)).toarray()
    D = np.diag(W.sum(axis=1))
    values, Y = eigh(W, D)
    values, Y = 1 - values[::-1][1:4], Y[:, ::-1][:, 1:4]
    part = np.where(np.arange(60) % 2, X, 0)
    assert np.linalg.matrix_rank(part) == 20
    A = np.linalg.pinv(part) @ Y
    np.testing.assert_allclose(part @ A, Y, atol=1e-8)
    left, right = part.T @ (D - W) @ part @ A, part.T @ D @ part @ A
    np.testing.assert_allclose(left, right * values, atol=1e-8)


def test_theorem_2() -> None:
    """No other m rows are nearer to the block than its longest ones."""
    C = np.random.default_rng(0).standard_normal((7, 3))
    found = max_length_rows(C, 3)
    assert np.count_nonzero(found.any(axis=1)) == 3
    best = min(
        np.linalg.norm(C - C * np.isin(np.arange(7), rows)[:, np.newaxis])
        for rows in combinations(range(7), 3)
    )
    assert np.linalg.norm(C - found) == pytest.approx(best)


def test_equal_rows_are_taken_in_their_order() -> None:
    assert max_length_rows(np.ones((5, 2)), 2).any(axis=1).tolist() == [True] * 2 + [False] * 3


@pytest.mark.parametrize("m", [6, 9, 11])
def test_theorem_3(m: int) -> None:
    """With any m of the terms, the sum of the l least eigenvalues lies between the bounds."""
    X = documents(40, 12)
    W = nearest(X, None, GraphOptions(5)).toarray()
    values, dims = spectrum(X, W), 3
    assert len(values) == 12
    sums = [spectrum(X[:, list(S)], W)[:dims].sum() for S in combinations(range(12), m)]
    assert values[:dims].sum() <= min(sums) + 1e-9
    assert max(sums) <= values[12 - m : 12 - m + dims].sum() + 1e-9


def test_theorem_3_counts_independent_terms() -> None:
    """With as many independent terms as the rank, the bounds meet, however many terms there are.

    This is what `n_selected="auto"` goes by: there are no more than linked documents.
    """
    rng = np.random.default_rng(0)
    X = rng.random((14, 60)) ** 4
    W = nearest(X, None, GraphOptions(4)).toarray()
    values = spectrum(X, W)
    assert len(values) == np.linalg.matrix_rank(X) == 14
    sums = {
        m: [spectrum(X[:, rng.choice(60, m, replace=False)], W)[:3].sum() for _ in range(20)]
        for m in (14, 12)
    }
    np.testing.assert_allclose(sums[14], values[:3].sum(), atol=1e-9)
    assert values[:3].sum() + 1e-3 < min(sums[12])
    assert max(sums[12]) <= values[2:5].sum() + 1e-9


def test_theorem_3_is_computed() -> None:
    """`term_bounds` gives the two sums of the theorem for each m, of linked documents."""
    X = np.vstack([documents(40, 12), np.zeros(12)])
    W = nearest(X, None, GraphOptions(5))
    values = spectrum(X[:40], W.toarray()[:40, :40])
    bounds = term_bounds(X, W, 3, [6, 9, 12, 20])
    np.testing.assert_allclose(bounds[:, 0], values[:3].sum(), atol=1e-9)
    upper = [values[r : r + 3].sum() for r in (6, 3, 0, 0)]
    np.testing.assert_allclose(bounds[:, 1], upper, atol=1e-9)
    with pytest.raises(ValueError, match="3 dimensions need as many terms"):
        term_bounds(X, W, 3, [2])


@pytest.mark.parametrize("m", [5, 20, 60])
def test_algorithm_2_to_the_letter(m: int) -> None:
    """Every iterate is that of the paper's formulas; the step of A never raises the Lagrangian."""
    X = documents()
    Y = np.random.default_rng(1).standard_normal((40, 3))
    found = solve(X, Y, m, max_steps=40, tolerance=0)
    tau = 1 / (1.02 * np.linalg.norm(X, 2) ** 2)
    A, multiplier, mu = np.zeros((60, 3)), np.zeros((40, 3)), 1e-4
    for step in range(40):
        E = (multiplier + mu * Y - mu * X @ A) / (1 + mu)
        B = X.T @ (X @ A + E - Y - multiplier / mu)
        C = A - tau * B
        kept = np.argsort(np.linalg.norm(C, axis=1))[::-1][:m]
        before = np.linalg.norm(X @ A + E - Y - multiplier / mu)
        A = np.zeros_like(C)
        A[kept] = C[kept]
        assert np.linalg.norm(X @ A + E - Y - multiplier / mu) <= before * (1 + 1e-12)
        multiplier += mu * (Y - X @ A - E)
        mu *= 1.5
        assert found.objective[step] == pytest.approx(np.sum(E**2) / 2, rel=1e-4, abs=1e-12)
        residual = np.linalg.norm(X @ A + E - Y) / np.linalg.norm(Y)
        assert found.residual[step] == pytest.approx(residual, rel=1e-3, abs=1e-9)
    np.testing.assert_allclose(found.coefficients, A, atol=1e-4 * np.abs(A).max())


def test_figure_1() -> None:
    """The objective rises from nearly 0 to rest at a level; the residual falls to 0."""
    lpfl = LPFL(3, n_selected=20, n_neighbors=5, tol=1e-9).fit(documents())
    objective, residual = lpfl.history_["objective"], lpfl.history_["residual"]
    assert objective[0] < 1e-6 * objective[-1]
    assert (np.diff(objective) >= -1e-3 * objective[-1]).all()
    assert objective[-10] == pytest.approx(objective[-1], rel=1e-3)
    assert residual[0] > 0.1
    assert residual[-1] < 1e-9
    assert lpfl.n_iter_ == len(objective) < 200


@pytest.mark.parametrize("m", [1, 7, 30, 60])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_no_more_than_m_terms(m: int, kind: Any) -> None:
    lpfl = LPFL(3, n_selected=m, n_neighbors=5).fit(kind(documents()))
    assert np.count_nonzero(lpfl.components_.any(axis=0)) == len(lpfl.selected_) == m
    assert lpfl.n_selected_ == m


def test_terms_of_the_topics_are_selected() -> None:
    lpfl = LPFL(3, n_selected=16, n_neighbors=5).fit(documents(80))
    assert np.mean(lpfl.selected_ % 8 < 4) >= 0.9


def test_a_feasible_problem_is_solved_exactly() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 40))
    A = np.zeros((40, 3))
    A[[3, 8, 20, 21, 39]] = rng.standard_normal((5, 3)) + 2
    found = solve(X, X @ A, 5, mu=1.0, rho=1.0, max_steps=2000, tolerance=1e-9)
    assert found.residual[-1] <= 1e-9
    assert found.objective[-1] < 1e-12
    np.testing.assert_allclose(found.coefficients, A, atol=1e-6)


def test_all_terms_and_a_fixed_penalty_give_least_squares() -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 10)), rng.standard_normal((40, 2))
    exact = np.linalg.lstsq(X, Y)[0]
    found = solve(X, Y, 10, mu=1.0, rho=1.0, max_steps=5000, tolerance=1e-10)
    np.testing.assert_allclose(found.coefficients, exact, atol=1e-6)
    assert found.objective[-1] == pytest.approx(np.sum((Y - X @ exact) ** 2) / 2, rel=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_a_fixed_penalty_ends_where_no_step_leads_on(seed: int) -> None:
    """The kept rows are least squares, and no other term's slope would put it in their place.

    Equation 10 is not convex: this is no proof of the best choice, which all choices give here.
    """
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((30, 9)), rng.standard_normal((30, 2))
    found = solve(X, Y, 3, mu=1.0, rho=1.0, max_steps=5000, tolerance=1e-9)
    A = found.coefficients
    kept = A.any(axis=1)
    exact = np.linalg.lstsq(X[:, kept], Y)[0]
    np.testing.assert_allclose(A[kept], exact, atol=1e-6)
    slopes = np.linalg.norm(X.T @ (Y - X @ A), axis=1) / np.linalg.norm(X, 2) ** 2
    assert slopes[~kept].max() <= np.linalg.norm(exact, axis=1).min() * 1.03
    best = min(
        np.linalg.norm(Y - X[:, S] @ np.linalg.lstsq(X[:, S], Y)[0]) ** 2 / 2
        for S in map(list, combinations(range(9), 3))
    )
    assert best - 1e-9 <= found.objective[-1] <= 1.5 * best


def test_as_many_terms_as_linked_documents_by_default() -> None:
    X = np.vstack([documents(), np.zeros((5, 60))])
    assert LPFL(3).fit(X).n_selected_ == 40
    assert LPFL(3).fit(documents(80)).n_selected_ == 60


def test_labels_take_the_place_of_the_graph() -> None:
    X = documents()
    lpfl = LPFL(3, n_selected=12).fit(X, [i % 4 for i in range(40)])
    points = lpfl.embed(X)
    nearest_one = (points @ points.T - 2 * np.eye(40)).argmax(axis=1)
    assert (nearest_one % 4 == np.arange(40) % 4).all()
    assert lpfl.n_components_ == 3


def test_an_early_end_is_said_with_its_residual() -> None:
    with pytest.warns(NotConverged, match=r"LPFL did not converge in 5 steps: residual"):
        lpfl = LPFL(3, max_iter=5).fit(documents())
    assert lpfl.components_.any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_selected": 0}, 'n_selected must be a whole number above 0 or "auto", not 0'),
        ({"n_selected": 61}, "n_selected is 61, but the documents have only 60 terms"),
        ({"n_selected": "all"}, "n_selected must be"),
        ({"mu": 0}, "mu must be above 0"),
        ({"mu": -1}, "mu must be a number of at least 0"),
        ({"rho": 0.9}, "rho must be at least 1, not 0.9"),
        ({"tol": -1}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LPFL(3, **options).fit(documents())


@pytest.mark.data
@pytest.mark.slow
def test_table_1(data: Path) -> None:
    """Average accuracy on random classes of TDT2 is at least that of the paper, nearly: 94."""
    with np.load(data / "tdt2" / "tdt2.npz") as saved:
        counts = sparse.csr_array(
            (saved["data"].astype(np.float32), saved["indices"], saved["indptr"]),
            shape=tuple(saved["shape"]),
        )
        labels = saved["label"]
    rng, found = np.random.default_rng(12), []
    for c in (2, 4, 6, 8, 10):
        for _ in range(2):
            rows = np.flatnonzero(np.isin(labels, rng.choice(30, c, replace=False) + 1))
            X = counts[rows]
            X = X[:, np.flatnonzero(X.sum(axis=0))]
            lengths = np.sqrt(np.asarray((X**2).sum(axis=1)))
            X.data /= np.repeat(lengths, np.diff(X.indptr))
            points = LPFL(c - 1, n_neighbors=5).fit_transform(X)
            clusters = KMeans(c, n_init=10, random_state=0).fit_predict(points)
            classes = np.unique(labels[rows], return_inverse=True)[1]
            table = np.zeros((c, c))
            np.add.at(table, (classes, clusters), 1)
            found.append(table[linear_sum_assignment(-table)].sum() / len(rows))
    assert np.mean(found) >= 0.94


def test_exchanged_terms_leave_less_than_algorithm_2_and_greedy_choice() -> None:
    """With few terms, less is left than by the paper's algorithm or by matching pursuit."""
    X = documents(120, 200)
    y = [number % 4 for number in range(120)]
    residuals = {}
    for selection in ("alternating", "exchange", "auto"):
        lpfl = LPFL(3, n_selected=15, selection=selection).fit(X, y)
        assert np.count_nonzero(lpfl.components_.any(axis=0)) == 15
        residuals[selection] = residual_of(lpfl, X, y)
    assert residuals["auto"] == residuals["exchange"]
    assert residuals["exchange"] < 0.9 * residuals["alternating"]
    assert residuals["exchange"] < 1.02 * greedy(X, naive_responses(y), 15)


@pytest.mark.parametrize("count", [10, 20])
@pytest.mark.parametrize("seed", range(3))
def test_terms_of_any_frequency_compete(seed: int, count: int) -> None:
    X = documents(100, 160, seed)
    X = X * np.random.default_rng(seed).lognormal(0, 1.5, X.shape[1])
    Y = naive_responses([number % 4 for number in range(100)])
    lengths = np.linalg.norm(X, axis=0)
    # With columns of one length, both compare the same numbers.
    wanted = greedy(X / np.where(lengths > 0, lengths, 1), Y, count)
    found = exchange_terms(sparse.csr_array(X), Y, np.arange(count))
    assert found.residuals[-1] <= 1.001 * wanted
    assert np.count_nonzero(found.coefficients.any(axis=1)) <= count


@pytest.mark.parametrize("selection", ["auto", "alternating", "exchange"])
def test_every_selection_works_on_a_graph(selection: str) -> None:
    X = documents(60, 90)
    lpfl = LPFL(2, n_selected=10, selection=selection, n_neighbors=4).fit(X)
    assert np.count_nonzero(lpfl.components_.any(axis=0)) <= 10
    with pytest.raises(ValueError, match="selection must be one of"):
        LPFL(2, n_selected=10, selection="some").fit(X)


def residual_of(lpfl: LPFL, X: Any, y: list[int]) -> float:
    """Give |X A - Y| as a share of |Y|."""
    Y = naive_responses(y)
    places = lpfl.transform(X)
    turned = Y * np.sign(np.einsum("ij,ij->j", Y, places))
    return float(np.linalg.norm(places - turned) / np.linalg.norm(Y))


def naive_responses(y: list[int]) -> Any:
    """Make class indicators orthogonal to the constant and to each other."""
    n, labels = len(y), np.array(y)
    indicators = np.column_stack([np.ones(n), *[labels == each for each in range(max(y) + 1)]])
    return np.linalg.qr(indicators.astype(float))[0][:, 1 : max(y) + 1] * np.sqrt(n)


def greedy(X: Any, Y: Any, count: int) -> float:
    """Add one term after the other, each the one that the residual points to."""
    chosen: list[int] = []
    left = Y
    while len(chosen) < count:
        lengths = np.linalg.norm(X.T @ left, axis=1)
        lengths[chosen] = -1
        chosen.append(int(lengths.argmax()))
        left = Y - X[:, chosen] @ np.linalg.lstsq(X[:, chosen], Y, rcond=None)[0]
    return float(np.linalg.norm(left) / np.linalg.norm(Y))


def theorem_5(X: Any, Y: Any, m: int, steps: int) -> Any:
    """Give the ratio of the two sides of theorem 5 after each step, with a fixed μ.

    The sides are those of the iterates (A, E, Λ) of algorithm 2 and of where it comes to. H is that
    of a step of τ in place of the paper's of μ; the Λ of F has the sign of its Lagrangian.
    """
    mu, tau = 1.0, 0.99 / np.linalg.norm(X, 2) ** 2
    A, L = np.zeros((X.shape[1], Y.shape[1])), np.zeros_like(Y)
    iterates = [(A, L, L)]
    for _ in range(20 * steps):
        E = (L + mu * (Y - X @ A)) / (1 + mu)
        A = max_length_rows(A - tau * X.T @ (X @ A + E - Y - L / mu), m)
        L = L + mu * (Y - X @ A - E)
        iterates.append((A, E, L))
    A1, E1, L1 = iterates[-1]
    F = (-X.T @ L1, -L1, X @ A1 + E1 - Y)
    A0, E0, L0 = iterates[0]
    size = mu * (np.sum((A0 - A1) ** 2) / tau - np.sum((X @ (A0 - A1)) ** 2))
    size += mu * np.sum((E0 - E1) ** 2) + np.sum((L0 - L1) ** 2) / mu
    ratios = []
    for t in range(1, steps):
        A, E, L = (np.mean([each[i] for each in iterates[: t + 1]], axis=0) for i in range(3))
        left = (np.sum(E**2) - np.sum(E1**2)) / 2
        left += np.sum((A - A1) * F[0]) + np.sum((E - E1) * F[1]) + np.sum((L - L1) * F[2])
        ratios.append(left * 2 * (t + 1) / size)
    return np.array(ratios)


@pytest.mark.parametrize("m", [9, 5, 3])
@pytest.mark.parametrize("seed", range(3))
def test_theorem_5(m: int, seed: int) -> None:
    """The bound holds, though with fewer than all 9 terms the problem is not convex."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((30, 9)), rng.standard_normal((30, 2))
    ratios = theorem_5(X, Y, m, 200)
    assert 0.2 < ratios.max() <= 1
