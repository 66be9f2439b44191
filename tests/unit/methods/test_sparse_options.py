"""What the sparse projections take, and refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.base import FewerDimensions
from lpisearch.methods.responses import label_responses
from lpisearch.methods.slpi import SLPI
from lpisearch.methods.spca import SPCA
from lpisearch.methods.spg import SPG

by_cardinality = pytest.mark.parametrize("cls", [SPG, SPCA])
by_graph = pytest.mark.parametrize("cls", [SPG, SLPI])


def documents(n: int = 60, n_terms: int = 90, seed: int = 0) -> Any:
    """Make unit rows on three topics, each with words of its own and some of all."""
    rng = np.random.default_rng(seed)
    topic = np.arange(n) % 3
    rates = np.where(np.arange(n_terms) % 4 == topic[:, np.newaxis], 1.0, 0.1)
    counts = rng.poisson(rates) + (np.arange(n_terms) == topic[:, np.newaxis])
    return sparse.csr_array(counts / np.linalg.norm(counts, axis=1, keepdims=True))


def used(projection: Any) -> Any:
    """Count the terms of each dimension."""
    return np.count_nonzero(projection.components_, axis=1)


@by_cardinality
@pytest.mark.parametrize("cardinality", [1, 2, 7, 30])
def test_every_dimension_has_the_terms_asked_for(cls: Any, cardinality: int) -> None:
    projection = cls(5, cardinality=cardinality).fit(documents())
    assert used(projection).tolist() == [cardinality] * 5
    assert projection.cardinality_ == cardinality
    assert projection.penalties_.shape == (5,)


@by_cardinality
def test_as_many_terms_as_there_are(cls: Any) -> None:
    projection = cls(3, cardinality=90).fit(documents())
    assert used(projection).max() <= 60


@by_cardinality
def test_automatic_cardinality(cls: Any) -> None:
    """It is the root of the number of terms."""
    projection = cls(3).fit(documents())
    assert projection.cardinality_ == 10
    assert used(projection).tolist() == [10, 10, 10]


@by_cardinality
@pytest.mark.parametrize("bad", [0, -4, 1.5, "some", True])
def test_a_cardinality_that_cannot_be(cls: Any, bad: Any) -> None:
    with pytest.raises(ValueError, match="cardinality must be a whole number above 0"):
        cls(3, cardinality=bad).fit(documents())


@by_cardinality
def test_more_terms_than_there_are(cls: Any) -> None:
    with pytest.raises(ValueError, match="cardinality is 91, but there are only 90 terms"):
        cls(3, cardinality=91).fit(documents())


@by_graph
def test_one_class_is_refused(cls: Any) -> None:
    with pytest.raises(ValueError, match="All documents have the same label"):
        cls(3).fit(documents(), ["sea"] * 60)


@by_graph
def test_labels_of_some_documents(cls: Any) -> None:
    X = documents()
    labels = [f"{at % 3}" if at < 15 else None for at in range(60)]
    blended, plain = cls(2).fit(X, labels), cls(2).fit(X)
    assert blended.components_.shape == plain.components_.shape
    assert not np.allclose(blended.components_, plain.components_)


@by_graph
def test_a_response_without_a_term_is_left_out(cls: Any) -> None:
    # Two pairs of equal documents: the graph has a vector for the pairs, and one within each.
    X = np.array([[1.0], [1], [2], [2]])
    W = np.kron(np.eye(2), [[1, 0.5], [0.5, 1]])
    with pytest.warns(FewerDimensions, match="3 dimensions were requested"):
        projection = cls(3).fit(X, affinity=W)
    np.testing.assert_allclose(projection.eigenvalues_, [1])


@by_graph
def test_no_response_with_a_term(cls: Any) -> None:
    with pytest.raises(ValueError, match="no dimension to keep"):
        cls(1).fit(np.ones((4, 1)), affinity=np.kron(np.eye(2), np.ones((2, 2))))


class TestPenalty:
    """What `beta` does in SLPI."""

    def test_a_greater_one_leaves_fewer_terms(self) -> None:
        X = documents()
        counts = [used(SLPI(3, beta=beta).fit(X)).sum() for beta in (0.03, 0.3, 3)]
        assert counts[0] > counts[1] > counts[2] > 0

    def test_it_is_that_of_the_formula(self) -> None:
        X, beta = documents(), 0.5
        labels = [f"{at % 2}" for at in range(60)]
        projection = SLPI(1, beta=beta).fit(X, labels)
        assert projection.penalties_.tolist() == pytest.approx([beta])
        y = label_responses(labels, 60, np.float64).vectors[:, 0]
        y *= np.sign((X @ projection.components_[0]) @ y)  # the sign of a map is settled by itself

        def objective(a: Any) -> float:
            return float(np.sum((X @ a - y) ** 2) + beta * np.abs(a).sum())

        best = projection.components_[0]
        rng = np.random.default_rng(0)
        near = [best + 0.01 * rng.standard_normal(90) for _ in range(50)]
        assert objective(best) < min(map(objective, near))
        assert objective(best) < objective(0.99 * best)
        assert objective(best) < objective(1.01 * best)

    def test_automatic(self) -> None:
        """It is a thousandth of the number of documents that have a term."""
        X = sparse.vstack([documents(), sparse.csr_array((5, 90))], format="csr")
        np.testing.assert_allclose(SLPI(3).fit(X).penalties_, 0.06)

    def test_automatic_follows_the_length_of_the_rows(self) -> None:
        X = documents()
        W = nearest(X)
        plain, longer = SLPI(3).fit(X, affinity=W), SLPI(3).fit(1000 * X, affinity=W)
        np.testing.assert_allclose(longer.components_, plain.components_ / 1000, atol=1e-9)

    def test_automatic_leaves_something(self) -> None:
        X = np.hstack([1e-4 * documents().toarray(), np.ones((60, 1))])
        assert used(SLPI(3).fit(X)).min() >= 1

    def test_so_large_that_nothing_is_left(self) -> None:
        X = documents()
        with pytest.raises(
            ValueError, match="beta is 5000, which makes every coefficient 0"
        ) as caught:
            SLPI(2, beta=5000).fit(X)
        most = float(str(caught.value).split("less than ")[1].rstrip("."))
        with pytest.warns(FewerDimensions):
            assert used(SLPI(2, beta=0.999 * most).fit(X)).tolist() == [1]

    @pytest.mark.parametrize("bad", [-1, -0.01, np.nan, np.inf, "large", None, True])
    def test_no_penalty_at_all(self, bad: Any) -> None:
        with pytest.raises(ValueError, match='beta must be a number of at least 0 or "auto"'):
            SLPI(2, beta=bad).fit(documents())


class TestComponents:
    """What SPCA gives beyond the number of terms."""

    def test_unit_rows(self) -> None:
        """Each component has length one."""
        components = SPCA(4, cardinality=6).fit(documents()).components_
        np.testing.assert_allclose(np.linalg.norm(components, axis=1), 1)

    def test_labels_are_not_used(self) -> None:
        X = documents()
        labelled = SPCA(3).fit(X, [f"{at % 2}" for at in range(60)])
        np.testing.assert_array_equal(labelled.components_, SPCA(3).fit(X).components_)

    def test_equal_documents(self) -> None:
        """Documents that do not vary have no component."""
        with pytest.raises(ValueError, match="no dimension to keep"):
            SPCA(2).fit(np.ones((5, 3)) / 3)
