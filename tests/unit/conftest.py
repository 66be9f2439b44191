"""A small subspace of a random corpus, by any method and weighting."""

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lpisearch.index.format import PLACEMENT, Manifest
from lpisearch.index.subspace import HASH_BYTES, TAKEN_IN, SubspaceIndex, scaled_rows
from lpisearch.methods.base import Embedding
from lpisearch.model.reports import BuiltIndex
from lpisearch.options import IndexSpec
from lpisearch.text.vocabulary import Vocabulary, Weighting, normalise_rows
from tests.indexing import build_counts
from tests.methods import METHODS

N_DOCUMENTS = 60
_TOPICS = ("sea ship fish wave", "bread oven yeast bake", "car engine road wheel")


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Return joined tokens of documents, each mostly on one of three topics."""
    chance = random.Random(0)  # noqa: S311 (a test corpus needs no secrets)
    every = " ".join(_TOPICS).split()
    return [
        " ".join(
            chance.choices(_TOPICS[number % 3].split(), k=8)
            + chance.choices(every, k=3)
            + [f"w{chance.randrange(40)}" for _ in range(4)]
        )
        for number in range(N_DOCUMENTS)
    ]


@pytest.fixture(scope="session")
def subspace(texts: list[str]) -> Callable[..., SubspaceIndex]:
    """Return a maker of indexes: the name of a projection, and of a weighting."""

    def make(method: str, weighting: str = "log-tfidf", dims: int = 6) -> SubspaceIndex:
        vocabulary, counts = build_counts([texts])
        weights = Weighting.fit(counts.matrix, weighting)
        X = normalise_rows(weights.apply(counts.matrix))
        projection: Any = METHODS[method](n_components=dims)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the graph of so few documents may fall apart
            projection.fit(X)
        vectors = scaled_rows(projection.transform(X), projection.scales_)
        arrays: dict[str, NDArray[Any]] = {
            "terms": np.frombuffer(vocabulary.terms_as_bytes(), np.uint8),
            "document_frequencies": vocabulary.document_frequencies,
            "idf": weights.idf,
            **_map_arrays(projection),
            "scales": projection.scales_,
            "vectors": vectors,
            "document_rows": np.arange(N_DOCUMENTS),
            "content_hashes": np.zeros((N_DOCUMENTS, HASH_BYTES), np.uint8),
            "taken_in": np.zeros((N_DOCUMENTS, len(TAKEN_IN)), np.int32),
        }
        placement = getattr(projection, "placement", "")
        return SubspaceIndex(_manifest(method, placement, weights, vocabulary), arrays)

    return make


def _map_arrays(projection: Any) -> dict[str, Any]:
    if isinstance(projection, Embedding):
        own = projection.placement_arrays()
        return {PLACEMENT + name: array for name, array in own.items()}
    loadings = np.ascontiguousarray(projection.components_.T)
    return {"loadings": loadings, "eigenvalues": projection.eigenvalues_}


def _manifest(method: str, placement: str, weights: Weighting, vocabulary: Vocabulary) -> Manifest:
    return Manifest(
        spec=IndexSpec(method=method),
        placement=placement,
        tokeniser={"language": "english"},
        weighting={
            "name": weights.name,
            "mean_length": weights.mean_length,
            "k1": weights.k1,
            "b": weights.b,
        },
        result=BuiltIndex(documents=vocabulary.n_documents),
        folded={"documents": 0, "words": 0, "unknown": 0},
        fingerprint="",
        versions={},
        created="2026-01-01T00:00:00+00:00",
    )
