"""Collections made of counts, and evaluations of them without a library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.sparse import csr_array

from lpisearch.evaluation.collection import Collection, EvaluationInput
from lpisearch.search.session import Session
from lpisearch.text.vocabulary import VocabularyLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PER_CLASS = 12


@pytest.fixture
def counts() -> csr_array:
    """Return 36 documents x 40 terms: each third of them prefers ten terms of its own."""
    chance = np.random.default_rng(3)
    likely = np.full((3 * _PER_CLASS, 40), 0.15)
    for number in range(3):
        likely[number * _PER_CLASS : (number + 1) * _PER_CLASS, number * 10 : number * 10 + 10] = 2
    return csr_array(chance.poisson(likely).astype(np.float32))


@pytest.fixture
def collect(counts: csr_array) -> Callable[..., Collection]:
    """Return a maker of collections; without labels given, each third is a class."""

    def make(
        labels: Sequence[tuple[str, ...]] | None = None,
        splits: Sequence[str] | None = None,
        matrix: csr_array = counts,
    ) -> Collection:
        rows = matrix.shape[0]
        return Collection(
            name="made",
            counts=matrix,
            labels=tuple(labels or [(f"class {row // _PER_CLASS}",) for row in range(rows)]),
            splits=tuple(splits or [""] * rows),
            terms=tuple(f"term{column}" for column in range(matrix.shape[1])),
            keys=(),
            weighting="log-tfidf",
            limits=VocabularyLimits(min_df=1),
            fingerprint="made",
        )

    return make


@pytest.fixture
def source(collect: Callable[..., Collection]) -> Callable[..., EvaluationInput]:
    """Return a maker of sources without an index."""

    def make(*args: object, **options: object) -> EvaluationInput:
        return EvaluationInput(
            Session(Path("nowhere.db")), collect(*args, **options), has_index=False
        )

    return make
