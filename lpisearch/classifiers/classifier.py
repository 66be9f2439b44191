"""A text to shares of labels, by what `lpisearch index` learned from the labelled documents.

In go the weights of a text's terms (a row of X, as sparse columns), out come shares that sum to 1.
NumPy alone is needed. Three classifiers lie beside each other in the index:

- centroid: the cosine with the centre of each class in the supervised RLPI subspace;
- knn: the votes of the nearest training documents there, each by its cosine;
- svm: the margin of one linear support vector machine a class, over the terms themselves.

Scores become shares by one formula, exp(t · score) over its sum; the temperature t of each
classifier is the one under which documents that it had not seen were most probable.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

PREFIX = "classifier_"
CLASSIFIERS = ("centroid", "knn", "svm")
NEIGHBOURS = 20
TEMPERATURES = np.logspace(-1, 3, 161)
_BLOCK = 256


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
class Machines:
    """A linear support vector machine for each class.

    Attributes
    ----------
    weights
        Terms x classes.
    intercepts
        One for each class.
    """

    weights: Floats
    intercepts: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Classifier:
    """What was learned, ready to judge a text.

    Attributes
    ----------
    labels
        The classes, in the order of the scores.
    subspace
        Where centroid and knn compare.
    members
        The classes of the training documents.
    machines
        None where learning them would have taken too long.
    temperatures
        Of each classifier that was learned.
    """

    labels: tuple[str, ...]
    subspace: LabelledSubspace
    members: Members
    machines: Machines | None
    temperatures: Mapping[str, float]

    @classmethod
    def from_index(
        cls, arrays: Mapping[str, NDArray[Any]], temperatures: Mapping[str, float]
    ) -> Classifier:
        """Take the arrays of an index that `arrays` gave."""
        own = {
            name.removeprefix(PREFIX): array
            for name, array in arrays.items()
            if name.startswith(PREFIX)
        }
        return cls(
            labels=tuple(json.loads(own["labels"].tobytes())),
            subspace=LabelledSubspace(own["loadings"], own["vectors"], own["centroids"]),
            members=Members(own["member_starts"], own["members"]),
            machines=Machines(own["svm_weights"], own["svm_intercepts"])
            if "svm_weights" in own
            else None,
            temperatures=temperatures,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is to be stored in an index, by name."""
        own: dict[str, NDArray[Any]] = {
            "labels": label_array(self.labels),
            "loadings": self.subspace.loadings,
            "vectors": self.subspace.vectors,
            "centroids": self.subspace.centroids,
            "member_starts": self.members.starts,
            "members": self.members.classes,
        }
        if self.machines is not None:
            own |= {
                "svm_weights": self.machines.weights,
                "svm_intercepts": self.machines.intercepts,
            }
        return {PREFIX + name: array for name, array in own.items()}

    def shares(
        self, columns: NDArray[np.integer[Any]], weights: Floats, by: str = "centroid"
    ) -> NDArray[np.float64] | None:
        """Return the share of each label for one text.

        Parameters
        ----------
        columns, weights
            The known terms of the text, and their weights at unit length.
        by
            One of the classifiers that were learned.

        Returns
        -------
        numpy.ndarray or None
            None if no known term tells anything about a label, or no such classifier was learned.
        """
        if by == "svm":
            if self.machines is None or not len(columns):
                return None
            weight = self.machines.weights[columns]
            scores = (weights @ weight + self.machines.intercepts)[np.newaxis]
        else:
            point = weights @ self.subspace.loadings[columns]
            length = float(np.linalg.norm(point))
            if not length > 0:
                return None
            scores = self.scores((point / length)[np.newaxis], by)
        shares: NDArray[np.float64] = as_shares(scores, self.temperatures[by])[0]
        return shares

    def scores(self, points: Floats, by: str) -> Floats:
        """Score rows of unit length in the supervised subspace, by centroid or knn."""
        if by == "centroid":
            return np.asarray(points @ self.subspace.centroids.T)
        return neighbour_votes(points, self.subspace.vectors, self.members, len(self.labels))


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
        own = rows[order[start:end]]
        sums[number] = (1 / members.sizes[own]) @ points[own]
    return unit(sums).astype(points.dtype)


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
    for block in _blocks(points.shape[0]):
        cosines = _dense(points[block] @ vectors.T)
        near = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
        voices = np.maximum(np.take_along_axis(cosines, near, axis=1), 0).ravel()
        chosen = members.of(near.ravel())
        voters = np.repeat(np.arange(near.size), chosen.sizes)
        cast = (block.start + voters // k, chosen.classes)
        np.add.at(votes, cast, voices[voters] / chosen.sizes[voters])
    total = votes.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(votes, total, out=votes, where=total > 0))


def as_shares(scores: Floats, temperature: float) -> NDArray[np.float64]:
    """Turn rows of scores into rows that sum to 1."""
    raised = temperature * np.asarray(scores, np.float64)
    raised -= raised.max(axis=1, keepdims=True)
    powers = np.exp(raised)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def best_temperature(scores: Floats, truth: Floats) -> float:
    """Choose the temperature under which the truth is most probable.

    Parameters
    ----------
    scores
        Of documents (rows) that the classifier had not seen.
    truth
        Their labels as shares of each class.
    """

    def surprise_at(place: int) -> float:
        return surprise(as_shares(scores, TEMPERATURES[place]), truth)

    # The surprise is a convex function of the temperature, so halving finds its lowest point.
    low, high = 0, len(TEMPERATURES) - 1
    while low < high:
        middle = (low + high) // 2
        if surprise_at(middle) <= surprise_at(middle + 1):
            high = middle
        else:
            low = middle + 1
    return float(TEMPERATURES[low])


def surprise(shares: Floats, truth: Floats) -> float:
    """Return the mean negative logarithm of the shares that the true labels were given."""
    logarithms = np.log(np.maximum(shares, np.finfo(float).tiny))
    return float(-np.mean(np.sum(truth * logarithms, axis=1)))


def unit(rows: Floats) -> Floats:
    """Bring each row to unit length; a row of zeros stays."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))


def _dense(product: Any) -> Floats:
    """Return a product as an array; that of two sparse matrices is one."""
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product)


def _blocks(count: int) -> Iterator[slice]:
    for start in range(0, count, _BLOCK):
        yield slice(start, min(start + _BLOCK, count))
