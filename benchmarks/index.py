"""Time, memory and quality of RLPI compared with TruncatedSVD, on public collections.

Run `python benchmarks/index.py [speed] [memory] [growth] [quality]`; no word runs all. Everything
that is compared runs in turn in this one process, the best time of each counts, and only ratios
mean anything.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from benchmarks import arguments
from lpisearch.evaluation.clustering import (
    cluster_documents,
    clustering_accuracy,
    mutual_information,
)
from lpisearch.evaluation.retrieval import parse_measures, score_run
from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.eigen import graph_vectors
from lpisearch.methods.lsi import LSI
from lpisearch.methods.regression import ridge
from lpisearch.methods.rlpi import RLPI
from lpisearch.numeric.rows import unit_rows
from lpisearch.text.tokeniser import Tokeniser
from lpisearch.text.vocabulary import Weighting, count_terms, normalise_rows
from tests.indexing import build_counts

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parents[2] / "shared" / "data"
RETRIEVAL = ("med", "cranfield", "cisi")
ROUNDS = 5


def main() -> None:
    """Run the parts that are named, or all."""
    parts = {"speed": speed, "memory": memory, "growth": growth, "quality": quality}
    if sys.argv[1:2] == ["--measure"]:
        _measure_memory(Path(sys.argv[2]))
        return
    for name in arguments.names(__doc__, "PART", parts) or parts:
        print(f"\n{name}")
        parts[name]()


def speed() -> None:
    """Time RLPI and TruncatedSVD from the same weighted matrix; see what the short cuts cost."""
    X = _documents("20newsgroups")[0]
    print(f"20newsgroups: {X.shape[0]} documents, {X.shape[1]} terms, {X.nnz} weights")
    models = {"RLPI": lambda: RLPI().fit(X), "TruncatedSVD": lambda: TruncatedSVD(150).fit(X)}
    models["LSI"] = lambda: LSI().fit(X)
    best, fitted = _fastest(models)
    for name in models:
        print(f"  {name:14}{best[name]:6.2f} s   {getattr(fitted[name], 'seconds_', '')}")
    _report("RLPI / TruncatedSVD, time", best["RLPI"] / best["TruncatedSVD"])
    _report("LSI / TruncatedSVD, time", best["LSI"] / best["TruncatedSVD"])
    for name in RETRIEVAL:
        X, queries, relevant = _collection(name)
        exact = _precision(X, queries, relevant, "dense", "dense")
        quick = _precision(X, queries, relevant, "block", "cg")
        _report(f"{name}: AP {quick:.4f}, exact {exact:.4f}, ratio", quick / exact)


def memory() -> None:
    """Measure the peak of a process that does nothing but fit."""
    X = _documents("20newsgroups")[0]
    matrix = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    index = 4 * 150 * (X.shape[0] + X.shape[1])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matrix.npz"
        sparse.save_npz(path, X, compressed=False)
        command = [sys.executable, __file__, "--measure", str(path)]
        start, peak = map(int, subprocess.check_output(command, text=True).split())
    print(f"  matrix {matrix / 2**20:.0f} MiB, index {index / 2**20:.0f} MiB (map and documents)")
    print(f"  before fit {start / 2**20:.0f} MiB (Python, SciPy, scikit-learn and the matrix)")
    _report("peak / (matrix + index)", peak / (matrix + index))
    _report(
        "(peak - before + matrix) / (matrix + index)", (peak - start + matrix) / (matrix + index)
    )


def growth() -> None:
    """Time 5,000, 20,000 and 80,000 synthetic documents, and give the exponent of each stage."""
    sizes = (5_000, 20_000, 80_000)
    stages: dict[str, list[float]] = {"graph": [], "eigenvectors": [], "regression": []}
    for n in sizes:
        rounds = [RLPI().fit(_synthetic(n)).seconds_ for _ in range(2)]
        for stage, seconds in stages.items():
            seconds.append(min(times[stage] for times in rounds))
        print(f"  {n:6} documents: {sum(each[-1] for each in stages.values()):.1f} s")
    stages["all"] = [sum(times) for times in zip(*stages.values(), strict=True)]
    for stage, seconds in stages.items():
        slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        shown = ", ".join(f"{each:.1f}" for each in seconds)
        print(f"  {stage:13} {shown} s: exponent {slope:.2f}")


def quality() -> None:
    """Cluster, find neighbours, classify, and see what the automatic choices cost."""
    X, labels = _tdt2()
    points = RLPI(30, n_neighbors=7, alpha=0.1).fit_transform(X)
    found = cluster_documents(points, 30).assignments
    _report("tdt2, 30 clusters, AC", clustering_accuracy(labels, found))
    _report("tdt2, 30 clusters, NMI", mutual_information(labels, found))
    X, labels, split = _documents("20newsgroups")
    _report("20newsgroups, neighbours of the class, RLPI", _same_class(RLPI(), X, labels))
    _report("20newsgroups, neighbours of the class, LSI", _same_class(LSI(), X, labels))
    chosen = RLPI("auto", alpha="auto")
    share = _same_class(chosen, X, labels)
    _report(f"  the same, {_choice(chosen)}", share)
    for name in RETRIEVAL:
        X_, queries, relevant = _collection(name)
        plain, chosen = RLPI().fit(X_), RLPI("auto", alpha="auto").fit(X_)
        scores = [_ap(m.embed(queries) @ m.embed(X_).T, relevant) for m in (plain, chosen)]
        _report(
            f"{name}: AP {scores[0]:.4f}, {_choice(chosen)}: {scores[1]:.4f}, ratio",
            scores[1] / scores[0],
        )
    train = split == "train"
    results = {}
    for alpha in (1.0, "auto"):
        model = RLPI(alpha=alpha).fit(X[train], labels[train])
        results[alpha] = _centroid_accuracy(model, X, labels, train)
        print(f"  20newsgroups by date, α {alpha} ({model.alpha_:.2g}): {results[alpha]:.4f}")
    _report("loss of α auto, points", 100 * (results[1.0] - results["auto"]))


def _report(what: str, value: float) -> None:
    print(f"  {what} {value:.4f}")


def _fastest(models: dict[str, Callable[[], Any]]) -> tuple[dict[str, float], dict[str, Any]]:
    best: dict[str, float] = dict.fromkeys(models, np.inf)
    fitted = {}
    for _ in range(ROUNDS):
        for name, fit in models.items():
            began = time.perf_counter()
            model = fit()
            took = time.perf_counter() - began
            if took < best[name]:
                best[name], fitted[name] = took, model
    return best, fitted


def _precision(X: Any, queries: Any, relevant: Any, eigen: str, regression: str) -> float:
    found = graph_vectors(
        nearest(X), 150, rng=np.random.default_rng(0), start=X, solver=eigen, dtype=X.dtype
    )
    weights = found.values**2
    A = ridge(X, found.vectors, 1.0, weights=weights**2, solver=regression).coefficients * weights
    return _ap(unit_rows(queries @ A) @ unit_rows(X @ A).T, relevant)


def _ap(scores: Any, relevant: dict[int, set[int]]) -> float:
    """Mean average precision."""
    run = {str(query): [(str(n), float(one)) for n, one in enumerate(scores[query])]
           for query in relevant}  # fmt: skip
    judged = {str(query): {str(n): 1 for n in told} for query, told in relevant.items()}
    return fmean(score_run(run, judged, parse_measures(["AP"]))["AP"].values())


def _same_class(model: Any, X: Any, labels: Any, k: int = 20) -> float:
    """Share of documents of the own class among the k nearest."""
    points = model.fit(X).embed(X)
    shares = []
    for start in range(0, len(points), 1000):
        cosines = points[start : start + 1000] @ points.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf
        near = np.argpartition(-cosines, k, axis=1)[:, :k]
        shares.append(labels[near] == labels[start + rows][:, np.newaxis])
    return float(np.concatenate(shares).mean())


def _centroid_accuracy(model: Any, X: Any, labels: Any, train: Any) -> float:
    points, classes = model.embed(X), np.unique(labels)
    centroids = [points[train & (labels == one)].mean(axis=0) for one in classes]
    cosines = points[~train] @ unit_rows(np.array(centroids)).T
    return float(np.mean(classes[cosines.argmax(axis=1)] == labels[~train]))


def _choice(model: Any) -> str:
    return f"{model.n_components_} dimensions and α {model.alpha_:.2g} chosen"


def _measure_memory(path: Path) -> None:
    """Print the resident bytes before the fit and at the peak (of a process started for this)."""
    X = sparse.load_npz(path)
    start = _resident("VmRSS")
    model = RLPI().fit(X)
    model.transform(X)
    print(start, _resident("VmHWM"))


def _resident(field: str) -> int:
    # getrusage would count the parent's memory at the fork as the child's peak.
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


def _documents(name: str) -> tuple[Any, Any, Any]:
    records = _records(name, "docs")
    X = _weigh(_tokens(records))[0]
    labels = np.array([record["labels"][0] if record["labels"] else "" for record in records])
    return X, labels, np.array([record["split"] for record in records])


def _collection(name: str) -> tuple[Any, Any, dict[int, set[int]]]:
    records, questions = _records(name, "docs"), _records(name, "queries")
    X, weigh = _weigh(_tokens(records))
    document = {str(record["id"]): row for row, record in enumerate(records)}
    query = {str(question["id"]): row for row, question in enumerate(questions)}
    relevant: dict[int, set[int]] = {}
    for line in (DATA / name / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        asked, _, told, grade = line.split()
        if int(grade) > 0 and told in document:
            relevant.setdefault(query[asked], set()).add(document[told])
    return X, weigh(_tokens(questions)), relevant


def _weigh(texts: list[str]) -> tuple[Any, Callable[[list[str]], Any]]:
    vocabulary, counts = build_counts([texts])
    weighting = Weighting.fit(counts.matrix)

    def weigh(others: list[str]) -> Any:
        return normalise_rows(weighting.apply(count_terms([others], vocabulary).matrix))

    return normalise_rows(weighting.apply(counts.matrix)), weigh


def _tokens(records: list[Any]) -> list[str]:
    joined = Tokeniser().joined
    return [joined(f"{record.get('title', '')} {record['text']}") for record in records]


def _records(name: str, kind: str) -> list[Any]:
    with gzip.open(DATA / name / f"{kind}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _tdt2() -> tuple[Any, Any]:
    stored = np.load(DATA / "tdt2" / "tdt2.npz")
    parts = (stored["data"].astype(np.float32), stored["indices"], stored["indptr"])
    return unit_rows(sparse.csr_array(parts, shape=tuple(stored["shape"]))), stored["label"].ravel()


def _synthetic(n: int, n_terms: int = 40_000, length: int = 120, topics: int = 200) -> Any:
    """Make documents that draw terms by Zipf's law, half of them shifted by their topic."""
    rng = np.random.default_rng(0)
    ranks = (n_terms ** rng.random((n, length))).astype(np.int64) - 1
    shift = rng.integers(topics, size=n)[:, np.newaxis] * 1009
    terms = np.where(rng.random((n, length)) < 0.5, ranks, (ranks + shift) % n_terms)
    rows = np.repeat(np.arange(n), length)
    counts = sparse.coo_array((np.ones(n * length), (rows, terms.ravel())), (n, n_terms))
    matrix = sparse.csr_array(counts).astype(np.float32)
    return normalise_rows(Weighting.fit(matrix).apply(matrix))


if __name__ == "__main__":
    main()
