"""Multi-label classification: choose labels and measure the choice.

The labels of a document are decided as `lpisearch classify` decides them: scores become shares,
and beside the best label every other one with a share above a border is given. The weight of the
scores and the border are learned from a fifth of the training documents, by what the others teach;
then all training documents teach.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.classifiers.calibration import as_shares, best_weights
from lpisearch.classifiers.classifier import Members
from lpisearch.classifiers.deciding import NO_FURTHER, decided_labels, further_share
from lpisearch.compute.threads import one_blas_thread
from lpisearch.evaluation.experiments.classifiers import learn
from lpisearch.evaluation.experiments.representations import (
    TermWeights,
    class_dimensions,
    represent,
    takes_labels,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_array

    from lpisearch.evaluation.experiments.classifiers import Scorer
    from lpisearch.evaluation.experiments.collection import Collection
    from lpisearch.evaluation.experiments.representations import Represented
    from lpisearch.settings import EvaluateOptions

    Labels = Sequence[tuple[str, ...]]

_TEACHING = 0.8
_LEAST = 10
"""Of fewer documents none are held out: every document gets its best label."""


class Decided(NamedTuple):
    """The labels of each judged document, best first, and what finding them took."""

    labels: list[tuple[str, ...]]
    learned: Represented
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True, eq=False, slots=True)
class _Taught:
    """A representation of some documents, and their classes in it."""

    learned: Represented
    points: Any
    members: Members
    names: list[str]
    seed: int

    @classmethod
    def by(cls, name: str, X: csr_array, labels: Labels, options: EvaluateOptions) -> _Taught:
        names = sorted({label for own in labels for label in own})
        dims = class_dimensions(name, len(names)) if takes_labels(name) else None
        learned = represent(name, X, options, dims=dims, labels=[list(own) for own in labels])
        return cls(learned, learned.directions(X), _members(labels, names), names, options.seed)

    def scorer(self, by: str) -> Scorer:
        return learn(by, self.points, self.members, len(self.names), self.seed)


def decide(
    name: str,
    seen: Collection,
    unseen: Collection,
    options: EvaluateOptions,
    classifiers: Sequence[str],
) -> dict[str, Decided]:
    """Learn from documents with labels, and give labels to others, by each classifier."""
    from lpisearch.evaluation import split_by_share

    weights = TermWeights.learn(seen, options.weighting)
    X, others = weights.apply(seen.counts), weights.apply(unseen.counts)
    whole = _Taught.by(name, X, seen.labels, options)
    points = whole.learned.directions(others)
    teaching, asked = split_by_share(seen.labels, _TEACHING, random_state=options.seed)
    held_out: tuple[_Taught, Any, Labels] | None = None
    if len(seen) >= _LEAST and len(asked):
        some = [seen.labels[row] for row in teaching]
        part = _Taught.by(name, X[teaching], some, options)
        held_out = part, part.learned.directions(X[asked]), [seen.labels[row] for row in asked]
    found = {}
    for by in classifiers:
        with one_blas_thread():
            began = time.perf_counter()
            weight, further = (1.0, NO_FURTHER) if held_out is None else _border(by, *held_out)
            scorer = whole.scorer(by)
            fitted = time.perf_counter()
            shares = as_shares(weight * scorer(points))
            labels = [
                tuple(whole.names[each] for each in decided_labels(row, further)) for row in shares
            ]
            done = time.perf_counter()
        found[by] = Decided(labels, whole.learned, fitted - began, done - fitted)
    return found


def _border(by: str, taught: _Taught, points: Any, labels: Labels) -> tuple[float, float]:
    """Learn how much scores weigh, and from which share on a second label is given."""
    known = set(taught.names)
    rows = [row for row, own in enumerate(labels) if known.intersection(own)]
    if not rows:
        return 1.0, NO_FURTHER
    own = [tuple(name for name in labels[row] if name in known) for row in rows]
    truth = _members(own, taught.names).shares(len(taught.names))
    scores = taught.scorer(by)(points[rows])
    (weight,) = best_weights([scores], truth)
    return weight, further_share(as_shares(weight * scores), truth > 0)


def _members(labels: Labels, names: Sequence[str]) -> Members:
    numbers = {name: number for number, name in enumerate(names)}
    starts = np.cumsum([0, *map(len, labels)], dtype=np.int64)
    return Members(starts, np.array([numbers[name] for own in labels for name in own], np.int32))
