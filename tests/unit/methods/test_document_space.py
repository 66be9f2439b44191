from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles, svd

from lpisearch.methods.linalg import leading_space, whole_space

RANDOM = np.random.default_rng(0)
WIDE = RANDOM.random((12, 30))
TALL = RANDOM.random((30, 12))
LOW_RANK = RANDOM.random((20, 4)) @ RANDOM.random((4, 25))


@pytest.mark.parametrize("X", [WIDE, TALL, LOW_RANK], ids=["wide", "tall", "low rank"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_whole_space_gives_the_documents_back(X: np.ndarray, form: type) -> None:
    space = whole_space(form(X))
    basis = space.to_terms(np.eye(len(space.scales)))
    np.testing.assert_allclose((space.documents * space.scales) @ basis, X, atol=1e-12)
    values = svd(X, compute_uv=False)
    np.testing.assert_allclose(space.scales, values[values > 1e-5 * values[0]], atol=1e-10)
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-12)


def test_rounding_of_single_precision_is_no_dimension() -> None:
    text = RANDOM.random(40).astype(np.float32)
    longer = text * np.float32(3.7)
    X = np.stack([text / np.linalg.norm(text), longer / np.linalg.norm(longer)])
    assert np.abs(X[0] - X[1]).max() > 0
    assert len(whole_space(X).scales) == 1


def test_an_ill_conditioned_basis_is_orthonormal_and_the_documents_fit_it() -> None:
    U, V = svd(WIDE, full_matrices=False)[::2]
    X = (U * np.geomspace(1, 2e-5, 12)) @ V
    space = whole_space(X)
    basis = space.to_terms(np.eye(12))
    np.testing.assert_allclose(basis @ basis.T, np.eye(12), atol=1e-12)
    np.testing.assert_allclose(space.documents, X @ basis.T / space.scales, atol=1e-9)


def test_the_leading_part_keeps_the_largest_values() -> None:
    whole = whole_space(WIDE)
    part = whole.leading(3)
    np.testing.assert_array_equal(part.scales, whole.scales[:3])
    vectors = np.eye(12)[:, :3]
    np.testing.assert_allclose(part.to_terms(np.eye(3)), whole.to_terms(vectors), atol=1e-12)


def test_iteration_finds_the_leading_space_of_a_clear_spectrum() -> None:
    X = LOW_RANK + 1e-5 * RANDOM.random((20, 25))
    space = leading_space(X, 4, np.random.default_rng(0))
    basis = space.to_terms(np.eye(4))
    angles = subspace_angles(basis.T, svd(X)[2][:4].T)
    assert angles.max() < 1e-6
    np.testing.assert_allclose(space.scales, svd(X, compute_uv=False)[:4], rtol=1e-8)


def test_documents_are_exact_in_a_space_found_in_single_precision() -> None:
    X = sparse.random_array((80, 60), density=0.2, rng=1, dtype=np.float32).tocsr()
    space = leading_space(X, 10, np.random.default_rng(0))
    basis = space.to_terms(np.eye(10))
    np.testing.assert_allclose(space.documents * space.scales, X @ basis.T, atol=1e-5)
    np.testing.assert_allclose(basis @ basis.T, np.eye(10), atol=1e-12)
