import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lpisearch.cli.app import app
from lpisearch.config import file_beside, own_file


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give settings and a current folder of their own to a test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(*words: str | Path) -> Result:
    """Run a command."""
    return CliRunner().invoke(app, [*map(str, words)])


def rows(*words: str | Path) -> dict[str, tuple[object, str]]:
    """Return what `config --json` shows."""
    shown = json.loads(run(*words, "config", "--json").stdout)
    return {row["key"]: (row["value"], row["from"]) for row in shown}


def test_it_shows_what_holds_and_from_where(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rows()["library"] == ("lpisearch.db", "")
    assert rows()["k"] == (10, "")
    run("config", "set", "library", library)
    run("config", "set", "k", "20")
    run("config", "set", "by", "lexical", "--beside")
    run("config", "set", "exclude", "*.log")
    run("config", "set", "exclude", "drafts/", "--beside")
    mine, beside = own_file(), file_beside(library)
    found = rows()
    assert found["library"] == (str(library), f"{mine}, line 2")
    assert found["k"] == (20, f"{mine}, line 3")
    assert found["by"] == ("lexical", f"{beside}, line 2")
    assert found["exclude"] == (["*.log", "drafts/"], f"{mine}, line 4; {beside}, line 3")
    other = library.with_name("other.db")
    assert rows("--db", other)["library"] == (str(other), "--db")
    monkeypatch.setenv("LPISEARCH_DB", str(other))
    assert rows()["library"] == (str(other), "LPISEARCH_DB")
    assert "k\t20\t" in run("config").stdout


def test_where_the_files_are(library: Path) -> None:
    own_file().parent.mkdir(parents=True)
    own_file().write_text("broken [")
    printed = run("config", "path", "--db", library).stdout
    assert str(own_file()) in printed
    assert f"{file_beside(library)} (does not exist yet)" in printed


def test_a_default_library_is_found_from_any_folder(shelf: Path, place: Path) -> None:
    missing = run("status")
    assert missing.exit_code == 1
    assert "No library found at lpisearch.db." in missing.stderr
    for way in ("--db FILE", "LPISEARCH_DB", "lpisearch config set library FILE", "ingest PATH"):
        assert way in missing.stderr
    run("config", "set", "library", shelf)
    assert json.loads(run("status", "--json").stdout)["library"] == str(shelf)
    assert run("query", "ship").exit_code == 0
    assert os.listdir(place) == []  # noqa: PTH208 (names are enough)


def test_settings_stand_for_what_is_not_typed(shelf: Path) -> None:
    def ranks(*words: str) -> int:
        return len(json.loads(run("query", "ship", "--json", *words, "--db", shelf).stdout))

    usual = ranks()
    run("config", "set", "k", "2")
    assert (usual > 3, ranks(), ranks("-k", "3")) == (True, 2, 3)
    assert len(run("query", "ship", "--trec", "--db", shelf).stdout.splitlines()) == usual
    run("config", "set", "k", "1", "--beside", "--db", shelf)
    assert ranks() == 1
    run("config", "set", "by", "semantic")
    run("index", "--method", "lsi", "--dims", "2", "--db", shelf)
    hit = json.loads(run("query", "ship", "--json", "--db", shelf).stdout)[0]
    assert hit["score"] == hit["cosine"]


def test_an_index_is_built_as_set(shelf: Path) -> None:
    run("config", "set", "index.method", "lsi")
    run("config", "set", "index.dims", "3")
    built = json.loads(run("index", "--json", "--db", shelf).stdout)
    assert (built["method"], built["dims"]) == ("lsi", 3)
    typed = json.loads(run("index", "--json", "--dims", "2", "--db", shelf).stdout)
    assert (typed["method"], typed["dims"]) == ("lsi", 2)


def test_a_value_that_turns_out_wrong_is_named_with_its_file(shelf: Path) -> None:
    run("config", "set", "index.method", "magic")
    result = run("index", "--db", shelf)
    assert result.exit_code == 2
    assert f"It is set in {own_file()}, line " in result.stderr
    assert run("index", "--method", "lsi", "--db", shelf).exit_code == 0


def test_what_is_set_to_be_excluded_is_not_ingested(place: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (place / name).write_text("A letter.")
    run("config", "set", "exclude", "b.*", "--beside", "--db", place / "l.db")
    run("ingest", place, "--exclude", "c.*", "--db", place / "l.db")
    listed = run("docs", "list", "--db", place / "l.db").stdout
    assert [line.split("\t")[0] for line in listed.splitlines()[1:]] == ["a.txt"]


def test_mistakes_are_answered(library: Path) -> None:
    for words in (("set", "kk", "3"), ("set", "by", "magic"), ("unset", "kk")):
        result = run("config", *words)
        assert result.exit_code == 2
        assert "Next: " in result.stderr
    assert run("config", "set", "opener", "x", "--beside").exit_code == 2
    assert not own_file().exists()
    own_file().parent.mkdir(parents=True)
    own_file().write_text("kk = 3")
    broken = run("query", "ship", "--db", library)
    assert broken.exit_code == 1
    assert f"Error: {own_file()}, line 1: unknown setting “kk”" in broken.stderr


def test_unset(library: Path) -> None:
    """What goes after a value that is removed holds again."""
    run("config", "set", "k", "5")
    run("config", "set", "k", "6", "--beside", "--db", library)
    assert "no longer set" in run("config", "unset", "k", "--beside", "--db", library).stdout
    assert rows("--db", library)["k"][0] == 5
    assert "is not set" in run("config", "unset", "k", "--beside", "--db", library).stdout
