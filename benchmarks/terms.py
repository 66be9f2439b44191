"""Counting and weighting compared with scikit-learn, on 20 Newsgroups (36 MB).

Run `python benchmarks/terms.py [docs.jsonl.gz]`. Both start from texts that are already tokens
with one space between. Each way runs several times in turn; the best time of each counts, and
only ratios are meaningful.
"""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from benchmarks import arguments
from lpisearch.text.tokeniser import Tokeniser
from lpisearch.text.vocabulary import VocabularyLimits, Weighting, normalise_rows
from tests.indexing import build_counts

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parents[2] / "shared" / "data" / "20newsgroups" / "docs.jsonl.gz"
SHARD = 2000
ROUNDS = 5


def main() -> None:
    """Print the times of counting, then of weighting the very same counts."""
    named = arguments.paths(__doc__, "docs.jsonl.gz")
    texts = _read_tokens(named[0] if named else DATA)
    counts = build_counts([texts])[1].matrix
    print(f"{counts.shape[0]} documents, {counts.shape[1]} terms, {counts.nnz} counts")
    _compare(
        "counting, every term",
        lambda: build_counts(_shards(texts), VocabularyLimits(min_df=1, max_terms=None)),
        lambda: CountVectorizer(analyzer=str.split).fit_transform(texts),
    )
    _compare(
        "counting, terms in 3 documents or more",
        lambda: build_counts(_shards(texts), VocabularyLimits(min_df=3, max_terms=None)),
        lambda: CountVectorizer(analyzer=str.split, min_df=3).fit_transform(texts),
    )
    _compare(
        "log-tfidf, unit rows",
        lambda: normalise_rows(Weighting.fit(counts).apply(counts)),
        lambda: TfidfTransformer(sublinear_tf=True).fit_transform(counts),
    )


def _read_tokens(path: Path) -> list[str]:
    joined = Tokeniser().joined
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [joined(json.loads(line)["text"]) for line in lines]


def _shards(texts: list[str]) -> list[list[str]]:
    return [texts[start : start + SHARD] for start in range(0, len(texts), SHARD)]


def _compare(what: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        for place, way in enumerate((ours, theirs)):
            started = time.perf_counter()
            way()
            best[place] = min(best[place], time.perf_counter() - started)
    print(
        f"{what:40} lpisearch {best[0]:.2f} s   scikit-learn {best[1]:.2f} s   "
        f"ratio {best[0] / best[1]:.2f}"
    )


if __name__ == "__main__":
    main()
