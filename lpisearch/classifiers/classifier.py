"""Predict label probabilities for a text with a classifier stored in an index.

In go the weights of a text's terms (a row of X, as sparse columns), out come shares that sum to 1.
NumPy alone is needed. These parts lie beside each other in the index:

- centroid: the cosine with the centre of each class in the supervised RLPI subspace, the map;
- knn: the votes of the nearest training documents there, each by its cosine;
- map-svm: the scores of a linear support vector machine on the map;
- svm: those of one over the terms themselves.

A classifier is one of them, or the machine over terms together with one on the map; "auto" is the
one that was best on what was held out. Scores become shares by `as_shares`, multiplied
by the weights under which documents that were not seen were most probable.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.classifiers.calibration import as_shares, weighted
from lpisearch.compute.rows import divided_by_lengths

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
