"""OLPI compared with solving each reduced eigenproblem from scratch, with LPI, RLPI and SVD.

Run: python benchmarks/olpi.py [--data ../shared/data] [--subsets 6] [--small-only]

Two tables: time of 100 directions in the full space of small document sets, as ratios; a fit on the
20 Newsgroups compared with scikit-learn's TruncatedSVD. Only ratios within one run are meaningful,
and linear algebra runs on one thread, since waiting threads would distort the times.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, qr
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

from benchmarks.papers.measures import documents_of
from benchmarks.papers.methods import Method
from benchmarks.papers.protocol import Part, drawn
from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.linalg import graph_grams, whole_space
from lpisearch.methods.lpi import LPI
from lpisearch.methods.lpp import LPP
from lpisearch.methods.olpi import OLPI
from lpisearch.methods.orthogonal import orthogonal_directions
from lpisearch.methods.rlpi import RLPI
from lpisearch.numeric.rows import unit_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lpisearch.graphs.affinity import Floats

N_DIRECTIONS = 100
NEIGHBORS = 7  # section 5.2.1 of the paper


class Subset(NamedTuple):
    """Documents (unit rows of term counts) that contain one term, and their classes."""

    X: Any
    labels: Any


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--subsets", type=int, default=6)
    parser.add_argument(
        "--few-terms", action="store_true", help="compare iteration with the exact on 4,000 terms"
    )
    parser.add_argument("--small-only", action="store_true", help="leave out 20 Newsgroups")
    options = parser.parse_args()
    with threadpool_limits(limits=1, user_api="blas"):
        if options.few_terms:
            print_few_terms()
            return
        subsets = list(tdt2_subsets(options.data / "tdt2" / "tdt2.npz", options.subsets))
        print_directions(subsets)
        if not options.small_only:
            print_newsgroups(options.data / "20newsgroups" / "docs.jsonl.gz")


def tdt2_subsets(path: Path, count: int) -> Iterator[Subset]:
    """Draw terms that 270 to 718 documents of the 20 largest classes contain."""
    stored = np.load(path, allow_pickle=False)
    parts = (stored["data"].astype(np.float64), stored["indices"], stored["indptr"])
    counts = sparse.csr_array(parts, shape=tuple(stored["shape"]))
    sizes = np.bincount(stored["label"])
    kept = np.flatnonzero(np.isin(stored["label"], np.argsort(-sizes)[:20]))
    counts, labels = sparse.csr_array(counts[kept]), stored["label"][kept]
    frequency = np.diff(counts.tocsc().indptr)
    candidates = np.flatnonzero((frequency >= 270) & (frequency <= 718))
    for term in np.random.default_rng(0).choice(candidates, count, replace=False):
        rows = np.flatnonzero(counts[:, [term]].toarray().ravel())
        yield Subset(unit_rows(sparse.csr_array(counts[rows])), labels[rows])


def print_few_terms() -> None:
    """Compare directions by iteration with exact ones where terms are fewer than documents."""
    subset = drawn("tdt2-20", 10, 50)[0]
    every = documents_of(Part("clusters", "tdt2-20", Method.of("terms"), subset)).X
    common = np.argsort(-np.bincount(every.indices, minlength=every.shape[1]))[:4000]
    X = sparse.csr_array(every[:, np.sort(common)])
    W = nearest(X, options=GraphOptions(n_neighbors=NEIGHBORS))
    for method in (LPI, LPP):
        for space in ("auto", None):
            found: Any = method(50, svd_components=space).fit(X, affinity=W)
            values = (1 - found.eigenvalues_)[[0, 1, 4, 9, 19, 49]].round(4)
            print(f"{method.__name__} {X.shape} {found.solver_:10}", *values, flush=True)


def print_directions(subsets: list[Subset]) -> None:
    """Time 100 directions from the same two Gram matrices, on three roads."""
    print(f"\n{N_DIRECTIONS} directions in the full space (processor seconds, from UᵀWU and UᵀDU)")
    print(f"{'docs':>5} {'rank':>5} {'OLPI':>7} {'scratch':>8} {'LPI':>7} "
          f"{'scratch/OLPI':>13} {'OLPI/LPI':>9} {'difference':>11}")  # fmt: skip
    for subset in subsets:
        space = whole_space(subset.X)
        W = nearest(subset.X, options=GraphOptions(n_neighbors=NEIGHBORS))
        problem = (*graph_grams(space.documents, W), space.scales, N_DIRECTIONS)
        olpi, found = timed(partial(orthogonal_directions, *problem), repeats=3)
        scratch, reference = timed(partial(directions_from_scratch, *problem))
        lpi, _ = timed(partial(lpi_directions, *problem), repeats=3)
        difference = np.abs(found.values - reference).max()
        print(f"{subset.X.shape[0]:5} {len(space.scales):5} {olpi:7.2f} {scratch:8.2f} {lpi:7.2f} "
              f"{scratch / olpi:13.1f} {olpi / lpi:9.1f} {difference:11.1e}")  # fmt: skip


def print_newsgroups(path: Path) -> None:
    """Fit on all of 20 Newsgroups, side by side with TruncatedSVD of as many dimensions."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    labels = np.unique([record["labels"][0] for record in records], return_inverse=True)[1]
    weighting = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english", dtype=np.float32)
    X = sparse.csr_array(weighting.fit_transform(r["title"] + "\n" + r["text"] for r in records))
    print(f"\n20 Newsgroups, {X.shape[0]} documents x {X.shape[1]} terms, 150 dimensions (seconds)")
    graph, W = timed(partial(nearest, X), repeats=2, clock=time.perf_counter)
    peer_fit = partial(TruncatedSVD(150, random_state=0).fit, X)
    svd, lsi = timed(peer_fit, repeats=2, clock=time.perf_counter)
    peer = np.asarray(unit_rows(lsi.transform(X)))
    print(f"{'graph of 15 neighbours':<34}{graph:7.1f}")
    print(f"{'TruncatedSVD(150)':<34}{svd:7.1f}          share {same_class(peer, labels):.4f}")
    for limit in (200, 300, 500):
        fit = partial(OLPI(150, svd_components=limit).fit, X, affinity=W)
        seconds, olpi = timed(fit, repeats=2, clock=time.perf_counter)
        share = same_class(olpi.embed(X), labels)
        print(f"{f'OLPI(150, svd_components={limit})':<34}{seconds:7.1f}  x{seconds / svd:5.2f}   "
              f"share {share:.4f}   with the graph x{(seconds + graph) / svd:5.2f}")  # fmt: skip
    rlpi, _ = timed(partial(RLPI(n_components=100).fit, X, affinity=W), repeats=2)
    whole, olpi = timed(partial(OLPI(100).fit, X, affinity=W))
    print(f"OLPI(100) in the whole space, {olpi.solver_}: {whole:.1f} s of the processor, "
          f"{whole / rlpi:.1f} times those of RLPI(100)")  # fmt: skip
    print("share: of the same class among the 20 nearest, 2,000 documents")


