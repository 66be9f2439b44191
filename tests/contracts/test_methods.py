"""Every method keeps the same contract, linear or not."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from lpisearch.methods.base import GraphProjection
from tests.methods import EMBEDDINGS, METHODS, PROJECTIONS

every_method = pytest.mark.parametrize("name", sorted(METHODS))
ON_GRAPHS = sorted(name for name, cls in EMBEDDINGS.items() if "graph" in cls().get_params())
GRAPH_PROJECTIONS = sorted(
    name for name, cls in PROJECTIONS.items() if issubclass(cls, GraphProjection)
)


def corpus(n: int = 60, n_terms: int = 80, seed: int = 0) -> Any:
    """Make documents of four topics, each with words of its own and some of all."""
    rng = np.random.default_rng(seed)
    topic = np.arange(n) % 4
    rates = np.where(np.arange(n_terms) % 5 == topic[:, np.newaxis], 1.2, 0.1)
    counts = rng.poisson(rates) + (np.arange(n_terms) == topic[:, np.newaxis])
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def fitted(name: str, X: Any, n_components: Any = 5, **options: Any) -> Any:
    """Fit the method of that name; with the λ of its paper GNMF takes alike documents for one."""
    if name == "gnmf":
        options = {"graph_weight": 1.0} | options
    return METHODS[name](n_components=n_components, **options).fit(X)


def test_all_methods_are_linear_or_not() -> None:
    assert not PROJECTIONS.keys() & EMBEDDINGS.keys()
    assert METHODS.keys() == PROJECTIONS.keys() | EMBEDDINGS.keys()


@pytest.mark.filterwarnings("ignore::lpisearch.methods.base.FewerDimensions")
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    [METHODS[name](n_components=2) for name in sorted(METHODS)]
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


@every_method
def test_one_document_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="1 sample"):
        fitted(name, corpus()[:1])


@every_method
def test_empty_corpus_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="None of the 5 documents contains a term"):
        fitted(name, np.zeros((5, 4)))


@every_method
@pytest.mark.parametrize("bad", [0, -3, 2.5, "many", True, None])
def test_bad_number_of_dimensions_is_refused(name: str, bad: Any) -> None:
    with pytest.raises(ValueError, match="n_components must be a whole number above 0"):
        fitted(name, corpus(), bad)


@pytest.mark.parametrize("name", ON_GRAPHS + GRAPH_PROJECTIONS)
def test_parts_of_the_graph_are_counted(name: str) -> None:
    blocks = [corpus(20, 15), corpus(20, 15, 1), np.ones((1, 2)), np.zeros((1, 3))]
    method: Any = fitted(name, sparse.csr_array(sparse.block_diag(blocks)))
    assert method.n_graph_components_ == 2
    assert method.n_isolated_ == 2


@pytest.mark.parametrize("name", ON_GRAPHS + GRAPH_PROJECTIONS)
def test_labels_for_other_documents_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="60 documents, but 2 labels"):
        METHODS[name](n_components=2).fit(corpus(), ["a", "b"])
