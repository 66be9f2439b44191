"""Every graph of the registry through the same checks."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.graphs.affinity import complete
from lpisearch.graphs.base import EDGE_WEIGHTS, GRAPHS, GraphOptions
from lpisearch.numeric.rows import unit_rows

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Affinity, Floats

every_graph = pytest.mark.parametrize("name", sorted(GRAPHS))
LABELS = [("a", "b", "c", None, ["a", "c"])[number % 5] for number in range(60)]
OPTIONS = GraphOptions(n_neighbors=4, radius=1.1)


def corpus(n: int = 60) -> Floats:
    """Make documents of three topics; the last one has no term."""
    rng = np.random.default_rng(0)
    topics = rng.random((3, 40)) ** 8
    counts = rng.poisson(3 * topics[rng.integers(3, size=n)]).astype(float)
    counts[-1] = 0
    return np.asarray(unit_rows(counts))


def built(name: str, X: Any, labels: Any = None, options: GraphOptions = OPTIONS) -> Affinity:
    """Build a graph with labels, which those that need none do not look at."""
    return GRAPHS[name].build(X, LABELS if labels is None else labels, options)


@every_graph
@pytest.mark.parametrize("edge_weights", EDGE_WEIGHTS)
def test_is_symmetric_without_negative_weights(name: str, edge_weights: str) -> None:
    W = built(name, corpus(), options=GraphOptions(n_neighbors=4, edge_weights=edge_weights))
    full = W.toarray()
    assert W.shape == full.shape == (60, 60)
    np.testing.assert_allclose(full, full.T, atol=1e-12)
    assert full.min() >= 0
    np.testing.assert_allclose(W.degrees, full.sum(axis=1))
    block = np.random.default_rng(1).random((60, 3))
    np.testing.assert_allclose(W @ block, full @ block)


@every_graph
def test_sparse_is_dense(name: str) -> None:
    X = corpus()
    full = built(name, X).toarray()
    np.testing.assert_allclose(built(name, sparse.csr_array(X)).toarray(), full, atol=1e-12)
    single = built(name, sparse.csr_array(X.astype(np.float32)))
    np.testing.assert_allclose(single.toarray(), full, rtol=1e-5, atol=1e-6)


@every_graph
def test_terms_that_come_twice_are_added_up(name: str) -> None:
    X = sparse.csr_array(corpus())
    halves = (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr)
    W = built(name, sparse.csr_array(halves, shape=X.shape))
    np.testing.assert_allclose(W.toarray(), built(name, X).toarray(), atol=1e-12)


@every_graph
def test_the_order_of_documents_makes_no_difference(name: str) -> None:
    X, order = corpus(), np.random.default_rng(2).permutation(60)
    turned = built(name, X[order], [LABELS[each] for each in order]).toarray()
    np.testing.assert_allclose(turned, built(name, X).toarray()[np.ix_(order, order)], atol=1e-12)


@every_graph
def test_twice_is_the_same_bits(name: str) -> None:
    first, second = (built(name, sparse.csr_array(corpus())) for _ in range(2))
    np.testing.assert_array_equal(first.toarray(), second.toarray())


@every_graph
def test_a_document_without_a_term_joins_nobody_by_its_words(name: str) -> None:
    labels: list[Any] = [*LABELS[:-1], None]
    W = built(name, corpus(), labels)
    assert W.component_labels[-1] == -1
    assert W.n_isolated >= 1


@every_graph
@pytest.mark.parametrize("factor", [1e-100, 1e-20, 1e20, 1e100])
def test_the_length_of_all_documents_scales_no_cosine(name: str, factor: float) -> None:
    W = built(name, sparse.csr_array(corpus() * factor)).toarray()
    grown = factor**2 if GRAPHS[name].is_complete else 1
    np.testing.assert_allclose(W / grown, built(name, corpus()).toarray(), rtol=1e-6, atol=1e-9)


@every_graph
def test_labels_are_asked_for_where_they_are_needed(name: str) -> None:
    if GRAPHS[name].needs_labels:
        with pytest.raises(ValueError, match="needs labels"):
            GRAPHS[name].build(corpus())
        with pytest.raises(ValueError, match="60 documents, but 2 labels"):
            GRAPHS[name].build(corpus(), ["a", "b"])
    else:
        W = GRAPHS[name].build(corpus(), None, OPTIONS).toarray()
        np.testing.assert_array_equal(W, built(name, corpus()).toarray())


@every_graph
def test_no_graph_fills_a_matrix_of_documents_by_documents(name: str) -> None:
    X = sparse.csr_array(unit_rows(np.random.default_rng(0).poisson(0.02, (2000, 500)) * 1.0))
    labels = [number % 7 for number in range(2000)]
    W = GRAPHS[name].build(X, labels, GraphOptions(n_neighbors=5, radius=0.7))
    parts = [part for part in (W.edges, W.factor) if part is not None]
    assert all(sparse.issparse(part) for part in parts)
    assert sum(part.nnz for part in parts if sparse.issparse(part)) < 2000 * 2000 / 50


def test_negative_sums_have_no_complete_graph() -> None:
    with pytest.raises(ValueError, match="positive sums"):
        complete(np.array([[1.0, 0], [-1, 0.1], [1, 0]]))


def test_the_list_of_graphs_needs_no_scipy() -> None:
    code = (
        "import sys; from lpisearch.graphs.base import GRAPHS, EDGE_WEIGHTS; "
        "assert GRAPHS['nearest']; "
        "sys.exit('numpy' in sys.modules or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
