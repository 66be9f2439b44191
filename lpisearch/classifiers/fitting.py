"""Fit classifiers and measure their held-out accuracy.

Every classifier is fitted to all training documents. How its scores become shares, and which one
is the best, comes from documents that it had not seen: it is fitted again without them. That is
done on a sample where there are many.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.classifiers.calibration import as_shares, best_weights, surprise, weighted
from lpisearch.classifiers.classifier import (
    CLASSIFIERS,
    Classifier,
    LabelledSubspace,
    Machine,
    Members,
    class_centres,
    neighbour_votes,
)
from lpisearch.classifiers.deciding import further_share
from lpisearch.classifiers.held_out import held_out_folds
from lpisearch.classifiers.limits import LIMITS
from lpisearch.classifiers.machines import fit_machine
from lpisearch.compute.rows import divided_by_lengths
from lpisearch.compute.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.classifiers.held_out import Fold
    from lpisearch.classifiers.limits import TrainingLimits

    Floats = NDArray[np.floating[Any]]

# A classifier is clearly worse than the best if it is so by two standard errors of the difference.
CLEAR = 2.0


def fit_classifiers(
    X: csr_array,
    members: Members,
    labels: Sequence[str],
    seed: int,
    limits: TrainingLimits = LIMITS,
) -> tuple[Classifier, dict[str, Any]]:
    """Fit the classifiers, calibrate them, and choose one.

    Parameters
    ----------
    X
        Weighted training documents as rows, each with a known term.
    members
        Their classes, numbered from 0 without a gap.
    labels
        The names of the classes.
    seed
        Of every random choice.
    limits
        How much to learn from.

    Returns
    -------
    tuple
        The classifiers, and what is to be said of them: alpha, judged (how many documents were
        held out), weights, accuracy and further share of each classifier, chosen.

    Raises
    ------
    ValueError
        No direction tells the classes apart.
    """
    # Machines are fitted in a lane of their own beside the rest, one after the other: they share
    # a random generator, and the arrays must be the same bits each time. The limit on BLAS is
    # here because limits that are set in two threads would not be lifted in order.
    with one_blas_thread(), ThreadPoolExecutor(1) as lane:
        folds = held_out_folds(X, members, seed, limits)
        fitting = _Fitting(X, members, len(labels), seed, limits, lane)
        whole = fitting.fit("auto")
        parts = [fitting.fit(whole.alpha, fold.seen) for fold in folds]
        scores = [
            part.scores(X[fold.judged], len(labels))
            for fold, part in zip(folds, parts, strict=True)
        ]
        machines = {name: machine.result() for name, machine in whole.machines.items()}
    facts = _calibrated(scores, members, folds, len(labels))
    found = Classifier(
        tuple(labels),
        whole.subspace,
        members,
        machines,
        facts["weights"],
        facts["chosen"],
        facts["further"],
    )
    return found, {"alpha": whole.alpha, **facts}


@dataclass(frozen=True, slots=True)
class _Fitted:
    """The map of some documents with what was learned on it, and the machines to come."""

    alpha: float
    members: Members
    subspace: LabelledSubspace
    machines: Mapping[str, Future[Machine]]

    def scores(self, X: csr_array, n_classes: int) -> dict[str, Floats]:
        """Score documents by each part."""
        points = divided_by_lengths(X @ self.subspace.loadings)
        scores = {
            "centroid": points @ self.subspace.centroids.T,
            "knn": neighbour_votes(points, self.subspace.vectors, self.members, n_classes),
        }
        for name, machine in self.machines.items():
            scores[name] = machine.result().scores(X if name == "svm" else points)
        return scores


@dataclass(frozen=True, slots=True)
class _Fitting:
    X: csr_array
    members: Members
    n_classes: int
    seed: int
    limits: TrainingLimits
    lane: ThreadPoolExecutor

    def fit(self, alpha: float | str, rows: NDArray[np.integer[Any]] | None = None) -> _Fitted:
        """Fit supervised RLPI and all that lies on it, to all documents or to some."""
        from lpisearch.projections.rlpi import RLPI

        X = self.X if rows is None else self.X[rows]
        members = self.members if rows is None else self.members.of(rows)
        machines: dict[str, Future[Machine]] = {}
        if X.shape[1] * self.n_classes <= self.limits.svm_cells:
            machines["svm"] = self.lane.submit(self._machine_on_terms, X, members)
        labels = [classes.tolist() for classes in np.split(members.classes, members.starts[1:-1])]
        rlpi = RLPI(self.n_classes, alpha=alpha, random_state=self.seed).fit(X, labels)
        loadings = np.ascontiguousarray(rlpi.components_.T, np.float32)
        vectors = divided_by_lengths(X @ loadings)
        centroids = class_centres(vectors, members, self.n_classes)
        machines["map-svm"] = self.lane.submit(
            self._machine, vectors, members, self.limits.map_documents
        )
        subspace = LabelledSubspace(loadings, vectors, centroids)
        return _Fitted(rlpi.alpha_, members, subspace, machines)

    def _machine_on_terms(self, X: csr_array, members: Members) -> Machine:
        most = int(self.limits.svm_weights * len(members.sizes) / max(X.nnz, 1))
        return self._machine(X, members, most)

    def _machine(self, X: Any, members: Members, most: int) -> Machine:
        if most < len(members.sizes):
            rng = np.random.default_rng(self.seed)
            rows = np.sort(rng.permutation(len(members.sizes))[:most])
            X, members = X[rows], members.of(rows)
        return fit_machine(X, members, self.n_classes, self.seed)


def _calibrated(
    scores: list[dict[str, Floats]], members: Members, folds: list[Fold], n_classes: int
) -> dict[str, Any]:
    """Find the weights of each classifier, how much of what was held out it has right, the best.

    Of those that are not clearly worse than the one with the most right, it is the one that gave
    the true labels the most.
    """
    if not folds:
        weights = {by: [1.0] * len(parts) for by, parts in CLASSIFIERS.items()}
        none: dict[str, Any] = {"accuracy": {}, "further": {}}
        return {"judged": 0, "weights": weights, "chosen": "centroid", **none}
    together = {name: np.concatenate([each[name] for each in scores]) for name in scores[0]}
    truth = members.of(np.concatenate([fold.judged for fold in folds])).shares(n_classes)
    weights, right, surprises, further = {}, {}, {}, {}
    for by, parts in CLASSIFIERS.items():
        if not together.keys() >= set(parts):
            continue
        part_scores = [together[part] for part in parts]
        weights[by] = best_weights(part_scores, truth)
        shares = as_shares(weighted(part_scores, weights[by]))
        right[by] = truth[np.arange(len(truth)), shares.argmax(axis=1)] > 0
        surprises[by] = surprise(shares, truth)
        further[by] = further_share(shares, truth > 0)
    most = max(right.values(), key=np.mean)
    good = [by for by, hits in right.items() if not _clearly_worse(hits, most)]
    return {
        "judged": len(truth),
        "weights": weights,
        "accuracy": {by: round(float(hits.mean()), 4) for by, hits in right.items()},
        "chosen": min(good, key=surprises.__getitem__),
        "further": further,
    }


def _clearly_worse(right: NDArray[np.bool_], most: NDArray[np.bool_]) -> bool:
    losses = most.astype(np.float64) - right
    return bool(losses.mean() > CLEAR * losses.std() / np.sqrt(len(losses)))
