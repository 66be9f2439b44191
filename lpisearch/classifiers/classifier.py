"""Classifier, calibrated shares, label decision.

In go the weights of a text's terms (a row of X, as sparse columns), out come shares that sum to 1.
NumPy alone is needed. These parts lie beside each other in the index:

- centroid: the cosine with the centre of each class in the supervised RLPI subspace, the map;
- knn: the votes of the nearest training documents there, each by its cosine;
- map-svm: the scores of a linear support vector machine on the map;
- svm: those of one over the terms themselves.

A classifier is one of them, or the machine over terms together with one on the map; "auto" is the
one that was best on what was held out. Scores become shares by `as_shares`, multiplied
by the weights under which documents that were not seen were most probable.

The scores of one or more classifiers are each multiplied by a weight and added, and become shares
by exp(score) over the sum of these. With one classifier the weight is an inverse temperature.

The label with the largest share is taken, and every other one with at least a certain share. That
share is one number for all labels, learned from documents that were held out: the one under which
the labels that are taken agree best with those given, by F1 over all pairs of document and label
(micro F1). A number for each label would be learned from a handful of documents for most of them
(Yang, A study of thresholding strategies for text categorization, 2001). Where no document that was
held out has several labels, it is out of reach.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.numeric.rows import divided_by_lengths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]


PREFIX = "classifier_"
CLASSIFIERS = {
    "centroid": ("centroid",),
    "knn": ("knn",),
    "map-svm": ("map-svm",),
    "svm": ("svm",),
    "svm+centroid": ("svm", "centroid"),
    "svm+map-svm": ("svm", "map-svm"),
}
"""The parts of each classifier."""
AUTO = "auto"
_MACHINES = {"svm": "svm", "map-svm": "map_svm"}
"""What the arrays of each machine begin with."""
NEIGHBOURS = 20
_BLOCK = 256
_COSINES = 16_000_000


@dataclass(frozen=True, slots=True)
class Members:
    """Which classes each training document has: those of row i are classes[starts[i]:starts[i+1]].

    A document with m labels counts for each of them by 1 / m.
    """

    starts: NDArray[np.integer[Any]]
    classes: NDArray[np.integer[Any]]

    @property
    def sizes(self) -> NDArray[np.integer[Any]]:
        """How many labels each document has."""
        return np.diff(self.starts)

    def of(self, rows: NDArray[np.integer[Any]]) -> Members:
        """Return the classes of some documents."""
        sizes = self.sizes[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        places = np.repeat(self.starts[rows] - starts[:-1], sizes) + np.arange(starts[-1])
        return Members(starts, self.classes[places])

    def shares(self, n_classes: int) -> NDArray[np.float32]:
        """Return documents x classes, each row with the sum 1."""
        shares = np.zeros((len(self.sizes), n_classes), np.float32)
        rows = np.repeat(np.arange(len(self.sizes)), self.sizes)
        shares[rows, self.classes] = 1 / self.sizes[rows]
        return shares


@dataclass(frozen=True, eq=False, slots=True)
class LabelledSubspace:
    """The supervised RLPI subspace, with its training documents.

    Attributes
    ----------
    loadings
        The map (terms x dims).
    vectors
        Training documents as rows at unit length.
    centroids
        The centre of each class at unit length.
    """

    loadings: Floats
    vectors: Floats
    centroids: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Machine:
    """A linear support vector machine for all classes: a score is x · weights + intercept.

    Attributes
    ----------
    weights
        Terms, or dimensions of the map, x classes.
    intercepts
        One for each class.
    """

    weights: Floats
    intercepts: Floats

    def scores(self, X: Any) -> Floats:
        """Score rows of X."""
        return np.asarray(X @ self.weights + self.intercepts)


@dataclass(frozen=True, eq=False, slots=True)
class Classifier:
    """What was learned, ready to judge a text.

    Attributes
    ----------
    labels
        The classes, in the order of the scores.
    subspace
        The map: where centroid and knn compare.
    members
        The classes of the training documents.
    machines
        "map-svm", and "svm" unless it would have been too large.
    weights
        Of the parts of each classifier that was learned.
    chosen
        The one that "auto" means.
    further
        From which share on each classifier gives a document more than its best label.
    """

    labels: tuple[str, ...]
    subspace: LabelledSubspace
    members: Members
    machines: Mapping[str, Machine]
    weights: Mapping[str, Sequence[float]]
    chosen: str
    further: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_index(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Classifier:
        """Take the arrays of an index that `arrays` gave, and the weights and what is chosen.

        Version 0.1 had one weight for each classifier, its temperature, and chose none.
        """
        old = {by: [temperature] for by, temperature in facts.get("temperatures", {}).items()}
        named = {
            name.removeprefix(PREFIX): array
            for name, array in arrays.items()
            if name.startswith(PREFIX)
        }
        return cls(
            labels=tuple(json.loads(named["labels"].tobytes())),
            subspace=LabelledSubspace(named["loadings"], named["vectors"], named["centroids"]),
            members=Members(named["member_starts"], named["members"]),
            machines={
                name: Machine(named[f"{stem}_weights"], named[f"{stem}_intercepts"])
                for name, stem in _MACHINES.items()
                if f"{stem}_weights" in named
            },
            weights=facts.get("weights", old),
            chosen=facts.get("chosen", "centroid"),
            further=facts.get("further", {}),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is to be stored in an index, by name."""
        named: dict[str, NDArray[Any]] = {
            "labels": label_array(self.labels),
            "loadings": self.subspace.loadings,
            "vectors": self.subspace.vectors,
            "centroids": self.subspace.centroids,
            "member_starts": self.members.starts,
            "members": self.members.classes,
        }
        for name, machine in self.machines.items():
            named[f"{_MACHINES[name]}_weights"] = machine.weights
            named[f"{_MACHINES[name]}_intercepts"] = machine.intercepts
        return {PREFIX + name: array for name, array in named.items()}

    def shares(
        self, texts: Sequence[tuple[NDArray[np.integer[Any]], Floats]], by: str = AUTO
    ) -> list[NDArray[np.float64] | None]:
        """Return the share of each label for each of several texts.

        The training documents are gone through once for all texts.

        Parameters
        ----------
        texts
            The known terms of each, as columns, and their weights at unit length.
        by
            One of the classifiers that were learned, or "auto".

        Returns
        -------
        list
            None in place of a text of which no known term tells anything about a label.
        """
        name = self.chosen if by == AUTO else by
        parts = CLASSIFIERS[name]
        points = np.stack([weights @ self.subspace.loadings[columns] for columns, weights in texts])
        directions = divided_by_lengths(points)
        scores = []
        if "svm" in parts:
            machine = self.machines["svm"]
            found = [weights @ machine.weights[columns] for columns, weights in texts]
            scores.append(np.stack(found) + machine.intercepts)
        scores += [self._on_map(directions, part) for part in parts if part != "svm"]
        shares = as_shares(weighted(scores, self.weights[name]))
        by_words = "svm" in parts
        says = [
            (by_words and len(columns) > 0) or bool(point.any())
            for (columns, _), point in zip(texts, points, strict=True)
        ]
        return [own if said else None for own, said in zip(shares, says, strict=True)]

    def _on_map(self, points: Floats, part: str) -> Floats:
        """Score rows of unit length in the supervised subspace."""
        if part == "centroid":
            return np.asarray(points @ self.subspace.centroids.T)
        if part == "knn":
            return neighbour_votes(points, self.subspace.vectors, self.members, len(self.labels))
        return self.machines[part].scores(points)


