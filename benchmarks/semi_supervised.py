"""The value of labels for some documents: dimensions of both kinds, of one, or one graph.

Run: python -m benchmarks.semi_supervised [--collections tdt2,…] [--draws 3] [--manifold]

Of each collection 4,000 documents are learned from, a share of them with their labels, and 2,000
others are judged by nearest centroid of the labelled ones, by cosine. Nothing is chosen by those.
`--manifold` adds ridge regression of the labels with the penalty α|a|² + β aᵀXᵀLXa over all
documents (Belkin, Niyogi, Sindhwani, 2006), L the normalised Laplacian of the neighbours.
"""

from __future__ import annotations

import argparse
import warnings
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from benchmarks.papers.datasets import DATASETS, load, read_texts
from lpisearch.evaluation.cells import TermWeights
from lpisearch.graphs.base import GRAPHS, GraphOptions
from lpisearch.graphs.supervision import memberships
from lpisearch.methods.eigen import NormalisedGraph
from lpisearch.methods.responses import label_responses
from lpisearch.methods.rlpi import RLPI
from lpisearch.numeric.rows import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from lpisearch.graphs.affinity import Affinity

COLLECTIONS = ("newsgroups", "reuters", "tdt2", "banking77")
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
LEARNED, JUDGED = 4000, 2000
BETAS = (0.01, 0.1, 1.0)


class Task(NamedTuple):
    """Documents to learn from and to judge, with their labels, and the graph of the former."""

    X: sparse.csr_array
    labels: NDArray[np.str_]
    others: sparse.csr_array
    truth: NDArray[np.str_]
    W: Affinity


def main() -> None:
    """Print a row for each collection and share."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--collections", default=",".join(COLLECTIONS))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--manifold", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.collections.split(","):
        task = task_of(name)
        blind = RLPI(alpha="auto").fit(task.X, affinity=task.W)
        for share in SHARES:
            rows = [_row(task, blind, share, draw, manifold=options.manifold)
                    for draw in range(options.draws)]  # fmt: skip
            means = {key: fmean(row[key] for row in rows) for key in rows[0]}
            said = "  ".join(f"{key} {value:.3f}" for key, value in means.items())
            print(f"{name:10} {share:4.0%}  {said}", flush=True)


def task_of(name: str) -> Task:
    """Draw documents of a collection to learn from and to judge."""
    collection = load(name) if name in DATASETS else read_texts(name)
    rng = np.random.default_rng(1)
    rows = rng.permutation(len(collection))[: LEARNED + JUDGED]
    seen, unseen = collection.of(np.sort(rows[:LEARNED])), collection.of(np.sort(rows[LEARNED:]))
    weights = TermWeights.learn(seen, "tf" if name == "tdt2" else "log-tfidf")
    X = weights.apply(seen.counts)
    W = GRAPHS["nearest"].build(X, None, GraphOptions())
    labels, truth = np.array(seen.single_labels), np.array(unseen.single_labels)
    return Task(X, labels, weights.apply(unseen.counts), truth, W)


def _row(task: Task, blind: RLPI, share: float, draw: int, *, manifold: bool) -> dict[str, float]:
    rows = labelled_rows(task.labels, share, draw)
    some: list[Any] = [None] * len(task.labels)
    for row in rows:
        some[row] = task.labels[row]
    both = RLPI(alpha="auto").fit(task.X, some)
    alone = RLPI(alpha="auto").fit(task.X[rows], task.labels[rows].tolist())
    blend = RLPI(alpha="auto", graph="blend").fit(task.X, some)
    maps = {"neighbours": blind, "labels": alone, "one graph": blend, "both": both}
    found = {name: share_right(task, rows, each.embed) for name, each in maps.items()}
    found["strength"] = min(float(both.label_strength_ or 0), 8.0)
    for beta in BETAS if manifold else ():
        A = _manifold(task, some, beta)
        found[f"β {beta}"] = share_right(task, rows, lambda X, A=A: X @ A)
    return found


def labelled_rows(labels: NDArray[np.str_], share: float, draw: int) -> NDArray[np.intp]:
    """Draw a share of each class, at least one document."""
    rng = np.random.default_rng(draw)
    found = []
    for name in np.unique(labels):
        own = rng.permutation(np.flatnonzero(labels == name))
        found.append(own[: max(1, round(share * len(own)))])
    return np.sort(np.concatenate(found))


def share_right(task: Task, rows: NDArray[np.intp], places: Any) -> float:
    """Return the share of the judged documents whose nearest centre is their class."""
    shares, names = memberships(task.labels[rows].tolist(), len(rows))
    centres = unit_rows(np.asarray(shares.T @ unit_rows(np.asarray(places(task.X[rows])))))
    nearest = (unit_rows(np.asarray(places(task.others))) @ centres.T).argmax(axis=1)
    return float(np.mean(np.array(names)[nearest] == task.truth))


def _manifold(task: Task, some: list[Any], beta: float) -> NDArray[np.float32]:
    """Minimise |X_l A - Y_l|² + |A|² + β tr(AᵀXᵀLXA) over the labelled documents l."""
    X, graph = task.X, NormalisedGraph(task.W, np.dtype(np.float32))
    Y = label_responses(some, X.shape[0], np.float32).vectors
    known = np.array([label is not None for label in some])[:, np.newaxis]

    def multiply(a: NDArray[np.float32]) -> NDArray[np.float32]:
        places = (X @ a.ravel())[:, np.newaxis]
        smooth = places - graph.multiply(places)
        return np.asarray(X.T @ (known * places + beta * smooth)).ravel() + a.ravel()

    n_terms = X.shape[1]
    left = LinearOperator((n_terms, n_terms), matvec=multiply, dtype=np.float32)
    return np.column_stack([cg(left, X.T @ y, rtol=1e-3, maxiter=50)[0] for y in Y.T])


if __name__ == "__main__":
    main()
