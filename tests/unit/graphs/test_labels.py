from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.graphs.affinity import complete
from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import nearest
from lpisearch.graphs.supervision import blend, memberships, same_label

X: Any = np.random.default_rng(0).random((6, 4))


def test_same_label_weights() -> None:
    """Within a class the weight is 1 / m_c, so every degree is 1; binary gives equation 16."""
    y = ["a", "a", "b", "a", "b", "c"]
    W = same_label(X, y)
    expected = np.zeros((6, 6))
    expected[np.ix_([0, 1, 3], [0, 1, 3])] = 1 / 3
    expected[np.ix_([2, 4], [2, 4])] = 1 / 2
    expected[5, 5] = 1
    np.testing.assert_allclose(W.toarray(), expected)
    np.testing.assert_allclose(W.degrees, 1)
    binary = same_label(X, y, GraphOptions(edge_weights="binary"))
    np.testing.assert_allclose(binary.toarray(), expected > 0)


def test_several_labels_are_shared_out() -> None:
    shares, names = memberships([["b", "a"], "a", None, ("b",), [], "b"], 6)
    assert names == ["a", "b"]
    expected = np.array([[0.5, 0.5], [1, 0], [0, 0], [0, 1], [0, 0], [0, 1]])
    np.testing.assert_allclose(shares.toarray(), expected)


@pytest.mark.parametrize("nothing", [None, "", -1, float("nan"), np.nan, [], (), [None, ""]])
def test_what_counts_as_unlabelled(nothing: Any) -> None:
    shares, names = memberships([nothing, "a"], 2)
    assert names == ["a"]
    np.testing.assert_array_equal(shares.toarray(), [[0], [1]])


def test_zero_is_a_label() -> None:
    assert memberships([0, 1, -1], 3)[1] == [0, 1]
    assert memberships(np.array([0, 1, -1]), 3)[1] == [0, 1]


FLAGS = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize("y", [FLAGS, FLAGS > 0, FLAGS.astype(float), sparse.csr_array(FLAGS)])
def test_a_row_of_0_and_1_for_each_document_names_its_classes(y: Any) -> None:
    shares, names = memberships(y, 3)
    assert names == [0, 1, 2]
    np.testing.assert_array_equal(shares.toarray(), [[0.5, 0, 0.5], [0, 1, 0], [0, 0, 0]])


def test_numbers_that_are_no_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="other than 0 and 1"):
        memberships(2 * FLAGS, 3)
    with pytest.raises(ValueError, match=r"y holds 0\.25, which is not a class"):
        memberships([0.25, 1.0, 2.0], 3)
    assert memberships(np.array([[1.0], [2.0]]), 2)[1] == [1.0, 2.0]


def test_labels_must_be_there() -> None:
    for labels, reason in ((None, "there are none"), (["", None], "No document has a label")):
        with pytest.raises(ValueError, match=reason):
            memberships(labels, 2)
    with pytest.raises(ValueError, match="2 documents, but 1 labels"):
        memberships(["a"], 2)


def test_blend_joins_by_label_where_it_is_known() -> None:
    y = ["a", "b", None, "a", None, ""]
    options = GraphOptions(n_neighbors=3)
    W, near = blend(X, y, options).toarray(), nearest(X, None, options).toarray()
    known = np.array([True, True, False, True, False, False])
    both = known[:, np.newaxis] & known
    np.testing.assert_allclose(W[~both], near[~both])
    assert W[0, 1] == 0
    np.testing.assert_allclose(W[0, 3], 5 * 3 / 2)
    np.testing.assert_allclose(W[0, [0, 3]].sum(), 5 * 3)
    np.testing.assert_allclose(W[1, 1], 5 * 3)


def test_complete_is_all_inner_products() -> None:
    np.testing.assert_allclose(complete(X).toarray(), X @ X.T)
    np.testing.assert_allclose(complete(X).degrees, (X @ X.T).sum(axis=1))
