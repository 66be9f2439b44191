"""Limits on classifier training data that keep index builds fast."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrainingLimits:
    """What bounds the time and the size of classifiers.

    Attributes
    ----------
    classes
        The largest classes are learned; the others are left out.
    cells
        Training documents times classes; beyond that, all learn from a sample.
    documents
        The same bound as a number of documents, where memory sets one.
    svm_weights
        Entries of the matrix; the SVM on terms learns from a sample of more.
    svm_cells
        Terms times classes; beyond that, no SVM on terms is learned: it would be too large to
        store.
    map_documents
        The SVM on the map learns from a sample of more: it has few weights to learn.
    judged, seen
        Of large collections one part is held out, and a sample takes part: so many documents
        judge, so many teach. The time is linear in neither.
    """

    classes: int = 500
    cells: int = 40_000_000
    documents: int | None = None
    svm_weights: int = 10_000_000
    svm_cells: int = 25_000_000
    map_documents: int = 20_000
    judged: int = 4000
    seen: int = 16_000

    def most(self, classes: int) -> int:
        """Return how many documents all learn from at most."""
        by_cells = self.cells // max(min(classes, self.classes), 1)
        return by_cells if self.documents is None else min(by_cells, self.documents)


LIMITS = TrainingLimits()
