"""What the papers say in passing, or leave open: ranks, means, dimensions, steps, memory.

Run `python -m benchmarks.papers.side_remarks NAME [draws]`.

- rank (lpp-2005, section 5.3): X has full rank in 430 of 450 draws of TDT2 and 312 of Reuters.
- pca (olpi-2005, section 3): OLPI begins with PCA, about the mean. Here: accuracy with and without
  it, 5 classes of TDT2; without it the first direction is constant.
- spca (spg-2008, table 3): sparse PCA in c dimensions, and in the best of 2 to 20 by the labels.
- lsqr (rlpi-2007, footnote 2): 15 steps of LSQR are enough. Here: the largest angle between its
  directions and the exact ones, and accuracy, next to our block conjugate gradients.
- memory (rlpi-2007, table 1): LPI m (p + m + n) + n d numbers, RLPI m (p + d + 1) + n (d + 2), with
  m documents, n terms and d dimensions. Here: the peak that NumPy and SciPy allocate in a fit.
"""

from __future__ import annotations

import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import lsqr

from benchmarks.papers.measures import STARTS, documents_of, measured
from benchmarks.papers.methods import Method
from benchmarks.papers.protocol import Part, drawn
from benchmarks.papers.published import Published
from lpisearch.evaluation.clustering import (
    cluster_documents,
    clustering_accuracy,
    mutual_information,
)
from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.lpi import LPI
from lpisearch.methods.olpi import OLPI
from lpisearch.methods.regression import ridge
from lpisearch.methods.responses import graph_responses
from lpisearch.methods.rlpi import RLPI

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLASSES = tuple(range(2, 11))
DRAWS = 50
PAPER = {"tdt2": 430, "reuters": 312}
NEIGHBOURS, ALPHA, STEPS = 7, 0.1, 15
# Two documents with a cosine this near to 1 are one: float32 tells no more.
SAME = 1e-6
# Of the comparison of OLPI.
DIMS = (3, 4, 5, 10, 20, 50)


def documents(data: str, subset: tuple[Any, ...]) -> sparse.csr_array:
    """Return weighted documents of some classes."""
    return documents_of(Part("clusters", data, Method.of("terms"), subset)).X


def rank(draws: int) -> None:
    """Count the draws whose documents are linearly independent, all of them and without copies."""
    for data, printed in PAPER.items():
        without = copied = total = 0
        for number in CLASSES:
            for subset in drawn(data, number, draws):
                copies, independent = dependences(documents(data, subset))
                without += independent
                copied += copies > 0
                total += 1
        print(f"{data}: of {total} draws {copied} have copies of documents; without the copies, "
              f"{without} have full rank. Paper: {printed} of 450.", flush=True)  # fmt: skip


def dependences(X: sparse.csr_array) -> tuple[int, bool]:
    """Count copies of documents; tell whether the others are linearly independent."""
    rows = X.astype(np.float64)
    gram = (rows @ rows.T).toarray()
    copies = np.triu(gram, 1).max(axis=0) > 1 - SAME
    gram = gram[~copies][:, ~copies]
    try:
        factor = linalg.cholesky(gram, lower=True, overwrite_a=True)
    except linalg.LinAlgError:
        return int(copies.sum()), False
    return int(copies.sum()), bool(factor.diagonal().min() > SAME)


def centred_olpi(draws: int) -> None:
    """Compare OLPI of documents about their mean with OLPI of documents as they are."""
    found: dict[tuple[str, int], list[float]] = {}
    for subset in drawn("tdt2", 5, draws):
        X, labels, n_classes = documents_of(Part("clusters", "tdt2", Method.of("terms"), subset))
        W = nearest(X, None, GraphOptions(NEIGHBOURS))
        for name, centred in (("about the mean", True), ("as they are", False)):
            Z = OLPI(max(DIMS), centred=centred).fit(X, affinity=W).transform(X)
            for dims in DIMS:
                own = cluster_documents(Z[:, :dims], n_classes, starts=STARTS).assignments.tolist()
                found.setdefault((name, dims), []).append(100 * clustering_accuracy(labels, own))
    for (name, dims), own in found.items():
        print(f"documents {name}, {dims} dimensions: AC {np.mean(own):.1f} "
              f"({min(own):.1f} to {max(own):.1f}, {len(own)} draws)", flush=True)  # fmt: skip


