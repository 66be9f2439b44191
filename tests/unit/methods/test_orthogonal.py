from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.linalg import eigh, qr

from lpisearch.methods.orthogonal import orthogonal_directions

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Floats

    Problem = tuple[Floats, Floats, Floats]


def problem(
    n: int,
    rank: int,
    *,
    parts: int = 1,
    condition: float = 1e2,
    isolated: int = 0,
    seed: int = 0,
) -> Problem:
    """UᵀWU, UᵀDU and scales of a random graph in so many parts."""
    random = np.random.default_rng(seed)
    part = np.sort(random.integers(0, parts, n))
    W = random.random((n, n)) * (random.random((n, n)) < 0.2) * (part[:, None] == part)
    W = np.maximum(W, W.T)
    np.fill_diagonal(W, 1)
    W[:isolated] = W[:, :isolated] = 0
    U = np.linalg.qr(random.normal(size=(n, rank)))[0]
    return U.T @ W @ U, (U.T * W.sum(axis=1)) @ U, np.geomspace(1, 1 / condition, rank)


def maxima_on_complements(given: Problem, vectors: Floats) -> Floats:
    """Largest generalised eigenvalue on an explicit basis of what each vector could choose from."""
    affinity_gram, degree_gram, scales = given
    A = scales[:, None] * affinity_gram * scales
    B = scales[:, None] * degree_gram * scales
    maxima = []
    for k in range(vectors.shape[1]):
        Q = qr(vectors[:, :k])[0][:, k:] if k else np.eye(len(scales))
        maxima.append(eigh(Q.T @ A @ Q, Q.T @ B @ Q, eigvals_only=True)[-1])
    return np.array(maxima)


PROBLEMS = {
    "connected": problem(60, 40),
    "square": problem(40, 40),
    "three parts": problem(50, 50, parts=3),
    "fifteen parts": problem(60, 60, parts=15),
    "ill-conditioned": problem(50, 40, condition=1e5),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_columns_are_orthonormal_to_the_last_digits(name: str) -> None:
    n = len(PROBLEMS[name][2])
    vectors = orthogonal_directions(*PROBLEMS[name], n).vectors
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_each_value_is_the_maximum_on_the_complement(name: str) -> None:
    found = orthogonal_directions(*PROBLEMS[name], len(PROBLEMS[name][2]))
    expected = maxima_on_complements(PROBLEMS[name], found.vectors)
    # The reference forms B, so it loses the square of the condition number.
    np.testing.assert_allclose(found.values, expected, atol=1e-6)
    if name != "ill-conditioned":
        np.testing.assert_allclose(found.values, expected, atol=1e-10)


def test_values_never_rise() -> None:
    values = orthogonal_directions(*problem(60, 60, parts=2), 60).values
    assert np.all(np.diff(values) < 1e-12)


def test_the_first_directions_do_not_depend_on_how_many_are_wanted() -> None:
    few = orthogonal_directions(*problem(60, 50), 5)
    many = orthogonal_directions(*problem(60, 50), 50)
    np.testing.assert_allclose(many.values[:5], few.values, atol=1e-12)
    np.testing.assert_allclose(many.vectors[:, :5], few.vectors, atol=1e-7)


def test_the_value_one_repeats_once_for_each_part_of_the_graph() -> None:
    values = orthogonal_directions(*problem(60, 60, parts=4), 10).values
    assert np.count_nonzero(values > 1 - 1e-10) == 4


def test_directions_that_no_edge_sees_come_last_with_value_zero() -> None:
    given = problem(40, 40, isolated=5)
    found = orthogonal_directions(*given, 40)
    affinity_gram, degree_gram, scales = given
    B = scales[:, None] * degree_gram * scales
    sizes = np.einsum("ij,ik,kj->j", found.vectors, B, found.vectors)
    assert np.all(sizes[:35] > 1e-8)
    np.testing.assert_allclose(sizes[35:], 0, atol=1e-12)
    np.testing.assert_array_equal(found.values[35:], 0)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(40), atol=1e-12)
    # Among the directions orthogonal to the unseen, the first is the best.
    A = scales[:, None] * affinity_gram * scales
    Q = qr(found.vectors[:, 35:])[0][:, 5:]
    best = eigh(Q.T @ A @ Q, Q.T @ B @ Q, eigvals_only=True)[-1]
    assert found.values[0] == pytest.approx(best, abs=1e-10)


def test_unseen_directions_come_longest_first() -> None:
    degree_gram = np.diag([0.0, 1, 0, 0, 1, 0])
    scales = np.array([6.0, 5, 4, 3, 2, 1])
    found = orthogonal_directions(0.5 * degree_gram, degree_gram, scales, 6)
    np.testing.assert_allclose(np.abs(found.vectors[:, 2:]), np.eye(6)[:, [0, 2, 3, 5]], atol=1e-12)


def test_without_any_edge_the_directions_are_those_of_lsi() -> None:
    found = orthogonal_directions(np.zeros((4, 4)), np.zeros((4, 4)), np.array([3.0, 2, 1, 0.5]), 3)
    np.testing.assert_allclose(np.abs(found.vectors), np.eye(4)[:, :3], atol=1e-12)
    np.testing.assert_array_equal(found.values, 0)


def test_a_scale_changes_the_directions_but_not_the_first_value() -> None:
    affinity_gram, degree_gram, scales = problem(30, 20)
    scaled = orthogonal_directions(affinity_gram, degree_gram, scales, 6)
    plain = orthogonal_directions(affinity_gram, degree_gram, np.ones(20), 6)
    assert scaled.values[0] == pytest.approx(plain.values[0], abs=1e-12)
    assert np.abs(scaled.values[1:] - plain.values[1:]).max() > 1e-4


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_problems(n: int) -> None:
    given = problem(8, n)
    found = orthogonal_directions(*given, n)
    np.testing.assert_allclose(found.values, maxima_on_complements(given, found.vectors))


def test_two_runs_give_the_same_bits() -> None:
    one = orthogonal_directions(*problem(60, 60, parts=3), 30)
    two = orthogonal_directions(*problem(60, 60, parts=3), 30)
    np.testing.assert_array_equal(one.vectors, two.vectors)
    np.testing.assert_array_equal(one.values, two.values)
