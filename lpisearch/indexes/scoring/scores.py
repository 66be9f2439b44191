"""Scores of documents and passages, per component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.indexes.scoring.hybrid import Hybrid
    from lpisearch.indexes.scoring.units import Units


@dataclass(frozen=True, eq=False, slots=True)
class Scores:
    """What the legs give each document; a long one has the scores of its best passage.

    Attributes
    ----------
    by
        What the ranking is by.
    bm25, cosines
        Of the legs that were asked. The cosines are those of the question as it was put.
    found
        Whether the leg or legs found anything at all.
    evidence
        Whether a document has a word of the question, or a cosine that is special among all:
        others are not worth showing. None if that was not asked.
    units
        What stands for each document, as a number in the engine's units; None where each document
        stands for itself.
    passages
        The score of each passage, below all others where there is no evidence for it; None where
        there are no passages.
    """

    by: NDArray[np.float32]
    bm25: NDArray[np.float32] | None
    cosines: NDArray[np.float32] | None
    found: bool
    evidence: NDArray[np.bool_] | None = None
    units: NDArray[np.int64] | None = None
    passages: NDArray[np.float32] | None = None

    def of_documents(self, units: Units) -> Scores:
        """Turn scores of all units into those of documents: long ones have their best passage's."""
        if units.passages is None:
            return self
        best = units.best(self.by, self.bm25)
        fused = self.bm25 is not None and self.cosines is not None
        return Scores(
            units.of_documents(self.by, best, fused=fused),
            None if self.bm25 is None else units.chosen(self.bm25, best),
            None if self.cosines is None else units.chosen(self.cosines, best),
            self.found,
            None if self.evidence is None else units.chosen(self.evidence, best),
            best,
            self._worth_showing(units.documents),
        )

    def _worth_showing(self, documents: int) -> NDArray[np.float32]:
        own = self.by[documents:]
        if self.evidence is None:
            return own
        return np.where(self.evidence[documents:], own, np.float32(-np.inf))


@dataclass(frozen=True, eq=False, slots=True)
class HybridParts:
    """What the hybrid score of each unit is the sum of, and the weight that is in `places`."""

    words: NDArray[np.float32]
    weight: np.float32
    places: NDArray[np.float32]
    feedback: NDArray[np.float32]


@dataclass(frozen=True, eq=False, slots=True)
class UnitScores:
    """What the legs give documents as wholes and passages.

    Attributes
    ----------
    scores
        Of each unit, documents first.
    hybrid, moved
        How they came about, and what they were before the feedback; None but in hybrid.
    """

    scores: Scores
    hybrid: Hybrid | None = None
    moved: NDArray[np.float32] | None = None

    @property
    def parts(self) -> HybridParts | None:
        """What each hybrid score is the sum of."""
        if self.hybrid is None or self.moved is None:
            return None
        words = self.hybrid.standard.of(self.hybrid.bm25)
        feedback = self.scores.by - self.moved
        return HybridParts(words, self.hybrid.weight, self.moved - words, feedback)