def directions_from_scratch(
    affinity_gram: Floats, degree_gram: Floats, scales: Floats, count: int
) -> Floats:
    """Solve each reduced problem from scratch on a basis of the complement; return the values."""
    A = scales[:, None] * affinity_gram * scales
    B = scales[:, None] * degree_gram * scales
    complement = np.eye(len(scales))
    values = []
    for _ in range(count):
        last = complement.shape[1] - 1
        reduced = (complement.T @ A @ complement, complement.T @ B @ complement)
        value, vector = eigh(*reduced, subset_by_index=[last, last])
        values.append(value[0])
        complement = complement @ qr(vector)[0][:, 1:]
    return np.array(values)


def lpi_directions(
    affinity_gram: Floats, degree_gram: Floats, scales: Floats, count: int
) -> Floats:
    """Solve the same pencil without orthogonality, once."""
    n = len(scales)
    vectors = eigh(affinity_gram, degree_gram, subset_by_index=[n - count, n - 1])[1]
    return np.asarray(vectors[:, ::-1] / scales[:, None])


def same_class(Y: Floats, labels: Any, *, k: int = 20, sample: int = 2000) -> float:
    """Return the share of documents of the same class among the k nearest of a sample."""
    rows = np.random.default_rng(0).choice(len(Y), sample, replace=False)
    cosines = Y[rows] @ Y.T
    cosines[np.arange(sample), rows] = -np.inf
    near = np.argpartition(-cosines, k, axis=1)[:, :k]
    return float(np.mean(labels[near] == labels[rows, None]))


def timed(
    work: Callable[[], Any], *, repeats: int = 1, clock: Callable[[], float] = time.process_time
) -> tuple[float, Any]:
    """Return the least time of a few runs, and the last result."""
    seconds = []
    for _ in range(repeats):
        start = clock()
        result = work()
        seconds.append(clock() - start)
    return min(seconds), result


if __name__ == "__main__":
    main()