def label_array(labels: Sequence[str]) -> NDArray[np.uint8]:
    """Return labels as bytes (a JSON list in UTF-8), to be stored."""
    return np.frombuffer(json.dumps(list(labels), ensure_ascii=False).encode(), np.uint8)


def class_centres(points: Floats, members: Members, n_classes: int) -> Floats:
    """Return the mean of each class at unit length (classes x dims), documents being rows."""
    rows = np.repeat(np.arange(len(points)), members.sizes)
    order = np.argsort(members.classes, kind="stable")
    sums = np.zeros((n_classes, points.shape[1]))
    bounds = np.searchsorted(members.classes[order], np.arange(n_classes + 1))
    for number, (start, end) in enumerate(pairwise(bounds)):
        in_class = rows[order[start:end]]
        sums[number] = (1 / members.sizes[in_class]) @ points[in_class]
    return divided_by_lengths(sums).astype(points.dtype)


def neighbour_votes(
    points: Floats, vectors: Floats, members: Members, n_classes: int, k: int = NEIGHBOURS
) -> Floats:
    """Let the k nearest training documents vote, each by its cosine if that is above 0.

    Points and vectors have rows of unit length, and may both be sparse.

    Returns
    -------
    numpy.ndarray
        Points x classes; a row sums to 1, or to 0 if no training document is near.
    """
    votes = np.zeros((points.shape[0], n_classes))
    k = min(k, vectors.shape[0])
    for block in _blocks(points.shape[0], vectors.shape[0]):
        cosines = _dense(points[block] @ vectors.T)
        near = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
        voices = np.maximum(np.take_along_axis(cosines, near, axis=1), 0).ravel()
        chosen = members.of(near.ravel())
        voters = np.repeat(np.arange(near.size), chosen.sizes)
        cast = (block.start + voters // k, chosen.classes)
        np.add.at(votes, cast, voices[voters] / chosen.sizes[voters])
    total = votes.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(votes, total, out=votes, where=total > 0))


