"""Classifiers of texts, in NumPy alone: scores, shares of labels, and the decision.

The weights of a text's terms give shares that sum to 1. The parts of classifiers are:

- centroid: the cosine with the centre of each class in the supervised RLPI subspace, the map;
- knn: the votes of the nearest training documents there, by cosine;
- map-svm: the scores of a linear support vector machine on the map;
- svm: those of one on the terms themselves.

A classifier is one part, or the machine on terms together with one on the map; "auto" is the best
one on held-out documents. The scores of its parts are multiplied by learned weights and added, and
become shares by exp(score) over the sum of these. With one part the weight is an inverse
temperature.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.numeric.rows import PackedRows, divided_by_lengths

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
"""The prefix of the arrays of each machine."""
NEIGHBOURS = 20
_BLOCK = 256
_COSINES = 16_000_000
_PACKED_FROM = 1 << 16  # numbers


@dataclass(frozen=True, slots=True)
class Members:
    """The classes of each training document: row i has classes[starts[i]:starts[i+1]].

    A document with m labels belongs to each of them with a share of 1 / m.
    """

    starts: NDArray[np.integer[Any]]
    classes: NDArray[np.integer[Any]]

    @property
    def sizes(self) -> NDArray[np.integer[Any]]:
        """The number of labels of each document."""
        return np.diff(self.starts)

    def of(self, rows: NDArray[np.integer[Any]]) -> Members:
        """Return the classes of some documents."""
        sizes = self.sizes[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.repeat(self.starts[rows] - starts[:-1], sizes) + np.arange(starts[-1])
        return Members(starts, self.classes[entries])

    def shares(self, n_classes: int) -> NDArray[np.float32]:
        """Return documents x classes; each row sums to 1."""
        shares = np.zeros((len(self.sizes), n_classes), np.float32)
        rows = np.repeat(np.arange(len(self.sizes)), self.sizes)
        shares[rows, self.classes] = 1 / self.sizes[rows]
        return shares


@dataclass(frozen=True, eq=False, slots=True)
class LabelledSubspace:
    """The supervised RLPI map (terms x dimensions), the training documents and the class centres.

    Documents and centres are rows of unit length.
    """

    loadings: Floats | PackedRows
    vectors: Floats | PackedRows
    centroids: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Machine:
    """A linear support vector machine for all classes: scores are x · weights + intercepts.

    `weights` is terms, or dimensions of the map, x classes.
    """

    weights: Floats | PackedRows
    intercepts: Floats

    def scores(self, X: Any) -> Floats:
        """Score rows of X."""
        return np.asarray(X @ self.weights[:] + self.intercepts)


@dataclass(frozen=True, eq=False, slots=True)
class Classifier:
    """Everything that was learned to predict the labels of a text.

    `machines` has "map-svm", and "svm" unless it would be too large; `weights` those of the parts
    of each classifier; `chosen` is the classifier of "auto"; `further` the share from which each
    classifier assigns a label beyond the best one.
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
        """Take the arrays of an index, which `arrays` returned, and its facts.

        Version 0.1 had one weight for each classifier, its temperature, and no choice.
        """
        old = {by: [temperature] for by, temperature in facts.get("temperatures", {}).items()}
        named = {
            name.removeprefix(PREFIX): array
            for name, array in arrays.items()
            if name.startswith(PREFIX)
        }
        return cls(
            labels=tuple(json.loads(named["labels"].tobytes())),
            subspace=LabelledSubspace(
                PackedRows.of_arrays(named, "loading"),
                PackedRows.of_arrays(named, "vector"),
                named["centroids"],
            ),
            members=Members(named["member_starts"], named["members"]),
            machines={
                name: Machine(
                    PackedRows.of_arrays(named, f"{stem}_weight"), named[f"{stem}_intercepts"]
                )
                for name, stem in _MACHINES.items()
                if f"{stem}_weights" in named
            },
            weights=facts.get("weights", old),
            chosen=facts.get("chosen", "centroid"),
            further=facts.get("further", {}),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store in an index, by name."""
        named: dict[str, NDArray[Any]] = {
            "labels": label_array(self.labels),
            "centroids": self.subspace.centroids,
            "member_starts": self.members.starts,
            "members": self.members.classes,
            **_stored(self.subspace.loadings, "loading"),
            **_stored(self.subspace.vectors, "vector"),
        }
        for name, machine in self.machines.items():
            named |= _stored(machine.weights, f"{_MACHINES[name]}_weight")
            named[f"{_MACHINES[name]}_intercepts"] = machine.intercepts
        return {PREFIX + name: array for name, array in named.items()}

    def shares(
        self, texts: Sequence[tuple[NDArray[np.integer[Any]], Floats]], by: str = AUTO
    ) -> list[NDArray[np.float64] | None]:
        """Return the share of each label for each text; None if no known term is informative.

        A text is the columns of its known terms, and their weights at unit length. The training
        documents are read once for all texts.
        """
        name = self.chosen if by == AUTO else by
        parts = CLASSIFIERS[name]
        points = np.stack([weights @ self.subspace.loadings[columns] for columns, weights in texts])
        directions = divided_by_lengths(points)
        scores = []
        if "svm" in parts:
            machine = self.machines["svm"]
            by_text = [weights @ machine.weights[columns] for columns, weights in texts]
            scores.append(np.stack(by_text) + machine.intercepts)
        scores += [self._on_map(directions, part) for part in parts if part != "svm"]
        shares = as_shares(weighted(scores, self.weights[name]))
        by_words = "svm" in parts
        return [
            row if (by_words and len(columns) > 0) or point.any() else None
            for row, (columns, _), point in zip(shares, texts, points, strict=True)
        ]

    def _on_map(self, points: Floats, part: str) -> Floats:
        """Score rows of unit length in the supervised subspace."""
        if part == "centroid":
            return np.asarray(points @ self.subspace.centroids.T)
        if part == "knn":
            return neighbour_votes(points, self.subspace.vectors[:], self.members, len(self.labels))
        return self.machines[part].scores(points)


def _stored(rows: Floats | PackedRows, name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of rows, with a byte per number if there are many."""
    if not isinstance(rows, PackedRows):
        is_large = rows.size >= _PACKED_FROM
        rows = PackedRows.pack(rows, np.int8) if is_large else PackedRows(rows)
    return rows.arrays(name)


def label_array(labels: Sequence[str]) -> NDArray[np.uint8]:
    """Return labels as the bytes of a JSON list in UTF-8."""
    return np.frombuffer(json.dumps(list(labels), ensure_ascii=False).encode(), np.uint8)


def class_centres(points: Floats, members: Members, n_classes: int) -> Floats:
    """Return the mean of each class at unit length (classes x dimensions)."""
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
    """Return points x classes: votes of the k nearest training documents, by positive cosine.

    Points and vectors have rows of unit length, and may both be sparse. A row of votes sums to 1,
    or to 0 if no training document is near.
    """
    votes = np.zeros((points.shape[0], n_classes))
    k = min(k, vectors.shape[0])
    for block in _blocks(points.shape[0], vectors.shape[0]):
        product = points[block] @ vectors.T  # of two sparse matrices, sparse
        cosines = np.asarray(product.toarray() if hasattr(product, "toarray") else product)
        near = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
        weights = np.maximum(np.take_along_axis(cosines, near, axis=1), 0).ravel()
        chosen = members.of(near.ravel())
        voters = np.repeat(np.arange(near.size), chosen.sizes)
        cells = (block.start + voters // k, chosen.classes)
        np.add.at(votes, cells, weights[voters] / chosen.sizes[voters])
    total = votes.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(votes, total, out=votes, where=total > 0))


def _blocks(count: int, others: int) -> Iterator[slice]:
    """Yield blocks of points whose cosines with `others` vectors fit into memory."""
    size = max(1, min(_BLOCK, _COSINES // max(others, 1)))
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


# If everything held out was right, no finite weight would be the best.
LARGEST_WEIGHT = 1000.0
_FIRST_WEIGHT = 5.0


def as_shares(scores: Floats) -> NDArray[np.float64]:
    """Turn rows of weighted scores into rows that sum to 1."""
    raised = np.asarray(scores, np.float64) - np.max(scores, axis=1, keepdims=True)
    powers = np.exp(raised)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def weighted(scores: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """Return the weighted sum of scores."""
    return np.asarray(sum(w * s for w, s in zip(weights, scores, strict=True)))


def surprise(shares: Floats, truth: Floats) -> float:
    """Return the mean negative logarithm of the shares of the true labels."""
    logarithms = np.log(np.maximum(shares, np.finfo(float).tiny))
    return float(-np.mean(np.sum(truth * logarithms, axis=1)))


def best_weights(scores: Sequence[Floats], truth: Floats) -> list[float]:
    """Choose the non-negative weights under which the truth is most probable.

    `scores` are those of each part on unseen documents (x classes), `truth` their shares of each
    class. The truth is first moved a little towards equal shares, as if one more document had all
    labels: a few documents that were all right do not prove that all will be (Platt, Probabilistic
    outputs for support vector machines, 1999).
    """
    from scipy.optimize import minimize

    count, n_classes = truth.shape
    moved = (count * truth + 1 / n_classes) / (count + 1)

    def surprise_and_slopes(weights: Floats) -> tuple[float, Floats]:
        shares = as_shares(weighted(scores, weights.tolist()))
        wrong = (shares - moved) / count
        return surprise(shares, moved), np.array([np.sum(wrong * part) for part in scores])

    # The surprise is convex in the weights, so there is one minimum.
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
    """Learn the share from which labels beyond the best one are assigned.

    It is one number for all labels, the one with the best micro F1 over all pairs of held-out
    document and label. A number for each label would be learned from a handful of documents for
    most of them (Yang, A study of thresholding strategies for text categorization, 2001). If no
    held-out document has several labels, it is out of reach.

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
    # Micro F1 if the first 0, 1, 2, … of the other labels are taken in addition to the best.
    hits = int(truth[rows, best].sum()) + np.concatenate([[0], np.cumsum(right)])
    taken = len(shares) + np.arange(len(values) + 1)
    f1 = 2 * hits / (taken + truth.sum())
    # Equal shares are taken together, so the threshold lies between two that differ.
    possible = np.concatenate([[True], values[:-1] > values[1:], [True]])
    number = int(np.argmax(np.where(possible, f1, -1)))
    if number == 0:
        return NO_FURTHER
    below = values[number] if number < len(values) else 0.0
    return float((values[number - 1] + below) / 2)


def decided_labels(shares: Floats, further: float) -> NDArray[np.intp]:
    """Return the labels to assign to a document, best first."""
    order = np.argsort(-shares, kind="stable")
    taken = shares[order] >= further
    taken[:1] = True
    return order[taken]
