"""The average precision that the documentation claims, on the public collections."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

import pytest

from lpisearch.evaluation import parse_measures, score_run
from lpisearch.indexes.build import build_index
from lpisearch.ingest.ingesting import run_ingest
from lpisearch.readers.queries import read_queries
from lpisearch.settings import IndexOptions, IngestOptions, SearchOptions
from tests.searching import run_batch

if TYPE_CHECKING:
    from pathlib import Path

_LEAST = {
    "med": {"lexical": 0.53, "semantic": 0.71, "hybrid": 0.71},
    "cranfield": {"lexical": 0.305, "semantic": 0.345, "hybrid": 0.37},
    "cisi": {"lexical": 0.225, "semantic": 0.27, "hybrid": 0.285},
}


@pytest.mark.data
@pytest.mark.parametrize("name", _LEAST)
def test_average_precision_at_the_defaults(data: Path, library: Path, name: str) -> None:
    """One setting for all collections reaches what is promised of each way to rank."""
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
    for by, least in _LEAST[name].items():
        run = dict(run_batch(library, queries, SearchOptions(by=by, k=10_000)))
        found = score_run(run, judged, parse_measures(["AP"]))["AP"]
        assert len(found) == len(queries)
        assert fmean(found.values()) >= least, by
