"""The average precision that the documentation claims, on the public collections."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

import pytest

from lpisearch.evaluation.retrieval import parse_measures, score_run
from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.options import IndexOptions, IngestOptions, SearchOptions
from lpisearch.readers.judgements import read_queries
from tests.searching import run_batch

if TYPE_CHECKING:
    from pathlib import Path

# What hybrid gains over lexical, at least: docs/ranking.md has what was measured.
_LEAST = {
    "med": 0.3,
    "cranfield": 0.17,
    "cisi": 0.2,
    "cacm": 0.08,
    "npl": 0.05,
    "scifact": 0.01,
    "pgdocs": 0.03,
    "xquad-de": -0.005,
    "xquad-zh": -0.005,
}


@pytest.mark.data
@pytest.mark.parametrize("name", _LEAST)
def test_average_precision_at_the_defaults(data: Path, library: Path, name: str) -> None:
    """By defaults alone, hybrid finds more than words on every collection."""
    run_ingest(library, [str(data / name / "docs.jsonl.gz")], IngestOptions())
    build_index(library, IndexOptions())
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (data / name / "qrels.tsv").read_text().splitlines():
        query, _, document, grade = line.split("\t")
        if int(grade) > 0:
            judged[query][document] = int(grade)
    queries = [
        query for query in read_queries(data / name / "queries.jsonl.gz") if query[0] in judged
    ]
    found = {}
    for by in ("lexical", "hybrid"):
        run = dict(run_batch(library, queries, SearchOptions(by=by, k=100_000)))
        found[by] = fmean(score_run(run, judged, parse_measures(["AP"]))["AP"].values())
    assert found["hybrid"] / found["lexical"] - 1 >= _LEAST[name]
