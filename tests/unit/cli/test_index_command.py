import json
import os
from collections.abc import Callable
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpisearch.cli import index as command
from lpisearch.cli.output import render_message
from lpisearch.model.documents import Filter
from lpisearch.model.reports import IndexPlan
from lpisearch.options import IndexOptions
from tests.methods import METHODS
from tests.programs import Cli, json_of

Put = Callable[..., Any]

_METHODS = ("rlpi", "olpi", "lpi", "lsi")
_PROMISED = {"name", "method", "dims", "alpha", "documents", "terms", "components", "isolated",
             "unknown_rate", "seconds", "peak_mb", "size_bytes", "folder"}  # fmt: skip


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("method", _METHODS)
def test_one_json_value(cli: Cli, method: str) -> None:
    found = json_of(cli("index", "--method", method, "--dims", "3", "--json"))
    assert set(found) >= _PROMISED
    assert (found["method"], found["dims"], found["documents"]) == (method, 3, 40)
    assert found["terms"] == 58
    assert (found["alpha"] is None) == (method != "rlpi")
    assert (found["components"] is None) == (method == "lsi")
    assert found["peak_mb"] > 0
    assert all(isinstance(seconds, float) for seconds in found["seconds"].values())
    assert {"counting terms", "weighting", "projecting", "writing"} <= set(found["seconds"])


def test_help_names_every_method(cli: Cli) -> None:
    shown = " ".join(cli("index", "--help").stdout.split())
    listed = shown.partition("Method: ")[2].partition(".")[0]
    named = set(listed.replace(" or ", ", ").split(", "))
    assert named == set(METHODS)


@pytest.mark.usefixtures("shelf")
def test_what_is_said_without_json(cli: Cli) -> None:
    done = cli("index")
    assert done.exit_code == 0
    assert done.stderr.startswith("40 documents, about ")
    assert "MB of memory" in done.stderr
    lines = dict(line.split("\t") for line in done.stdout.splitlines())
    assert (lines["method"], lines["documents"], lines["terms"]) == ("rlpi", "40", "58")
    assert lines["graph"].endswith("0 isolated documents")
    assert "projecting" in lines["time"]
    assert cli("index", "--name", "plain", "--method", "lsi").stdout.count("none") >= 2
    listed = cli("status").stdout
    assert "default\trlpi\t" in listed
    assert "plain\tlsi\t39\t40\tready" in listed


@pytest.mark.usefixtures("shelf")
def test_vectors_are_exported(cli: Cli, tmp_path: Path) -> None:
    """An index that is up to date is not built again, unless an option asks for another one."""
    file = tmp_path / "vectors.npz"
    assert "dimensions\t" in cli("index", "--dims", "2", "--export", str(file)).stdout
    done = cli("index", "--export", str(file))
    assert (done.exit_code, done.stdout) == (0, "")
    assert "40 vectors written to " in done.stderr
    with np.load(file) as read:
        assert read["vectors"].shape == (40, 2)
    assert "dimensions\t3" in cli("index", "--dims", "3", "--export", str(file)).stdout
    done = cli("index", "--export", str(file), "--json")
    assert json.loads(done.stdout) == {"documents": 40, "file": str(file)}
    refused = cli("index", "--export", "vectors.csv")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "FILE: vectors.csv must end in .npz or .parquet" in refused.stderr
    file.write_text("mine", encoding="utf-8")
    assert "not an export of vectors" in cli("index", "--export", str(file)).stderr
    assert cli("index", "--export", str(file), "--force").exit_code == 0