def _dense(product: Any) -> Floats:
    """Return a product as an array; that of two sparse matrices is one."""
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product)


def _blocks(count: int, others: int) -> Iterator[slice]:
    """Cut points so that their cosines with so many others fit into memory."""
    size = max(1, min(_BLOCK, _COSINES // max(others, 1)))
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


# Where everything held out was right, no finite weight would be the best.
LARGEST_WEIGHT = 1000.0
_FIRST_WEIGHT = 5.0


def as_shares(scores: Floats) -> NDArray[np.float64]:
    """Turn rows of weighted scores into rows that sum to 1."""
    raised = np.asarray(scores, np.float64) - np.max(scores, axis=1, keepdims=True)
    powers = np.exp(raised)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def weighted(scores: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """Add scores, each times its weight."""
    return np.asarray(sum(w * s for w, s in zip(weights, scores, strict=True)))


def surprise(shares: Floats, truth: Floats) -> float:
    """Return the mean negative logarithm of the shares that the true labels were given."""
    logarithms = np.log(np.maximum(shares, np.finfo(float).tiny))
    return float(-np.mean(np.sum(truth * logarithms, axis=1)))


def best_weights(scores: Sequence[Floats], truth: Floats) -> list[float]:
    """Choose the weights, none below 0, under which the truth is most probable.

    The truth is first moved a little towards equal shares, as if one further document had been
    any label: a few documents that were all right are no proof that all will be (Platt,
    Probabilistic outputs for support vector machines, 1999).

    Parameters
    ----------
    scores
        Of each classifier: documents that it had not seen x classes.
    truth
        Their labels as shares of each class.
    """
    from scipy.optimize import minimize

    count, n_classes = truth.shape
    moved = (count * truth + 1 / n_classes) / (count + 1)

    def surprise_and_slopes(weights: Floats) -> tuple[float, Floats]:
        shares = as_shares(weighted(scores, weights.tolist()))
        wrong = (shares - moved) / count
        return surprise(shares, moved), np.array([np.sum(wrong * each) for each in scores])

    # The surprise is a convex function of the weights, so there is one lowest point.
    solution = minimize(
        surprise_and_slopes,
        np.full(len(scores), _FIRST_WEIGHT),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, LARGEST_WEIGHT)] * len(scores),
    )
    return [float(weight) for weight in solution.x]


NO_FURTHER = 1.0
"""A share that no second label can have."""


def further_share(shares: Floats, truth: NDArray[np.bool_]) -> float:
    """Learn from which share on a label that is not the best is taken too.

    Parameters
    ----------
    shares
        Documents that were held out x labels.
    truth
        Which of the labels each has.

    Examples
    --------
    >>> shares = np.array([[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.8, 0.1, 0.1]])
    >>> truth = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0]], bool)
    >>> round(further_share(shares, truth), 3)
    0.2
    """
    rows = np.arange(len(shares))
    best = shares.argmax(axis=1)
    others = np.ones(shares.shape, bool)
    others[rows, best] = False
    order = np.argsort(-shares[others], kind="stable")
    values, right = shares[others][order], truth[others][order]
    # Micro F1 where the first 0, 1, 2, … of the other labels are taken beside the best.
    hits = int(truth[rows, best].sum()) + np.concatenate([[0], np.cumsum(right)])
    taken = len(shares) + np.arange(len(values) + 1)
    f1 = 2 * hits / (taken + truth.sum())
    # Equal shares are taken together, so the border lies between two that differ.
    possible = np.concatenate([[True], values[:-1] > values[1:], [True]])
    number = int(np.argmax(np.where(possible, f1, -1)))
    if number == 0:
        return NO_FURTHER
    below = values[number] if number < len(values) else 0.0
    return float((values[number - 1] + below) / 2)


def decided_labels(shares: Floats, further: float) -> NDArray[np.intp]:
    """Return the labels that one document is given, best first."""
    order = np.argsort(-shares, kind="stable")
    taken = shares[order] >= further
    taken[:1] = True
    return order[taken]
