from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.graphs.affinity import Affinity
from lpisearch.graphs.base import GRAPHS, GraphOptions
from lpisearch.graphs.supervision import Pairs, first_contradiction, with_pairs

_CHANCE = np.random.default_rng(0)
_X: Any = sparse.csr_array(_CHANCE.random((30, 12)) * (_CHANCE.random((30, 12)) < 0.4))
_LABELS = (_CHANCE.integers(3, size=30)).tolist()


@pytest.mark.parametrize("name", GRAPHS)
def test_pairs_have_their_weights_and_nothing_else_changes(name: str) -> None:
    W = GRAPHS[name].build(_X, _LABELS, GraphOptions(4))
    before = W.toarray()
    near = tuple(np.unravel_index(np.triu(before, 1).argmax(), before.shape))
    upper = before + np.tril(np.full(before.shape, np.inf))
    far = tuple(np.unravel_index(upper.argmin(), upper.shape))
    after = with_pairs(W, Pairs.of([far, (0, 1)], [near])).toarray()  # type: ignore[list-item]
    expected = before.copy()
    for pair, weight in ((far, 1), ((0, 1), 1), (near, 0)):
        expected[pair] = expected[pair[::-1]] = weight
    np.testing.assert_allclose(after, expected, atol=1e-6)


def test_neighbours_are_counted_anew() -> None:
    edges = sparse.csr_array(np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0.0]]))
    W = with_pairs(Affinity(edges=edges), Pairs.of([(2, 3)], [(1, 0)]))
    assert W.n_isolated == 2
    np.testing.assert_array_equal(W.component_labels, [-1, -1, 0, 0])


def test_a_contradiction_is_found_along_the_way() -> None:
    pairs = Pairs.of([(0, 1), (1, 2), (3, 4)], [(2, 3), (0, 2)])
    assert first_contradiction(pairs, 5) == (0, 2)
    assert first_contradiction(Pairs.of([(0, 1)], [(1, 2)]), 5) is None
    with pytest.raises(ValueError, match="Rows 0 and 2"):
        with_pairs(Affinity(edges=sparse.csr_array((5, 5))), pairs)


def test_rows_among_others() -> None:
    pairs = Pairs.of([(7, 3)], [(3, 9)])
    rows = np.array([1, 3, 7, 9])
    np.testing.assert_array_equal(pairs.rows, [3, 7, 9])
    found = pairs.among(rows)
    assert (found.must.tolist(), found.cannot.tolist()) == ([[2, 1]], [[1, 3]])
