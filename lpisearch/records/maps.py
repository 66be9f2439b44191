"""Map points, text marks and score components for display."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.records.answers import TopicReport
    from lpisearch.records.explanations import Explanation

NO_TOPIC = -1
NO_LABEL = -1


# Arrays have no single truth value, so that two maps are compared by what they are: objects.
@dataclass(frozen=True, eq=False, slots=True)
class DocumentMap:
    """All documents of an index as points in a plane.

    Attributes
    ----------
    ids, titles
        Of the documents that have a place.
    places
        A point for each (documents x 2), float32; the middle of all is 0, and none is farther
        than 1 from it in either direction.
    topics
        Which topic each is in: its place in `report.topics`, or `NO_TOPIC`.
    labels
        The first label of each: its place in `label_names`, or `NO_LABEL`.
    label_names
        Of all labels, the most frequent first.
    report
        The topics.
    projection
        "neighbours" or "plane".
    rule
        What the projection does, in a sentence.
    unplaced
        How many documents have no word that the index knows, and are not on the map.
    fingerprint
        Of what the places were made from: equal ones have equal places.
    """

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    places: NDArray[np.float32]
    topics: NDArray[np.int32]
    labels: NDArray[np.int32]
    label_names: tuple[str, ...]
    report: TopicReport
    projection: str
    rule: str
    unplaced: int
    fingerprint: str = ""


class Mark(NamedTuple):
    """A word of a text that has to do with a query.

    Attributes
    ----------
    start, end
        Where it is in the text.
    near
        0 for a word of the query; for a word that is near in meaning, what all its occurrences
        add to the cosine of the query and the text.
    """

    start: int
    end: int
    near: float = 0.0


@dataclass(frozen=True, slots=True)
class Leg:
    """What one part of the ranking gave a document.

    Attributes
    ----------
    name
        "words" (BM25), "place" (the cosine in the subspace), "feedback" (the words of the
        documents that come first) or "whole" (of a long document: what it has beside its best
        passage).
    value
        The part's own score: BM25, the cosine; None where it has none that a person can read.
    points
        What is weighed. In a hybrid ranking, by how many standard deviations the value is above
        the mean of all documents, bounded as the ranking bounds it; else the value itself.
    weight
        How much a point counts.
    share
        What it adds to the score: the two multiplied.
    """

    name: str
    value: float | None
    points: float
    weight: float
    share: float


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a document stands where it does in an answer.

    Attributes
    ----------
    id, by, score
        Of the document; how the question was answered; what the ranking is by.
    legs
        Their shares sum to the score.
    explanation
        The cosine taken apart; None where the map of the index is not linear.
    """

    id: str
    by: str
    score: float
    legs: tuple[Leg, ...]
    explanation: Explanation | None = None
