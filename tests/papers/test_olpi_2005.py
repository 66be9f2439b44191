"""Cai and He, Orthogonal locality preserving indexing, SIGIR 2005: its theorems and figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eig, eigh
from scipy.spatial.distance import pdist

from lpisearch.evaluation.clustering import cluster_documents, clustering_accuracy
from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.olpi import OLPI
from lpisearch.numeric.rows import unit_rows

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Floats

TDT2 = Path("../shared/data/tdt2/tdt2.npz")
PAPER_GRAPH = GraphOptions(n_neighbors=7)
needs_tdt2 = pytest.mark.skipif(not TDT2.exists(), reason=f"{TDT2} is not there")


def principal_components(X: Any, options: GraphOptions) -> tuple[Floats, Floats, Floats]:
    """Step 1 of section 3: all principal components of documents; W and D as dense matrices."""
    products = X @ X.T
    gram = products if isinstance(products, np.ndarray) else products.toarray()
    gram = gram - gram.mean(axis=0)
    gram = gram - gram.mean(axis=1)[:, np.newaxis]
    squares, U = eigh(gram)
    kept = np.flatnonzero(squares > 1e-10 * squares[-1])[::-1]
    W = nearest(X, options=options).toarray()
    return U[:, kept] * np.sqrt(squares[kept]), W, np.diag(W.sum(axis=1))


def small_documents() -> Floats:
    """Give twenty unit rows of counts over fifty terms."""
    counts = np.random.default_rng(3).poisson(1.0, (20, 50)).astype(np.float64)
    return np.asarray(unit_rows(counts))


def test_the_directions_are_those_of_the_papers_iteration() -> None:
    """Section 3: a_k is the eigenvector of M(k), which is not symmetric, with the least value.

    M(k) has k - 1 further eigenvalues 0 from the constraints; they are left aside.
    """
    options = GraphOptions(n_neighbors=4)
    documents, W, D = principal_components(small_documents(), options)
    A = documents.T @ (D - W) @ documents  # X L Xᵀ of the paper
    inverse = np.linalg.inv(documents.T @ D @ documents)  # (X D Xᵀ)⁻¹
    olpi = OLPI(n_components=8, n_neighbors=4).fit(small_documents())
    found = olpi.transform(small_documents())
    taken = np.empty((19, 0))
    for k in range(8):
        middle = np.linalg.inv(taken.T @ inverse @ taken)
        M = (np.eye(19) - inverse @ taken @ middle @ taken.T) @ inverse @ A
        values, vectors = eig(M)
        feasible = np.abs(taken.T @ vectors).max(axis=0, initial=0) < 1e-6
        best = np.flatnonzero(feasible)[np.argmin(values[feasible].real)]
        direction = vectors[:, best].real / np.linalg.norm(vectors[:, best].real)
        taken = np.column_stack([taken, direction])
        assert olpi.locality_[k] == pytest.approx(values[best].real, abs=1e-8)
        ours = found[:, k] - found[:, k].mean()
        ours /= np.linalg.norm(ours)
        theirs = documents @ direction / np.linalg.norm(documents @ direction)
        assert abs(ours @ theirs) == pytest.approx(1, abs=1e-6)


def test_figure_1_eigenvalues_are_never_above_those_of_lpi() -> None:
    X = small_documents()
    documents, W, D = principal_components(X, GraphOptions(n_neighbors=4))
    lpi = eigh(documents.T @ (D - W) @ documents, documents.T @ D @ documents, eigvals_only=True)
    olpi = OLPI(n_components=19, n_neighbors=4).fit(X)
    assert np.all(olpi.locality_ <= lpi + 1e-10)
    assert olpi.locality_[0] == pytest.approx(lpi[0], abs=1e-10)
    assert np.all(olpi.locality_[3:15] < lpi[3:15] - 1e-3)


def test_all_directions_together_are_a_rotation() -> None:
    """Section 1: if all dimensions are used, the metric is not distorted."""
    X = small_documents()
    Y = OLPI(n_components=20, centred=False, n_neighbors=4).fit_transform(X)
    np.testing.assert_allclose(Y @ Y.T, X @ X.T, atol=1e-12)
    Y = OLPI(n_components=19, n_neighbors=4).fit_transform(X)
    np.testing.assert_allclose(pdist(Y), pdist(X), atol=1e-12)


@needs_tdt2
@pytest.mark.data
def test_figure_1_on_the_papers_collection() -> None:
    X, _ = tdt2_subset()
    documents, W, D = principal_components(X, PAPER_GRAPH)
    lpi = eigh(documents.T @ (D - W) @ documents, documents.T @ D @ documents, eigvals_only=True)
    olpi = OLPI(n_components=100, n_neighbors=7).fit(X)
    assert np.all(olpi.locality_ <= lpi[:100] + 1e-8)
    assert olpi.locality_[30] < lpi[30] - 0.05


@needs_tdt2
@pytest.mark.data
def test_figure_4_clusters_hardly_hang_on_the_number_of_dimensions() -> None:
    """Not even in as few as the classes less one: the constant takes no dimension."""
    X, labels = five_classes()
    places = OLPI(50, n_neighbors=7).fit_transform(X)
    for dims in (4, 5, 10, 20, 50):
        found = cluster_documents(places[:, :dims], 5).assignments.tolist()
        assert clustering_accuracy(labels, found) > 0.97


@needs_tdt2
@pytest.mark.data
def test_figure_2_orthogonality_makes_the_dimension_uncritical() -> None:
    X, labels = tdt2_subset()
    documents, W, D = principal_components(X, PAPER_GRAPH)
    pencil = (documents.T @ (D - W) @ documents, documents.T @ D @ documents)
    lpi = documents @ eigh(*pencil)[1][:, :50]
    olpi = OLPI(n_components=50, n_neighbors=7).fit_transform(X)
    plain = pair_precision(documents, labels)
    ours = {d: pair_precision(olpi[:, :d], labels) for d in (5, 10, 20, 50)}
    assert min(ours[10], ours[20], ours[50]) > plain
    assert max(ours.values()) > plain + 0.03
    assert pair_precision(lpi, labels) < plain - 0.1
    assert ours[50] > pair_precision(lpi, labels) + 0.2


def tdt2_subset() -> tuple[sparse.csr_array, Any]:
    """Documents of the 20 largest classes that contain one term, the first with 300 to 400."""
    stored = np.load(TDT2, allow_pickle=False)
    parts = (stored["data"].astype(np.float64), stored["indices"], stored["indptr"])
    counts = sparse.csr_array(parts, shape=tuple(stored["shape"]))
    largest = np.argsort(-np.bincount(stored["label"]))[:20]
    kept = np.flatnonzero(np.isin(stored["label"], largest))
    counts, labels = sparse.csr_array(counts[kept]), stored["label"][kept]
    frequency = np.diff(counts.tocsc().indptr)
    term = np.flatnonzero((frequency >= 300) & (frequency <= 400))[0]
    rows = np.flatnonzero(counts[:, [term]].toarray().ravel())
    return sparse.csr_array(unit_rows(sparse.csr_array(counts[rows]))), labels[rows]


def five_classes() -> tuple[sparse.csr_array, list[str]]:
    """Documents of five classes of TDT2: the fourth to the eighth largest."""
    stored = np.load(TDT2, allow_pickle=False)
    parts = (stored["data"].astype(np.float64), stored["indices"], stored["indptr"])
    counts = sparse.csr_array(parts, shape=tuple(stored["shape"]))
    order = np.argsort(-np.bincount(stored["label"]))
    kept = np.flatnonzero(np.isin(stored["label"], order[3:8]))
    return unit_rows(sparse.csr_array(counts[kept])), stored["label"][kept].astype(str).tolist()


def pair_precision(Y: Floats, labels: Any) -> float:
    """Average precision of intra-topic pairs, all pairs ranked by cosine (section 5.2.2)."""
    Y = np.asarray(unit_rows(Y))
    first, second = np.triu_indices(len(Y), 1)
    ranked = np.argsort(-(Y @ Y.T)[first, second], kind="stable")
    same = (labels[first] == labels[second])[ranked]
    ranks = np.flatnonzero(same) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks))
