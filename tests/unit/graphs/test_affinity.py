from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from lpisearch.graphs.affinity import Affinity, as_affinity


def mixed() -> Affinity:
    """Make an affinity of edges and a clique."""
    edges = np.zeros((6, 6))
    edges[0, 1] = edges[1, 0] = 0.5
    edges[4, 4] = 2.0
    factor = sparse.csr_array(np.array([[0, 0, 1.0, 1, 0, 0]]).T)
    return Affinity(edges=sparse.csr_array(edges), factor=factor)


def test_product_degrees_and_array_agree() -> None:
    W = mixed()
    full = W.toarray()
    block = np.arange(12.0).reshape(6, 2)
    np.testing.assert_allclose(W @ block, full @ block)
    np.testing.assert_allclose(W @ block[:, 0], full @ block[:, 0])
    np.testing.assert_allclose(W.degrees, full.sum(axis=1))


def test_components_count_links_to_others_only() -> None:
    W = mixed()
    assert W.component_labels.tolist() == [0, 0, 1, 1, -1, -1]
    assert (W.n_components, W.n_isolated) == (2, 2)


def test_dense_factor_serves() -> None:
    factor = np.random.default_rng(0).random((5, 3))
    W = Affinity(factor=factor)
    np.testing.assert_allclose(W.toarray(), factor @ factor.T)
    np.testing.assert_allclose(W.degrees, (factor @ factor.T).sum(axis=1))
    assert (W.n_components, W.n_isolated) == (1, 0)


def test_needs_one_part() -> None:
    with pytest.raises(ValueError, match="needs edges or a factor"):
        Affinity()


def test_ready_matrices_are_checked() -> None:
    """A matrix that is no affinity over these documents is refused with the reason."""
    good = np.array([[0, 1.0], [1.0, 0]])
    np.testing.assert_array_equal(as_affinity(sparse.coo_array(good), 2).toarray(), good)
    assert as_affinity(mixed(), 6).n_components == 2
    for bad, reason in (
        (np.array([[0, 1.0], [0.5, 0]]), "not symmetric"),
        (np.array([[0, -1.0], [-1.0, 0]]), "negative"),
        (np.array([[0, np.nan], [np.nan, 0]]), "not a number"),
        (np.ones((2, 3)), "2 x 3, but there are 2"),
        (np.ones((3, 3)), "3 x 3, but there are 2"),
    ):
        with pytest.raises(ValueError, match=reason):
            as_affinity(bad, 2)