@pytest.mark.usefixtures("shelf")
def test_every_option_arrives(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def build(_library: Path, options: Any, *_shown: Any) -> None:
        seen.append(options)
        raise KeyboardInterrupt

    monkeypatch.setattr("lpisearch.index.build.build_index", build)
    words = (
        "index --name n --method olpi --dims 7 --neighbours 3 --labels use --weighting tf --seed 9 "
        "--where label=sea --where label=sky --where path=s*=* --where split=train --wait 2 "
        "--memory 1.5G --json"
    )
    plan = IndexPlan(documents=40, words=400, terms=58, memory_mb=1.0, seconds=1.0)
    monkeypatch.setattr("lpisearch.index.plan.plan_index", lambda *_words: plan)
    done = cli(*words.split())
    assert (done.exit_code, done.stdout) == (130, "")
    (options,) = seen
    given = {name: getattr(options, name) for name in ("name", "method", "dims", "neighbours")}
    assert given == {"name": "n", "method": "olpi", "dims": 7, "neighbours": 3}
    assert (options.labels, options.weighting, options.seed) == ("use", "tf", 9)
    assert options.where == Filter(("sea", "sky"), "s*=*", "train")
    assert (options.wait_seconds, options.alpha) == (2.0, None)
    assert options.memory == 1_500_000_000


@pytest.mark.usefixtures("shelf")
def test_a_build_that_ended_early_is_gone_on_with(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lpisearch.index.plan.FILES_FROM", 1)

    def end(*_values: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("lpisearch.index.pipeline.scaled_rows", end)
        done = cli("index")
    assert done.exit_code == 130
    assert "can be resumed" in done.stderr
    lines = dict(line.split("\t") for line in cli("index").stdout.splitlines())
    assert lines["resumed after"] == "counting terms, writing postings, map"


_BAD = {
    "--method lsl": "did you mean lsi?",
    "--method transformers": "choose one of: rlpi, olpi, lpi, npe",
    "--dims 0": "must be at least 1",
    "--dims -2": "must be at least 1",
    "--dims 40": "need more than 40 documents",
    "--dims many": "must be auto or a number",
    "--dims 2.5": "must be auto or a number",
    "--alpha -1": "must be between 0 and",
    "--alpha nan": "must be between 0 and",
    "--alpha inf": "must be between 0 and",
    "--alpha strong": "must be auto or a number",
    "--method lsi --alpha 1": "does not use alpha",
    "--neighbours 0": "must be at least 1",
    "--neighbours few": "",
    "--weighting idf": "choose one of: tf, tfidf, log-tfidf, bm25",
    "--labels maybe": "choose one of: ignore, use",
    "--method lsi --labels use": "does not use labels",
    "--where sea": "not KEY=VALUE",
    "--where label=": "label= has no value",
    "--where =blue": "not KEY=VALUE",
    "--where since=yesterday": "is not a date",
    "--where path=a --where path=b": "given more than once",
    "--name a/b": "may contain only letters",
    "--name ": "may contain only letters",
    "--seed -1": "must be between 0",
    "--seed x": "",
    "--wait -1": "",
    "--memory 4": "is not a size such as 500M or 4G",
    "--memory much": "is not a size",
    "--memory -1G": "is not a size",
    "--memory 1M": "this build needs at least",
}


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("words", _BAD)
def test_wrong_usage(cli: Cli, library: Path, words: str) -> None:
    """A value that cannot work is said on stderr with status 2, and nothing is built."""
    done = cli("index", *words.split(" "), "--json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert _BAD[words] in done.stderr
    assert "Traceback" not in done.stderr
    assert not library.with_suffix(".index").exists()


_POOR: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "one document": ([{"id": "a", "text": "ship"}], "", "one document"),
    "no words": ([{"id": n, "text": "!!!"} for n in "ab"], "", "contains words to index"),
    "stop words": ([{"id": n, "text": "the and of"} for n in "ab"], "", "contains words to index"),
    "the same": (
        [{"id": n, "text": "ship boat"} for n in "abc"],
        "",
        "documents cannot be distinguished",
    ),
    "no such label": (
        [{"id": n, "text": f"ship {n}{n}"} for n in "abc"],
        "--where label=x",
        "No document matches",
    ),
}


@pytest.mark.parametrize("kind", _POOR)
def test_nothing_to_index(cli: Cli, put: Put, library: Path, kind: str) -> None:
    records, words, message = _POOR[kind]
    put(records)
    done = cli("index", *words.split(), "--json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert " Next: " in done.stderr
    assert done.stderr.count("\n") == 1
    assert not library.with_suffix(".index").exists()


def test_no_library_and_no_documents(cli: Cli, library: Path, put: Put) -> None:
    done = cli("index", "--json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "No library found" in done.stderr
    assert not library.exists()
    put([])
    done = cli("index", "--json")
    assert done.exit_code == 1
    assert done.stderr == "Error: The library has no documents. Next: lpisearch ingest PATH\n"


def test_labels_where_there_are_none(cli: Cli, put: Put, records: list[dict[str, Any]]) -> None:
    put([record | {"labels": []} for record in records], labels="none")
    done = cli("index", "--labels", "use")
    assert done.exit_code == 2
    assert "no document has a label" in done.stderr


@pytest.mark.usefixtures("shelf")
def test_damage_is_said_by_every_verb(cli: Cli, put: Put) -> None:
    folder = Path(json_of(cli("index", "--name", "n", "--method", "lsi", "--json"))["folder"])
    os.truncate(folder / "loadings.npy", 100)
    build = "lpisearch index --name n --method lsi"
    status = cli("status")
    assert status.exit_code == 0
    assert "n\tlsi\t?\t?\tdamaged" in status.stdout
    assert "loadings.npy is corrupt. Next: " + build in status.stderr
    assert json_of(cli("status", "--json"))["indexes"][0]["state"] == "damaged"
    doctor = cli("doctor")
    assert doctor.exit_code == 1
    assert f"Next: {build}" in doctor.stderr
    assert json_of(cli("doctor", "--json"), status=1)["ok"] is False
    report = put([{"id": "new", "text": "boat"}], name="new")
    assert report.index_notes[0].endswith('library.index(name="n", method="lsi")')
    path = folder.parents[1] / "newer.jsonl"
    path.write_text('{"id": "newer", "text": "boat"}\n')
    ingest = cli("ingest", path)
    assert ingest.exit_code == 0
    assert "The documents were saved" in ingest.stderr
    assert build in ingest.stderr
    assert cli(*build.split()[1:]).exit_code == 0
    assert json_of(cli("doctor", "--json"))["ok"] is True


@pytest.mark.usefixtures("shelf")
def test_a_due_rebuild_is_said(cli: Cli, put: Put) -> None:
    cli("index", "--method", "lsi", "--dims", "2", "--where", "path=*")
    report = put([{"id": f"new{n}", "text": "boat sail"} for n in range(20)], name="new")
    assert json_of(cli("status", "--json"))["indexes"][0]["state"] == "rebuild due"
    said = cli("status").stderr
    assert said == f"{render_message(report.notes[-1])}\n"
    assert said == (
        "The index “default” should be rebuilt: 20 documents were added or changed "
        "since it was built from 40. Next: lpisearch index --method lsi --dims 2 --where 'path=*'\n"
    )
    cli("docs", "delete", "new0")
    cli("index", "--method", "lsi")
    assert cli("status").stderr == ""
    cli("docs", "delete", "new1")
    assert cli("status").stderr == (
        "“default” is out of date; the next ingest updates it: lpisearch ingest PATH\n"
    )


def test_every_option_of_an_index_can_be_typed() -> None:
    named = {each.name for each in fields(IndexOptions)}
    assert named | {"encoder", "export", "force", "json", "context"} == set(
        signature(command.index).parameters
    )
