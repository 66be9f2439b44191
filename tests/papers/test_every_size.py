"""Every method whose algorithm changes with size, at four sizes, against its naive dense version.

Sizes are of documents; there are always some more terms, so that the smaller side of X is as
large. Changes lie at 600 (eigenvectors of the graph, OLPI), 1,500 (LSI, PCA), 2,000 (regression),
3,000 (OLPI, LPI, LPP and LS+LPI) and 5,000 documents (KRLPI). Those at 1,000 documents are run
always, the others by `make test-papers` and `make test-slow`.
"""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles

from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import nearest as nearest_graph
from lpisearch.methods import olpi as olpi_module
from lpisearch.methods.eigenmaps import Eigenmaps
from lpisearch.methods.krlpi import KRLPI
from lpisearch.methods.linalg import FULL_SPACE
from lpisearch.methods.lpi import LPI
from lpisearch.methods.lpp import LPP
from lpisearch.methods.ls_lpi import LSLPI
from lpisearch.methods.lsi import LSI
from lpisearch.methods.olpi import OLPI
from lpisearch.methods.pca import PCA
from lpisearch.methods.rlpi import RLPI
from lpisearch.numeric.rows import unit_rows
from tests.papers import naive

TDT2 = Path("../shared/data/tdt2/tdt2.npz")
SIZES = (1000, *(pytest.param(n, marks=pytest.mark.slow) for n in (1500, 2000, 5000)))
every_size = pytest.mark.parametrize("n", SIZES)
NEIGHBOURS, ALPHA = 7, 0.1
# In part of the space the part itself is found by iteration, to a thousandth.
WHOLE, PART = 0.1, 5.0


class Problem(NamedTuple):
    """Documents, dense and sparse, and their graph, by the naive version and by the package."""

    X: Any
    rows: Any
    W: Any
    affinity: Any


@cache
def problem(n: int) -> Problem:
    """Make documents; the naive graph is the affinity of all."""
    X = naive.documents(n, n + 100)
    rows = sparse.csr_array(X)
    W = naive.nearest(X, NEIGHBOURS)
    return Problem(X, rows, W, nearest_graph(rows, None, GraphOptions(NEIGHBOURS)))


@cache
def space(n: int) -> Any:
    """Give the SVD space of the documents, once for all methods that work in it."""
    return naive.terms_space(problem(n).X)


@cache
def responses(n: int) -> Any:
    """Give the naive eigenvectors, once for all methods that begin with them."""
    return naive.eigenmap(problem(n).W, 5)


def degrees(A: Any, B: Any) -> float:
    """Give the largest angle between the columns of two matrices."""
    return float(np.degrees(subspace_angles(A, B).max()))


@every_size
def test_graph(n: int) -> None:
    """Equation 11 of rlpi-2007: every edge and its weight."""
    given = problem(n)
    np.testing.assert_allclose(given.affinity.toarray(), given.W, atol=1e-12)


@every_size
def test_eigenmaps(n: int) -> None:
    """W y = λ D y, by a filtered block from 600 documents on."""
    values, Y = responses(n)
    maps = Eigenmaps(5, tolerance=1e-9).fit(problem(n).rows, affinity=problem(n).affinity)
    np.testing.assert_allclose(maps.eigenvalues_, values, atol=1e-6)
    assert degrees(maps.embedding_, Y) < WHOLE


@every_size
def test_rlpi(n: int) -> None:
    """Equations 12 and 13 of rlpi-2007, one after the other, on the smaller side of X."""
    X, rows, _, affinity = problem(n)
    exact = naive.rlpi(X, responses(n)[1], ALPHA)
    rlpi = RLPI(5, alpha=ALPHA, tolerance=1e-9, regression_tolerance=1e-7)
    assert degrees(rlpi.fit(rows, affinity=affinity).components_.T, exact) < WHOLE


