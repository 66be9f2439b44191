"""Ingest builds the index, and search offers to make a library."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.programs import Cli, json_of


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a test the settings of a new user."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "lpisearch.toml"


@pytest.fixture
def file(tmp_path: Path, records: list[dict[str, Any]]) -> Path:
    """Return a file of records."""
    return _write(tmp_path / "records.jsonl", records)


def _write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def _index(cli: Cli) -> dict[str, Any]:
    indexes: list[dict[str, Any]] = json_of(cli("status", "--json"))["indexes"]
    (found,) = indexes or [{}]
    return found


def test_an_ingest_ends_with_an_index(cli: Cli, file: Path, library: Path) -> None:
    done = cli("ingest", file)
    first, last = done.stdout.splitlines()
    assert first.startswith("40 documents added in ")
    assert last.startswith("Index built in ")
    assert last.endswith(": 40 documents")
    estimate, say = [line for line in done.stderr.splitlines() if "Language" not in line]
    assert estimate.startswith("Building the index: about 1 s and ")
    assert say == f'Next: lpisearch --db {library} search "YOUR QUESTION"'
    assert _index(cli)["state"] == "ready"
    again = cli("ingest", file)
    assert again.stdout.startswith("40 documents unchanged in ")
    assert (again.stdout.count("\n"), again.stderr) == (1, "")


def test_an_index_that_is_out_of_date_is_rebuilt_as_it_was(
    cli: Cli, file: Path, records: list[dict[str, Any]]
) -> None:
    cli("ingest", file, "--no-index")
    assert _index(cli) == {}
    cli("index", "--method", "lsi", "--dims", "3")
    more = [record | {"id": f"more {record['id']}"} for record in records]
    more = [record | {"text": f"{record['text']} and more"} for record in more]
    done = cli("ingest", _write(file.with_name("more.jsonl"), more))
    assert "Index built in " in done.stdout
    assert "should be rebuilt" not in done.stderr
    index = _index(cli)
    assert (index["state"], index["method"], index["dims"]) == ("ready", "lsi", 3)
    assert (index["documents"], index["built_from"]) == (80, 80)


def test_no_long_build_begins_unasked(
    cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lpisearch.cli.ingest.MOST_SECONDS", 0)
    done = cli("ingest", file)
    assert "The index is not built yet; it takes about 1 s and " in done.stderr
    assert " of memory. Next: lpisearch index\n" in done.stderr
    assert _index(cli) == {}
    assert "Index built" in cli("ingest", file, "--index").stdout


def test_settings_say_whether_and_which_index(cli: Cli, file: Path, settings: Path) -> None:
    settings.write_text('auto_index = "no"\n', encoding="utf-8")
    cli("ingest", file)
    assert _index(cli) == {}
    settings.write_text('[index]\nmethod = "lsi"\ndims = 2\n', encoding="utf-8")
    built = json_of(cli("ingest", file, "--json"))["indexes"]
    assert [(one["method"], one["dims"]) for one in built] == [("lsi", 2)]


def test_one_document_needs_no_index(cli: Cli, file: Path, records: list[dict[str, Any]]) -> None:
    done = cli("ingest", _write(file, records[:1]))
    assert done.exit_code == 0
    assert "index" not in done.output.replace("Next: lpisearch index", "index")


@pytest.mark.parametrize("words", [("",), ("  ",)], ids=repr)
def test_an_empty_query_says_what_to_type(cli: Cli, words: tuple[str, ...]) -> None:
    for verb in ("search", "query"):
        done = cli(verb, *words)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "Error: The query is empty. Next: " in done.stderr
        assert "lpisearch search" in done.stderr
