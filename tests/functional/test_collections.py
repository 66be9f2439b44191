"""The public collections: the average precision that the documentation claims, and a large one."""

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from typer.testing import Result

from lpisearch.evaluation.retrieval import parse_measures, score_run
from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.options import IndexOptions, IngestOptions, SearchOptions
from lpisearch.readers.judgements import read_queries
from tests.searching import run_batch

# What hybrid gains over lexical, at least: docs/ranking.md has what was measured.
_LEAST = {
    "med": 0.3,
    "cranfield": 0.17,
    "cisi": 0.2,
    "cacm": 0.08,
    "npl": 0.05,
    "scifact": 0.01,
    "pgdocs": 0.025,
    "xquad-de": -0.005,
    "xquad-zh": -0.005,
}


@pytest.mark.data
@pytest.mark.parametrize("name", _LEAST)
def test_average_precision_at_the_defaults(data: Path, library: Path, name: str) -> None:
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


@pytest.mark.data
@pytest.mark.slow
def test_20_newsgroups(data: Path, cli: Callable[..., Result]) -> None:
    """20 Newsgroups goes in whole, is unchanged the second time, and has its labels and splits."""

    def value(*words: str | Path) -> Any:
        done = cli(*words, "--json")
        assert (done.exit_code, done.stderr) == (0, "")
        return json.loads(done.stdout)

    file = data / "20newsgroups" / "docs.jsonl.gz"
    first = value("ingest", file)
    assert (first["added"], first["unchanged"], first["failed"]) == (18846, 0, 0)
    second = value("ingest", file)
    assert (second["added"], second["unchanged"], second["failed"]) == (0, 18846, 0)
    assert second["seconds"] < first["seconds"] / 5
    status = value("status")
    assert status["documents"] == 18846
    assert len(status["labels"]) == 20
    assert sum(status["labels"].values()) == 18846
    assert status["splits"] == {"test": 7532, "train": 11314}
    assert value("doctor")["ok"] is True
