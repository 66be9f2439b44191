from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lpisearch.index.format import Manifest
from lpisearch.index.subspace import TAKEN_IN, SubspaceIndex, scaled_rows
from lpisearch.model.reports import BuiltIndex
from lpisearch.options import IndexSpec
from lpisearch.text.vocabulary import Weighting, normalise_rows
from tests.indexing import build_counts

TEXTS = ["ship boat ship", "boat star straße", "", "star moon moon moon"]


@pytest.fixture
def index() -> SubspaceIndex:
    """Return an index of four texts by a map of random numbers."""
    rng = np.random.default_rng(0)
    vocabulary, counts = build_counts([TEXTS])
    weighting = Weighting.fit(counts.matrix, "bm25")
    loadings = rng.standard_normal((len(vocabulary), 3)).astype(np.float32)
    scales = np.array([1, 0.5, 0.25], np.float32)
    X = normalise_rows(weighting.apply(counts.matrix))
    manifest = Manifest(
        spec=IndexSpec(method="lsi"),
        tokeniser={},
        weighting={"name": "bm25", "mean_length": weighting.mean_length, "k1": 1.2, "b": 0.75},
        result=BuiltIndex(documents=len(TEXTS)),
        folded={},
        fingerprint="",
        versions={},
        created="",
    )
    hashes = b"".join(bytes([number]) * 16 for number in range(4))
    return SubspaceIndex(
        manifest,
        {
            "terms": np.frombuffer(vocabulary.terms_as_bytes(), np.uint8),
            "document_frequencies": vocabulary.document_frequencies,
            "idf": weighting.idf,
            "loadings": loadings,
            "scales": scales,
            "vectors": scaled_rows(X @ loadings, scales),
            "document_rows": np.array([1, 2, 5, 9]),
            "content_hashes": np.frombuffer(hashes, np.uint8).reshape(4, 16),
            "taken_in": np.zeros((4, len(TAKEN_IN)), np.int32),
        },
    )


def test_vocabulary_and_weighting_come_back(index: SubspaceIndex) -> None:
    vocabulary, counts = build_counts([TEXTS])
    assert index.vocabulary.terms == vocabulary.terms
    assert index.vocabulary.index == vocabulary.index
    assert index.vocabulary.n_documents == 4
    fitted = Weighting.fit(counts.matrix, "bm25")
    assert index.weighting.mean_length == fitted.mean_length
    assert np.array_equal(
        index.weighting.apply(counts.matrix).data, fitted.apply(counts.matrix).data
    )


def test_contents_are_by_key(index: SubspaceIndex) -> None:
    expected = {row: bytes([at]) * 16 for at, row in enumerate([1, 2, 5, 9])}
    assert index.contents == expected
    assert not index.arrays["taken_in"].any()


def test_projecting_counts_gives_the_stored_rows(index: SubspaceIndex) -> None:
    _, counts = build_counts([TEXTS])
    np.testing.assert_allclose(index.project(counts.matrix), index.vectors, atol=1e-6)
    assert not index.vectors[2].any()


@given(
    arrays.arrays(np.float32, (4, 3), elements=st.floats(-1, 1, width=32, allow_subnormal=False)),
    st.sampled_from([1e-30, 1e-20, 1.0, 1e20, 1e30]),
)
def test_rows_are_unit_vectors_or_zeros(coordinates: Any, size: float) -> None:
    rows = scaled_rows(coordinates * np.float32(size), np.array([1, 1, 0.5], np.float32))
    assert rows.dtype == np.float32
    lengths = np.linalg.norm(rows.astype(float), axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))
    filled = np.abs(coordinates).max(axis=1) * size > 1e-30
    assert np.all(lengths[filled] > 0)
