"""Compare the pruned neighbour graph with the exact one: time, recall, share of weight.

Run `python -m benchmarks.graphs [COLLECTION …]`; without a name 20newsgroups, debian-packages and
all public collections as one. Both run in turn in this process; only ratios are meaningful. With
`pip install sparse-dot-topn` the candidates are also found by that package.
"""

from __future__ import annotations

import gzip
import json
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy.sparse import csr_matrix

from benchmarks import arguments
from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import (
    CANDIDATES,
    STRONGEST_DOCUMENTS,
    STRONGEST_TERMS,
    nearest,
    pruned,
    recall,
    strongest_entries,
)
from lpisearch.numeric.rows import unit_rows
from lpisearch.text.tokeniser import Tokeniser
from lpisearch.text.vocabulary import Weighting, normalise_rows
from tests.indexing import build_counts

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy.sparse import csr_array

DATA = Path(__file__).parents[2] / "shared" / "data"
ALL = "all"
NEIGHBOURS = 15


def main() -> None:
    """Measure each collection that is named."""
    known = [path.parent.name for path in sorted(DATA.glob("*/docs.jsonl.gz"))]
    chosen = arguments.names(__doc__, "COLLECTION", [*known, ALL])
    print("| collection | documents | pruned / exact, time | recall | weight | sparse-dot-topn |")
    print("| :--- | ---: | ---: | ---: | ---: | ---: |")
    for name in chosen or ["20newsgroups", "debian-packages", ALL]:
        measure(name, matrix(name))


def measure(name: str, X: csr_array) -> None:
    """Print a row; the time of the package is that of its candidates, compared with all of ours."""
    options = GraphOptions(NEIGHBOURS, exact_documents=X.shape[0])
    _, took_exact = _timed(lambda: nearest(X, None, options))
    found, took = _timed(lambda: pruned(X, None, options))
    kept = recall(X, found, NEIGHBOURS, seed=0, sample=1000)
    peer = f"{with_package(X) / took:.2f}" if find_spec("sparse_dot_topn") else "not installed"
    cells = (f"{X.shape[0]:,}", f"{took / took_exact:.2f}", f"{kept.edges:.3f}")
    print("|", " | ".join((name, *cells, f"{kept.weight:.3f}", peer)), "|", flush=True)


def with_package(X: csr_array) -> float:
    """Time the candidates alone, found by sparse-dot-topn in two threads."""
    from sparse_dot_topn import sp_matmul_topn

    def candidates() -> Any:
        strongest = strongest_entries(unit_rows(X), STRONGEST_TERMS)
        lists = csr_matrix(strongest_entries(strongest.T.tocsr(), STRONGEST_DOCUMENTS))
        return sp_matmul_topn(csr_matrix(strongest), lists, top_n=CANDIDATES, n_threads=2)

    return _timed(candidates)[1]


def matrix(name: str) -> csr_array:
    """Weigh the documents of a collection, or of all."""
    names = [path.parent.name for path in sorted(DATA.glob("*/docs.jsonl.gz"))]
    tokeniser = Tokeniser()
    texts = []
    for each in names if name == ALL else [name]:
        with gzip.open(DATA / each / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
            records = map(json.loads, lines)
            texts += [tokeniser.joined(f"{one['title']}\n{one['text']}") for one in records]
    counts = build_counts([texts])[1].matrix
    return normalise_rows(Weighting.fit(counts).apply(counts))


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.perf_counter()
    result = work()
    return result, time.perf_counter() - begun


if __name__ == "__main__":
    main()
