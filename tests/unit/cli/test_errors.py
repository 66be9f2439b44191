import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lpisearch.cli import main
from lpisearch.cli.app import app
from tests.programs import Cli


@pytest.fixture
def notes(folder: Callable[..., Path], ingest: Callable[..., Any]) -> Path:
    """Return a folder that is in the library."""
    root = folder({"sea/a.txt": "A letter about ships.", "b.csv": "id,text\nb,A recipe.\n"})
    ingest(root)
    return root


_WRONG_USAGE = [
    ("fly",),
    ("docs", "fly"),
    ("--fly",),
    ("status", "--fly"),
    ("ingest",),
    ("ingest", "NOTES", "--wait", "soon"),
    ("ingest", "NOTES", "--wait", "-1"),
    ("ingest", "NOTES", "--max-size", "0"),
    ("ingest", "NOTES", "--format", "wordstar"),
    ("ingest", "NOTES", "--language", "klingon"),
    ("ingest", "NOTES", "--labels", "nowhere.csv"),
    ("docs", "show"),
    ("docs", "delete"),
    ("docs", "list", "-n", "-1"),
    ("docs", "list", "--offset", "-1"),
    ("db", "retokenise", "--language", "klingon"),
    (),
    ("docs",),
    ("db",),
]
_STATED = [
    ("ingest", "nowhere"),
    ("ingest", "NOTES/*.nothing"),
    ("ingest", "NOTES/b.csv", "--strict", "--text-field", "colour"),
    ("docs", "show", "nothing"),
    ("docs", "delete", "sea/a.txt", "nothing"),
    ("docs", "export", "nowhere/out.jsonl"),
    ("docs", "export", "NOTES"),
    ("docs", "export", "/"),
    ("docs", "export", ""),
    ("docs", "delete", ""),
    ("ingest", ""),
    ("ingest", "NOTES", ""),
    ("db", "backup", "nowhere/copy.db"),
    ("--db", "NOTES", "status"),
    ("--db", "NOTES", "ingest", "NOTES"),
    ("--db", "NOTES/b.csv", "status"),
    ("--db", "NOTES/b.csv", "ingest", "NOTES"),
    ("--db", "nowhere/library.db", "status"),
    ("--db", "nowhere/library.db", "ingest", "NOTES"),
    ("--db", "NOTES/b.csv/library.db", "ingest", "NOTES"),
    ("--db", "NOTES/b.csv/library.db", "status"),
    ("--db", "x" * 300, "status"),
    ("--db", "x" * 300, "ingest", "NOTES"),
]


def _run(cli: Cli, notes: Path, words: tuple[str, ...]) -> Result:
    return cli(*(word.replace("NOTES", str(notes)) for word in words))


@pytest.mark.parametrize("words", _WRONG_USAGE, ids=lambda words: " ".join(words) or "nothing")
def test_wrong_usage(
    cli: Cli, notes: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """A wrong command, option or value is said on stderr with status 2 and no traceback."""
    monkeypatch.chdir(notes)
    done = _run(cli, notes, words)
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    assert isinstance(done.exception, SystemExit)
    assert done.output.strip()
    assert "╭" not in done.output


@pytest.mark.parametrize("words", _STATED, ids=lambda words: " ".join(words)[:60])
def test_stated_errors(
    cli: Cli, notes: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """What cannot be done is said on stderr, with status 1 and no traceback."""
    monkeypatch.chdir(notes)
    done = _run(cli, notes, words)
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    assert "unexpected" not in done.stderr
    if "--strict" in words:
        assert "colour" in done.stderr
    else:
        assert done.stdout == ""
        assert done.stderr.startswith("Error: ")
        assert done.stderr.count("\n") == 1
        assert " Next: " in done.stderr


def test_a_refused_command_changes_nothing(
    cli: Cli, notes: Path, sql: Callable[..., list[Any]]
) -> None:
    assert notes.is_dir()
    before = sql("SELECT external_id FROM documents")
    assert cli("docs", "delete", "sea/a.txt", "nothing").exit_code == 1
    assert sql("SELECT external_id FROM documents") == before


def test_debug_shows_the_traceback(cli: Cli) -> None:
    done = cli("--debug", "status")
    assert done.exit_code == 1
    assert type(done.exception).__name__ == "LibraryNotFound"


def test_a_defect_is_stated(cli: Cli, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_words: Any) -> None:
        raise ZeroDivisionError("by nought")

    assert notes.is_dir()
    monkeypatch.setattr("lpisearch.admin.curation.library_status", fail)
    done = cli("status")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Unexpected failure (ZeroDivisionError: by nought)" in done.stderr
    assert "--debug" in done.stderr
    assert isinstance(cli("--debug", "status").exception, ZeroDivisionError)


def test_an_interrupt_of_a_verb(cli: Cli, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_words: Any) -> None:
        raise KeyboardInterrupt

    assert notes.is_dir()
    monkeypatch.setattr("lpisearch.admin.curation.library_status", interrupt)
    done = cli("status")
    assert (done.exit_code, done.stdout) == (130, "")
    assert "Interrupted." in done.stderr


@pytest.mark.parametrize(("from_documents", "said"), [(1, "Completed work"), (50, "Nothing of")])
@pytest.mark.usefixtures("shelf")
def test_an_interrupted_build_says_what_is_saved(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, from_documents: int, said: str
) -> None:
    def interrupt(*_words: Any, **_options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lpisearch.index.plan.FILES_FROM", from_documents)
    monkeypatch.setattr("lpisearch.index.build.fit_index", interrupt)
    done = cli("index")
    assert done.exit_code == 130
    assert f"Interrupted. {said}" in done.stderr


def test_an_interrupt_at_the_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        def __getattr__(self, _name: str) -> Any:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "lpisearch.cli.app", Interrupted())
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 130
    assert "Interrupted." in capsys.readouterr().err


def test_the_path_comes_from_the_environment(
    cli: Cli, notes: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert notes.is_dir()
    monkeypatch.setenv("LPISEARCH_DB", str(library))
    assert CliRunner().invoke(app, ["status"]).stdout == cli("status").stdout


def test_a_damaged_full_text_index_is_stated(
    cli: Cli, notes: Path, sql: Callable[..., list[Any]]
) -> None:
    assert notes.is_dir()
    sql("UPDATE documents_fts_config SET v = 0 WHERE k = 'version'")
    for words in (("doctor",), ("doctor", "--repair"), ("query", "ships")):
        assert "unexpected" not in cli(*words).stderr
