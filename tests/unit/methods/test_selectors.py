"""What scikit-learn's tools ask of the methods: support, names, inverses, parts of a graph."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import cross_validate

from lpisearch.graphs.affinity import Affinity
from lpisearch.methods.base import TermSelector
from lpisearch.methods.laplacian_score import LaplacianScore
from lpisearch.methods.lsi import LSI
from lpisearch.methods.rlpi import RLPI
from tests.methods import METHODS, PROJECTIONS

SELECTORS = sorted(name for name, cls in PROJECTIONS.items() if issubclass(cls, TermSelector))
X = np.random.default_rng(0).random((30, 12)) * np.repeat(np.eye(3), 10, axis=0).repeat(4, axis=1)
X += np.random.default_rng(1).random((30, 12)) / 9


@pytest.mark.parametrize("name", SELECTORS)
def test_the_support_is_where_a_term_has_a_loading(name: str) -> None:
    found: Any = METHODS[name](n_components=2).fit(X)
    used = found.components_.any(axis=0)
    np.testing.assert_array_equal(found.get_support(), used)
    np.testing.assert_array_equal(found.get_support(indices=True), np.flatnonzero(used))


def test_a_selection_has_the_names_of_its_terms() -> None:
    found = LaplacianScore(n_components=3).fit(X)
    words = np.array([f"word{number}" for number in range(12)], object)
    assert found.get_feature_names_out(words).tolist() == [f"word{n}" for n in found.selected_]


@pytest.mark.parametrize("name", sorted(PROJECTIONS))
def test_places_are_those_of_their_inverse(name: str) -> None:
    found: Any = PROJECTIONS[name](n_components=2).fit(X)
    places = found.transform(X)
    np.testing.assert_allclose(found.transform(found.inverse_transform(places)), places, atol=1e-8)


def test_all_principal_components_give_the_documents_back() -> None:
    pca = PROJECTIONS["pca"](n_components=12).fit(X)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)), X)


def test_cross_validation_cuts_an_affinity_by_rows_and_columns() -> None:
    weights = sparse.csr_array(X @ X.T)

    class Scored(RLPI):  # no parameters of its own
        def score(self, X: Any, y: Any = None) -> float:
            del X, y
            return float(self.n_components_)

    def run(affinity: Any) -> Any:
        options = {"cv": 3, "params": {"affinity": affinity}, "error_score": "raise"}
        return cross_validate(Scored(n_components=2), X, **options)

    assert run(Affinity(edges=weights))["test_score"].tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match=r"20 x 30.*Affinity\(edges=W\)"):
        run(weights)


@pytest.mark.filterwarnings("ignore::lpisearch.methods.base.FewerDimensions")
def test_lsi_in_parts_is_lsi_of_all() -> None:
    whole, parts = LSI(n_components=12).fit(X), LSI(n_components=12)
    for part in np.split(X, 3):
        parts.partial_fit(part)
    np.testing.assert_allclose(parts.eigenvalues_, whole.eigenvalues_)
    np.testing.assert_allclose(parts.components_, whole.components_, atol=1e-8)


@pytest.mark.parametrize("name", ["olpi", "lpi", "lpp", "rlpi", "ls+lpi", "laplacian-score"])
def test_one_class_distinguishes_nothing(name: str) -> None:
    with pytest.raises(ValueError, match="All documents have the same label"):
        METHODS[name](n_components=2).fit(X, [0] * 30)


@pytest.mark.parametrize("name", ["olpi", "lpi", "lpp", "rlpi", "krlpi"])
def test_two_documents_cannot_be_distinguished(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be distinguished"):
        METHODS[name](n_components=2).fit(X[:2])


def test_messages_have_plain_numbers() -> None:
    with pytest.raises(ValueError, match=r"not 0\.$"):
        LSI(n_components=np.int64(0)).fit(X)  # type: ignore[arg-type]  # a number of NumPy
