"""Every method without a linear map keeps the same contract."""

import io
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.base import FewerDimensions
from lpisearch.methods.catalogue import CATALOGUE
from lpisearch.methods.placement import placement_rule
from lpisearch.numeric.rows import SparseRows
from tests.contracts.test_methods import ON_GRAPHS, corpus, fitted
from tests.methods import EMBEDDINGS, PROJECTIONS

every_embedding = pytest.mark.parametrize("name", sorted(EMBEDDINGS))


def cosines(points: Any) -> Any:
    """Compare all rows with each other."""
    return points @ points.T


@every_embedding
def test_fitted_documents_stay_where_they_were_placed(name: str) -> None:
    X = corpus()
    method = fitted(name, X)
    assert method.embedding_.shape == (60, 5)
    np.testing.assert_allclose(method.transform(X), method.embedding_, atol=1e-6)
    np.testing.assert_allclose(method.fit_transform(X), method.embedding_, atol=1e-6)


@every_embedding
def test_dense_and_both_sparse_kinds_agree(name: str) -> None:
    X, new = corpus(), corpus(8, seed=1)
    dense = fitted(name, X)
    for kind in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
        method = fitted(name, kind(X))
        np.testing.assert_allclose(method.embedding_, dense.embedding_, atol=1e-8)
        np.testing.assert_allclose(method.transform(kind(new)), dense.transform(new), atol=1e-8)


@every_embedding
def test_terms_of_a_row_may_come_in_any_order(name: str) -> None:
    X = sparse.csr_array(corpus())
    turned = X.copy()
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        turned.indices[start:stop] = X.indices[start:stop][::-1]
        turned.data[start:stop] = X.data[start:stop][::-1]
    turned.has_sorted_indices = False
    method = fitted(name, X)
    np.testing.assert_allclose(method.transform(turned), method.embedding_, atol=1e-6)


@every_embedding
def test_float32_is_close_to_float64(name: str) -> None:
    X = corpus()
    single_X = X.astype(np.float32)
    double, single = fitted(name, X), fitted(name, single_X)
    assert double.embedding_.dtype == np.float64
    assert single.embedding_.dtype == single.scales_.dtype == np.float32
    assert single.transform(single_X).dtype == np.float32
    near = cosines(single.embed(single_X).astype(np.float64))
    np.testing.assert_allclose(near, cosines(double.embed(X)), atol=1e-2)


@every_embedding
def test_two_fits_are_equal_bit_for_bit(name: str) -> None:
    X = sparse.csr_array(corpus(700, 300), dtype=np.float32)
    new = sparse.csr_array(corpus(20, 300, 1), dtype=np.float32)
    first, second = fitted(name, X), fitted(name, X)
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
    np.testing.assert_array_equal(first.transform(new), second.transform(new))


@every_embedding
def test_order_of_documents_does_not_matter(name: str) -> None:
    X = corpus()
    order = np.random.default_rng(1).permutation(len(X))
    straight, shuffled = fitted(name, X), fitted(name, X[order])
    np.testing.assert_allclose(cosines(shuffled.embed(X)), cosines(straight.embed(X)), atol=2e-2)


@every_embedding
def test_new_documents_land_near_their_like(name: str) -> None:
    X, new = corpus(), corpus(24, seed=1)
    method = fitted(name, X)
    near = method.embed(new) @ method.embed(X).T
    topics = np.arange(60) % 4
    found = topics[near.argmax(axis=1)]
    assert np.count_nonzero(found == np.arange(24) % 4) >= 22


@every_embedding
def test_a_new_document_has_its_place_alone_or_in_company(name: str) -> None:
    method = fitted(name, corpus())
    new = corpus(8, seed=1)
    together = method.transform(new)
    for row, place in zip(new, together, strict=True):
        np.testing.assert_allclose(method.transform(row[np.newaxis])[0], place, atol=1e-9)


@every_embedding
def test_length_of_a_document_makes_no_difference(name: str) -> None:
    method = fitted(name, corpus())
    new = corpus(8, seed=1)
    np.testing.assert_allclose(method.transform(2 * new), method.transform(new), atol=1e-9)