def best_of_spca(draws: int) -> None:
    """Compare sparse PCA in as many dimensions as classes with the best of many, by the labels."""
    shares = Published.read("spg-2008-3-sparsity").cells
    rows = []
    for number in CLASSES:
        method = Method.of("spca", n_components=20, sparsity=shares[str(number), "SPCA"].mean)
        for subset in drawn("tdt2", number, draws):
            part = Part("clusters_by_dimension", "tdt2", method, subset, tuple(range(2, 21)))
            found = measured(part)["by_dims"]
            best = max(found, key=lambda dims: found[dims]["AC"])
            rows.append([found[at][what] for at in (str(number), best) for what in ("AC", "NMI")])
        said = ", ".join(f"{value:.1f}" for value in np.mean(rows, axis=0))
        print(f"2 to {number} classes, {draws} draws, AC and NMI in c dimensions and in the "
              f"best of 2 to 20: {said}", flush=True)  # fmt: skip


def steps_of_lsqr() -> None:
    """Compare solutions of the regression on TDT2, 10 classes and all."""
    for subset in (drawn("tdt2", 10, 1)[0], ()):
        labels: list[str]
        X, labels, n_classes = documents_of(Part("clusters", "tdt2", Method.of("terms"), subset))
        X = X.astype(np.float64)
        W = nearest(X, None, GraphOptions(NEIGHBOURS))
        found = graph_responses(W, X, n_classes - 1, rng=np.random.default_rng(0))
        Y = found.vectors.astype(np.float64)
        exact = ridge(X, Y, ALPHA, solver="dense").coefficients
        ours = ridge(X, Y, ALPHA, weights=found.values**4, solver="cg")
        print(f"{X.shape[0]} documents, {n_classes} classes")
        print(f"  exact: {judged(X, exact, labels, n_classes)}")
        angle = largest_angle(ours.coefficients, exact)
        print(f"  ours, {ours.steps} steps: {angle:.2f}°, "
              f"{judged(X, ours.coefficients, labels, n_classes)}")  # fmt: skip
        for steps in (5, STEPS, 50):
            A = np.column_stack(
                [lsqr(X, y, damp=ALPHA**0.5, atol=0, btol=0, iter_lim=steps)[0] for y in Y.T]
            )
            angle = largest_angle(A, exact)
            print(f"  LSQR, {steps} steps: {angle:.2f}°, {judged(X, A, labels, n_classes)}",
                  flush=True)  # fmt: skip


def largest_angle(A: NDArray[Any], B: NDArray[Any]) -> float:
    """Return the largest angle between columns, in degrees."""
    lengths = np.linalg.norm(A, axis=0) * np.linalg.norm(B, axis=0)
    cosines = np.abs(np.sum(A * B, axis=0)) / lengths
    return float(np.degrees(np.arccos(np.minimum(cosines, 1))).max())


def judged(X: Any, A: NDArray[Any], labels: list[str], n_classes: int) -> str:
    """Return AC and NMI of k-means on the places."""
    own = cluster_documents(X @ A, n_classes).assignments.tolist()
    right, shared = clustering_accuracy(labels, own), mutual_information(labels, own)
    return f"AC {100 * right:.1f}, NMI {100 * shared:.1f}"


def memory() -> None:
    """Print the peak of each fit next to table 1, in MiB of float64."""
    subset = drawn("tdt2", 10, 1)[0]
    X = documents("tdt2", subset).astype(np.float64)
    for m in (1000, 2000, 3000):
        rows = X[:m]
        rows = rows[:, np.unique(rows.indices)]
        n, d, p = rows.shape[1], 9, NEIGHBOURS
        numbers = {"LPI": m * (p + m + n) + n * d, "RLPI": m * (p + d + 1) + n * (d + 2)}
        affinity = nearest(rows, None, GraphOptions(NEIGHBOURS))
        fits: dict[str, Any] = {"LPI": LPI(d), "RLPI": RLPI(d, alpha=ALPHA)}
        for name, method in fits.items():
            tracemalloc.start()
            method.fit(rows, affinity=affinity)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            table = 8 * numbers[name] / 2**20
            print(f"{m} documents, {n} terms, {name}: {peak / 2**20:.0f} MiB; table 1: {table:.0f}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["rank", *draws]:
            rank(int(draws[0]) if draws else DRAWS)
        case ["pca", *draws]:
            centred_olpi(int(draws[0]) if draws else DRAWS)
        case ["spca", *draws]:
            best_of_spca(int(draws[0]) if draws else DRAWS)
        case ["lsqr"]:
            steps_of_lsqr()
        case ["memory"]:
            memory()
        case _:
            sys.exit(__doc__)
