from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import qr

from lpisearch.methods import olpi
from lpisearch.methods.olpi import ConstrainedDiagonal, _ShiftedPencil

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Floats


def projected_eigenvalues(diagonal: Floats, constraints: Floats) -> Floats:
    """Eigenvalues on an explicit basis of the complement, largest first."""
    complement = qr(constraints)[0][:, constraints.shape[1] :]
    return np.linalg.eigvalsh(complement.T @ (diagonal[:, None] * complement))[::-1]


def spectrum(kind: str, n: int, random: np.random.Generator) -> Floats:
    """Spectra that are hard in different ways, largest value first."""
    values = {
        "spread": random.uniform(-0.3, 1, n),
        "crowded": 1 - 1e-9 * random.random(n),
        "repeated": np.repeat(random.random(n), 4)[:n],
        "equal": np.ones(n),
        "zero": np.zeros(n),
        "tiny": 1e-30 * random.random(n),
        "negative": -random.random(n),
    }[kind]
    return np.sort(values)[::-1]


KINDS = ["spread", "crowded", "repeated", "equal", "zero", "tiny", "negative"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_maximum_is_that_of_the_explicit_complement(kind: str) -> None:
    random = np.random.default_rng(1)
    diagonal = spectrum(kind, 40, random)
    problem = ConstrainedDiagonal(diagonal)
    constraints = np.empty((40, 0))
    for _ in range(30):
        w = problem.largest()
        expected = projected_eigenvalues(diagonal, constraints)[0]
        assert np.linalg.norm(w) == pytest.approx(1, abs=1e-12)
        assert np.abs(constraints.T @ w).max(initial=0) < 1e-12
        assert w @ (diagonal * w) == pytest.approx(expected, abs=1e-12 * abs(diagonal).max())
        new = random.normal(size=40)
        problem.add(new)
        constraints = np.linalg.qr(np.column_stack([constraints, new]))[0]


@pytest.mark.parametrize("kind", ["spread", "repeated"])
def test_constraining_the_maximiser_itself_moves_on_to_the_next_eigenvector(kind: str) -> None:
    diagonal = spectrum(kind, 24, np.random.default_rng(2))
    problem = ConstrainedDiagonal(diagonal)
    for expected in diagonal[:20]:
        w = problem.largest()
        assert w @ (diagonal * w) == pytest.approx(expected, abs=1e-12)
        problem.add(w)


def test_a_zero_in_the_constraint_leaves_that_coordinate_free() -> None:
    problem = ConstrainedDiagonal(np.array([3.0, 2.0, 1.0]))
    problem.add(np.array([5.0, 0.0, 0.0]))
    np.testing.assert_allclose(np.abs(problem.largest()), [0, 1, 0], atol=1e-12)


def test_a_mixed_constraint_gives_the_root_of_the_secular_equation() -> None:
    problem = ConstrainedDiagonal(np.array([1.0, 0.0]))
    problem.add(np.array([1.0, 1.0]))
    np.testing.assert_allclose(np.abs(problem.largest()), np.full(2, np.sqrt(0.5)), atol=1e-12)


@settings(max_examples=40)
@given(
    n=st.integers(3, 25), share=st.floats(0, 1), shift=st.floats(-0.5, 1.5), seed=st.integers(0, 99)
)
def test_inertia_counts_the_eigenvalues_above_a_shift(
    n: int, share: float, shift: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    diagonal = np.sort(random.random(n))[::-1]
    n_constraints = max(1, round(share * (n - 1)))
    constraints = np.linalg.qr(random.normal(size=(n, n_constraints)))[0]
    eigenvalues = projected_eigenvalues(diagonal, constraints)
    pencil = _ShiftedPencil(diagonal, constraints, shift, 1e-2)
    assert pencil.n_above == np.count_nonzero(eigenvalues > shift)


def test_a_solve_inverts_the_projected_diagonal() -> None:
    random = np.random.default_rng(3)
    diagonal = np.sort(random.random(30))[::-1]
    constraints = np.linalg.qr(random.normal(size=(30, 7)))[0]
    project = np.eye(30) - constraints @ constraints.T
    right = project @ random.normal(size=(30, 2))
    shift = diagonal[4] + 1e-3  # next to one value, which must stay in the small matrix
    x = _ShiftedPencil(diagonal, constraints, shift, 1e-2).solve(right)
    np.testing.assert_allclose(project @ ((diagonal - shift)[:, None] * x), right, atol=1e-11)
    np.testing.assert_allclose(constraints.T @ x, 0, atol=1e-11)


def test_a_shift_that_is_an_eigenvalue_is_stepped_off() -> None:
    problem = ConstrainedDiagonal(np.array([3.0, 2.0, 1.0]))
    problem.add(np.array([1.0, 0.0, 0.0]))
    assert _ShiftedPencil(problem._diagonal, problem._constraints, 2.0, 1e-2).is_singular
    problem._upper = 2.0
    np.testing.assert_allclose(np.abs(problem.largest()), [0, 1, 0], atol=1e-12)


def test_when_shifts_run_out_the_dense_solver_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(olpi, "_MAX_SHIFTS", 0)
    random = np.random.default_rng(4)
    diagonal = np.sort(random.random(20))[::-1]
    problem = ConstrainedDiagonal(diagonal)
    new = random.normal(size=(20, 1))
    problem.add(new[:, 0])
    w = problem.largest()
    assert w @ (diagonal * w) == pytest.approx(projected_eigenvalues(diagonal, new)[0])
