"""What the catalogue says of each method is true of its class."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles

import lpisearch
from lpisearch.methods.base import GraphTransformer, Projection
from lpisearch.methods.catalogue import CATALOGUE
from tests.methods import EMBEDDINGS, METHODS, PROJECTIONS

SCALES = [(np.float32, 1e-6), (np.float32, 1e6), (np.float64, 1e-40), (np.float64, 1e40)]

every_method = pytest.mark.parametrize("name", list(CATALOGUE))


def corpus() -> Any:
    """Make 50 documents of 80 terms without negative weights, of three topics."""
    rng = np.random.default_rng(0)
    topics = rng.random((3, 80)) ** 6
    X = rng.poisson(4 * topics[rng.integers(3, size=50)]).astype(float)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@every_method
def test_the_class_knows_its_entry(name: str) -> None:
    cls = METHODS[name]
    assert cls.about is CATALOGUE[name]
    assert getattr(lpisearch, CATALOGUE[name].class_name) is cls
    assert CATALOGUE[name].class_name in lpisearch.__all__


@every_method
def test_needs_are_those_of_the_class(name: str) -> None:
    method, cls = CATALOGUE[name], METHODS[name]
    assert sorted(method.parameters) == sorted(cls().get_params())
    assert method.has_graph == issubclass(cls, GraphTransformer)
    assert method.is_linear == issubclass(cls, Projection)
    assert (method.is_linear, not method.is_linear) == (name in PROJECTIONS, name in EMBEDDINGS)
    assert bool(cls.placement) != method.is_linear
    assert method.chooses <= set(method.parameters)


@every_method
def test_what_it_chooses_may_be_auto(name: str) -> None:
    for parameter in CATALOGUE[name].chooses:
        estimator: Any = METHODS[name](n_components=3).set_params(**{parameter: "auto"})
        assert estimator.fit(corpus()).n_components_ >= 1


@every_method
def test_nested_means_that_fewer_dimensions_are_the_first_of_more(name: str) -> None:
    three, five = (
        np.asarray(METHODS[name](n_components=count).fit(corpus()).transform(corpus()))
        for count in (3, 5)
    )
    alike = np.allclose(three, five[:, :3], atol=1e-8)
    assert alike or not CATALOGUE[name].is_nested


@pytest.mark.parametrize("name", sorted(PROJECTIONS.keys() - {"ls+lpi"}))
def test_few_words_are_few(name: str) -> None:
    """Loadings are exactly 0 where the catalogue says so, and nowhere else.

    `ls+lpi` leaves out terms too, but how many is up to their scores.
    """
    options = {"n_selected": 20} if name == "lpfl" else {}
    fitted = PROJECTIONS[name](n_components=4, **options).fit(corpus())
    zeros = float(np.mean(fitted.components_ == 0))
    few = CATALOGUE[name].has_few_words or CATALOGUE[name].selects_terms
    assert zeros > 0.4 if few else zeros < 0.1
    if CATALOGUE[name].selects_terms:
        assert (np.count_nonzero(fitted.components_, axis=1) == 1).all()


@every_method
def test_clusters_are_found_where_it_says_so(name: str) -> None:
    clusters = METHODS[name](n_components=3).fit(corpus()).clusters_
    assert (clusters is not None) == CATALOGUE[name].finds_clusters
    assert clusters is None or len(clusters) == len(corpus())


@every_method
@pytest.mark.parametrize("n_documents", [2, 30, 10_000])
def test_usual_dimensions_are_possible(name: str, n_documents: int) -> None:
    usual = CATALOGUE[name].usual_dimensions(n_documents)
    assert usual == "auto" or (isinstance(usual, int) and 1 <= usual <= max(n_documents - 1, 2))


@every_method
@pytest.mark.parametrize(("dtype", "factor"), [*SCALES, (np.float32, 1e20), (np.float64, 1e-160)])
def test_the_length_of_all_documents_is_no_matter_or_refused(
    name: str, dtype: Any, factor: float
) -> None:
    """Documents that are all longer or shorter give the same places, or the reason why not."""
    options: dict[str, Any] = {"n_selected": 20} if name == "lpfl" else {}
    X = sparse.csr_array(corpus())
    usual = METHODS[name](n_components=3, **options).fit(X).transform(X)
    if name == "rlpi":
        options = {"alpha": factor**2}
    scaled = sparse.csr_array((X * factor).astype(dtype))
    estimator = METHODS[name](n_components=3, **options)
    if (dtype, factor) not in SCALES and not CATALOGUE[name].finds_clusters:
        with pytest.raises(ValueError, match="Normalise the documents to unit length"):
            estimator.fit(scaled)
        return
    places = np.asarray(estimator.fit(scaled).transform(scaled), dtype=float)
    places /= np.abs(places).max()
    assert np.degrees(subspace_angles(places, usual).max()) < 2


@every_method
def test_a_term_may_come_twice(name: str) -> None:
    X = sparse.csr_array(corpus())
    parts = (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr)
    twice = sparse.csr_array(parts, shape=X.shape)
    once, again = (METHODS[name](n_components=3).fit(each).transform(X) for each in (X, twice))
    np.testing.assert_allclose(again, once, atol=1e-8)
    assert twice.nnz == 2 * X.nnz


def test_the_contract_on_imports_names_every_method() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    independent = next(each for each in contracts if each["type"] == "independence")
    assert independent["modules"] == sorted(method.module for method in CATALOGUE.values())


def test_the_catalogue_needs_no_numpy() -> None:
    code = (
        "import sys; from lpisearch.methods.catalogue import CATALOGUE; assert CATALOGUE;"
        "sys.exit(any(each in sys.modules for each in ('numpy', 'scipy', 'sklearn')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