@every_size
def test_rlpi_of_more_documents_than_terms(n: int) -> None:
    X = np.ascontiguousarray(problem(n).X[:, : n // 2])
    y = np.arange(n) % 4
    rlpi = RLPI(3, alpha=ALPHA, regression_tolerance=1e-7).fit(sparse.csr_array(X), y.tolist())
    assert degrees(rlpi.components_.T, naive.rlpi(X, naive.indicators(y), ALPHA)) < WHOLE


@every_size
def test_lsi(n: int) -> None:
    """All of X is decomposed up to 1,500 documents, beyond the leading part is iterated."""
    X, rows, _, _ = problem(n)
    values, U = naive.lsi(X, 5)
    lsi = LSI(5).fit(rows)
    np.testing.assert_allclose(lsi.eigenvalues_, values, rtol=1e-5)
    assert degrees(lsi.transform(X), U) < 0.5


@every_size
def test_pca(n: int) -> None:
    """As LSI, about the mean, which is never written down."""
    X, rows, _, _ = problem(n)
    about = X - X.mean(axis=0)
    values, U = naive.lsi(about, 4)
    pca = PCA(4).fit(rows)
    np.testing.assert_allclose(pca.eigenvalues_ * n, values, rtol=1e-5)
    assert degrees(about @ pca.components_.T, U) < 0.5


@every_size
def test_lpi(n: int) -> None:
    """Equation 6 of rlpi-2007, in all of the space, by iteration beyond 3,000 documents."""
    X, rows, W, affinity = problem(n)
    values, a = naive.lpi(X, W, 4, None, space(n))
    lpi = LPI(4).fit(rows, affinity=affinity)
    near = n > FULL_SPACE
    np.testing.assert_allclose(lpi.eigenvalues_, values, atol=2e-3 if near else 1e-7)
    assert degrees(lpi.transform(X), X @ a) < (PART if near else WHOLE)


@every_size
def test_lpp(n: int) -> None:
    """Equation 4 of lpp-analysis-2005, about the mean, by iteration beyond 3,000 documents."""
    X, rows, W, affinity = problem(n)
    values, a = naive.lpp(X, W, 4, naive.terms_space(X - X.mean(axis=0)))
    lpp = LPP(4).fit(rows, affinity=affinity)
    near = n > FULL_SPACE
    np.testing.assert_allclose(lpp.eigenvalues_, values, atol=2e-3 if near else 1e-7)
    assert degrees(lpp.transform(X - X.mean(axis=0)), (X - X.mean(axis=0)) @ a) < (
        PART if near else WHOLE
    )


@every_size
def test_ls_lpi(n: int) -> None:
    """LPI on the terms of the best Laplacian scores; beyond 3,000 of both, the criterion counts."""
    X, rows, W, affinity = problem(n)
    count = 2 * n // 3
    best = np.sort(np.argsort(naive.laplacian_scores(X, W))[:count])
    found = LSLPI(4, n_selected=count).fit(rows, affinity=affinity)
    np.testing.assert_array_equal(found.selected_, best)
    values, a = naive.lpi(X[:, best], W, 4, None)
    if count > FULL_SPACE:
        np.testing.assert_array_less(1 - found.eigenvalues_, 2 * (1 - values) + 0.02)
    else:
        assert degrees(found.transform(X), X[:, best] @ a) < WHOLE


@every_size
def test_olpi(n: int) -> None:
    """Equation 6 of olpi-2005, about the mean; by iteration, the criterion is what counts."""
    X, rows, W, affinity = problem(n)
    olpi = OLPI(3).fit(rows, affinity=affinity)
    X = X - X.mean(axis=0)
    exact = naive.olpi(X, W, 3, None, naive.terms_space(X))
    if n > FULL_SPACE:
        least = naive.locality(X, W, exact)
        # With hardly more terms than documents XXᵀ is nearly singular, and its solution near.
        np.testing.assert_array_less(naive.locality(X, W, olpi.components_.T), 1.05 * least)
    else:
        assert degrees(olpi.components_.T, exact) < WHOLE


@pytest.mark.skipif(not TDT2.exists(), reason=f"{TDT2} is not there")
@pytest.mark.data
@pytest.mark.parametrize(
    "n", [2500, *(pytest.param(n, marks=pytest.mark.slow) for n in (3000, 6000))]
)
def test_olpi_by_iteration_has_the_criterion_of_the_exact(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of fifty directions, one by one, is within 5 in 100 of the paper's on real documents."""
    X = tdt2_documents(n)
    W = nearest_graph(X, None, GraphOptions(NEIGHBOURS))
    exact = OLPI(50, svd_components=None).fit(X, affinity=W)
    monkeypatch.setattr(olpi_module, "FULL_SPACE", 2000)
    found = OLPI(50).fit(X, affinity=W)
    assert (exact.solver_, found.solver_) == ("exact", "iterative")
    np.testing.assert_array_less(found.locality_, 1.05 * exact.locality_)
    gram = found.components_ @ found.components_.T
    np.testing.assert_allclose(gram, np.eye(50), atol=1e-6)


def tdt2_documents(n: int) -> Any:
    """Draw documents of TDT2 as unit rows of log counts and idf."""
    stored = np.load(TDT2, allow_pickle=False)
    counts = (1 + np.log(stored["data"]), stored["indices"], stored["indptr"])
    every = sparse.csr_array(counts, shape=tuple(stored["shape"]))
    X = every[np.sort(np.random.default_rng(0).choice(every.shape[0], n, replace=False))]
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    idf = np.log(n / np.maximum(frequency, 1))
    return unit_rows(sparse.csr_array(X.multiply(idf[np.newaxis])))


@pytest.mark.parametrize("n", [*SIZES, pytest.param(5100, marks=pytest.mark.slow)])
def test_krlpi(n: int) -> None:
    """(K + αI) C = Y with the kernel of all pairs up to 5,000 documents, beyond with landmarks."""
    X = naive.documents(n, 300)
    y = np.arange(n) % 4
    K = np.exp(-(2 - 2 * X @ X.T))
    krlpi = KRLPI(3, kernel="rbf", gamma=1.0, alpha=ALPHA).fit(sparse.csr_array(X), y.tolist())
    chosen = krlpi.landmarks_ if len(krlpi.landmarks_) < n else None
    assert (chosen is None) == (n <= krlpi.exact_documents)
    exact = naive.kernel_ridge(K, naive.indicators(y), ALPHA, chosen)
    assert degrees(krlpi.embedding_, exact) < WHOLE