@every_embedding
def test_stored_arrays_place_as_the_estimator_does(name: str) -> None:
    X, new = sparse.csr_array(corpus(), dtype=np.float32), corpus(8, seed=1).astype(np.float32)
    method = fitted(name, X)
    stored = {}
    for key, array in method.placement_arrays().items():
        stream = io.BytesIO()
        np.save(stream, array, allow_pickle=False)
        stream.seek(0)
        stored[key] = np.load(stream, allow_pickle=False)
    fold = placement_rule(method.placement)
    for document, place in zip(new, method.transform(new), strict=True):
        terms = np.flatnonzero(document)
        row = SparseRows.of_query(terms, document[terms], n_terms=80).unit()
        np.testing.assert_allclose(fold(stored, row)[0], place, atol=1e-6)


@every_embedding
def test_disconnected_documents_are_told_apart(name: str) -> None:
    X = sparse.csr_array(sparse.block_diag([corpus(20, 15, seed) for seed in range(3)]))
    near = cosines(fitted(name, X).embed(X))
    own = np.repeat(np.arange(3), 20)
    across = own[:, np.newaxis] != own
    assert near[across].mean() < near[~across].mean() - 0.3


@every_embedding
def test_duplicates_share_a_place(name: str) -> None:
    X = np.vstack([corpus(20), np.repeat(corpus(3), 20, axis=0)])
    X[25] *= 2
    method = fitted(name, X)
    assert np.isfinite(method.embedding_).all()
    copies = np.tile(method.embedding_[20], (20, 1))
    np.testing.assert_allclose(method.embedding_[20:40], copies, atol=1e-6)
    np.testing.assert_allclose(method.transform(X), method.embedding_, atol=1e-6)


@every_embedding
def test_empty_documents_are_placed_at_zero(name: str) -> None:
    X = np.vstack([corpus(), np.zeros((2, 80))])
    method = fitted(name, X)
    assert not method.embedding_[-2:].any()
    assert not method.transform(X)[-2:].any()
    assert not method.embed(X)[-2:].any()
    alone = fitted(name, X[:-2])
    near = cosines(method.embed(X)[:-2])
    np.testing.assert_allclose(near, cosines(alone.embed(X[:-2])), atol=2e-2)


@every_embedding
def test_embedding_has_unit_rows(name: str) -> None:
    X = corpus()
    method = fitted(name, X)
    scaled = method.transform(X) * method.scales_
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    np.testing.assert_allclose(method.embed(X), scaled / lengths, atol=1e-9)
    assert method.scales_.shape == (5,)
    assert (method.scales_ >= 0).all()


@pytest.mark.parametrize("name", ON_GRAPHS)
class TestOnGraphs:
    """What holds where a graph is used."""

    def test_a_ready_graph_serves(self, name: str) -> None:
        X, new = corpus(), corpus(8, seed=1)
        built = fitted(name, X)
        for graph in (nearest(X), nearest(X).toarray()):
            given = clone(built).fit(X, affinity=graph)
            np.testing.assert_allclose(given.embedding_, built.embedding_, atol=1e-8)
            np.testing.assert_allclose(given.transform(new), built.transform(new), atol=1e-8)


# GNMF has factors of the terms as well: the graph does not bound their number.
@pytest.mark.parametrize("name", [name for name in ON_GRAPHS if name != "gnmf"])
class TestInTheSpaceOfTheGraph:
    """What holds where there are no dimensions but those of the graph."""

    def test_more_dimensions_than_the_graph_has_warn(self, name: str) -> None:
        X = np.eye(6)[[0, 0, 1, 1, 2, 2, 0, 1]] + 0.1
        with pytest.warns(FewerDimensions, match="50 dimensions were requested"):
            method = fitted(name, X, 50)
        assert method.embedding_.shape == (8, method.n_components_)
        assert 1 <= method.n_components_ <= 3

    def test_documents_that_nothing_tells_apart_are_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match="The documents cannot be distinguished"):
            fitted(name, np.eye(5))

    def test_dimensions_are_chosen_from_the_spectrum(self, name: str) -> None:
        if "n_components" not in CATALOGUE[name].chooses:
            pytest.skip("takes a number")
        X = corpus()
        chosen = EMBEDDINGS[name](n_components="auto").fit(X)
        rlpi: Any = PROJECTIONS["rlpi"](n_components="auto").fit(X)
        assert chosen.n_components_ == rlpi.n_components_
