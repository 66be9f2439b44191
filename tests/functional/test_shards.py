"""Shards served by processes of their own, and one in front of them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import defaultdict
from contextlib import ExitStack
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import pytest

import lpisearch
from lpisearch.errors import ShardsUnusable
from lpisearch.evaluation import parse_measures, score_run
from lpisearch.readers.queries import read_queries
from lpisearch.search.notes import unheard
from tests.serving import get_json, serving

if TYPE_CHECKING:
    from pathlib import Path

_QUESTION = "ship harbour"
_ROUNDING = 1e-5


def _ids(answer: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in answer["hits"]]


def test_shards_of_servers_answer_and_one_that_is_killed_is_named(
    shelf: Path, tmp_path: Path
) -> None:
    """Two servers answer as the library, by one in front; if one is killed, the other answers."""
    with lpisearch.open(shelf) as library:
        library.index(dims=4)
        library.split(tmp_path / "parts", 2)
        expected = [hit.id for hit in library.search(_QUESTION, k=40)]
        first = {entry.id for entry in library.entries()[:20]}
    with ExitStack() as stack:
        began = [
            stack.enter_context(serving(tmp_path / "parts", "--shard", f"{number}/2"))
            for number in (1, 2)
        ]
        urls = [url.rstrip("/") for _, url in began]
        _, front = stack.enter_context(serving(shelf, "--shards", ",".join(urls)))
        address = f"{front}api/v1/search?k=40&q={quote(_QUESTION)}"
        whole = cast("dict[str, Any]", get_json(address))
        assert _ids(whole) == expected
        assert "missing" not in whole
        began[1][0].kill()
        began[1][0].wait()
        rest = cast("dict[str, Any]", get_json(f"{address}&by=lexical"))
        assert rest["missing"] == [urls[1]]
        assert f"{urls[1]} is unavailable" in rest["notes"][0]
        assert rest["hits"]
        assert set(_ids(rest)) <= first
        status = cast("dict[str, Any]", get_json(f"{front}api/v1/status"))
        assert [shard["state"] for shard in status["shards"]] == ["ready", "away"]


_KILLED = """
import os, signal, sys, lpisearch
from lpisearch.indexes.shard_map import ShardMap
ShardMap.write = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
lpisearch.open(sys.argv[1]).split(sys.argv[2], 2)
"""


def test_a_split_that_is_killed_leaves_nothing_that_opens(shelf: Path, tmp_path: Path) -> None:
    """Killed when all but the map is there; the next split begins anew in the same folder."""
    parts = tmp_path / "parts"
    with lpisearch.open(shelf) as library:
        library.index(dims=4)
        command = [sys.executable, "-c", _KILLED, str(shelf), str(parts)]
        killed = subprocess.run(command, capture_output=True, text=True, check=False)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert (parts / "shard-0001.db").exists()
        with pytest.raises(ShardsUnusable):
            lpisearch.open(parts)
        library.split(parts, 2)
    with lpisearch.open(parts) as again:
        assert len(again) == 40


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", ["cranfield", "cisi"])
def test_average_precision_is_that_of_the_whole(data: Path, tmp_path: Path, name: str) -> None:
    """On judged queries of public collections ranks differ by the rounding of scores alone."""
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (data / name / "qrels.tsv").read_text().splitlines():
        query, _, document, grade = line.split("\t")
        if int(grade) > 0:
            judged[query][document] = int(grade)
    every = read_queries(data / name / "queries.jsonl.gz")
    queries = [query for query in every if query[0] in judged]
    with lpisearch.open(tmp_path / "whole.db") as whole:
        whole.ingest(data / name / "docs.jsonl.gz")
        whole.index()
        whole.split(tmp_path / "parts", 4)
        with lpisearch.open(tmp_path / "parts") as parts:
            for by in ("hybrid", "semantic", "lexical"):
                options = lpisearch.SearchOptions(by=by, k=1000)
                runs = [
                    list(each.batch(queries, options=options, on_note=unheard))
                    for each in (whole, parts)
                ]
                one, other = (
                    fmean(score_run(dict(run), judged, parse_measures(["AP"]))["AP"].values())
                    for run in runs
                )
                assert abs(one - other) < _ROUNDING


def test_the_command_line_opens_a_folder_of_shards(shelf: Path, tmp_path: Path) -> None:
    """`--db DIR` asks; what writes, and a shard that there is not, are stated errors."""
    with lpisearch.open(shelf) as library:
        library.index(dims=4)
        library.split(tmp_path / "parts", 2)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lpisearch", "--db", str(tmp_path / "parts"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    found = run("query", _QUESTION, "--json")
    assert json.loads(found.stdout), found.stderr
    for words, said in (
        (("ingest", "x"), "cannot add documents"),
        (("serve", "--shard", "3/2"), "is not a shard"),
    ):
        refused = run(*words)
        assert refused.returncode in {1, 2}
        assert said in refused.stderr
        assert "Traceback" not in refused.stderr
