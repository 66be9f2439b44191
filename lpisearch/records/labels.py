"""Manual and predicted labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class PredictedLabel(NamedTuple):
    """A label that a classifier gave a document, kept apart from those that people gave.

    Attributes
    ----------
    label
        Its name.
    confidence
        How probable it was: its share of all labels.
    classifier
        Which one said so.
    """

    label: str
    confidence: float
    classifier: str


@dataclass(frozen=True, slots=True)
class LabelReport:
    """What became of the labels of documents.

    Attributes
    ----------
    documents
        How many were meant.
    added, removed
        Labels that they have now and had not, and the other way round.
    """

    documents: int
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class PredictionReport:
    """What a classifier said of documents, and was kept.

    Attributes
    ----------
    documents
        How many were judged.
    predicted
        How many of them got a label or more.
    labels
        How many documents got each label, by name.
    classifier
        By which they were judged.
    none_of_these, unknown
        Documents for which no label was probable enough, and those without a word that says
        anything about any.
    """

    documents: int
    predicted: int
    labels: dict[str, int]
    classifier: str
    none_of_these: int = 0
    unknown: int = 0
