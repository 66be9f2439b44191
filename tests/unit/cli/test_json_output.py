import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.programs import Cli, json_of

_NOTES = {
    "train/sea/a.txt": "A letter about ships.",
    "test/land/b.md": "---\ntitle: Cake “à la”\nauthor: me\n---\nA recipe for plum cake.",
    "empty.txt": "",
    "bad.csv": ",,\n1",
}


@pytest.fixture
def notes(folder: Callable[..., Path], ingest: Callable[..., Any]) -> Path:
    """Return a folder that is in the library."""
    root = folder(_NOTES)
    ingest(root, labels="folder", split="folder")
    return root


def test_ingest(cli: Cli, folder: Callable[..., Path], library: Path) -> None:
    """`ingest --json` prints every count, and each failure with its file."""
    root = folder(_NOTES)
    first = json_of(cli("ingest", root, "--json"))
    assert first["library"] == str(library)
    counts = ("added", "updated", "unchanged", "removed", "missing", "failed")
    assert [first[name] for name in counts] == [2, 0, 0, 0, 0, 1]
    assert first["failures"] == [
        {"path": str(root / "bad.csv"), "reason": "has no header row", "where": ""}
    ]
    assert first["seconds"] > 0
    assert json_of(cli("ingest", root, "--json"))["unchanged"] == 2
    assert json_of(cli("ingest", root, "--json", "--strict"), status=1)["failed"] == 1


@pytest.mark.usefixtures("notes")
def test_status(cli: Cli, library: Path) -> None:
    """`status --json` has counts by label and split."""
    status = json_of(cli("status", "--json"))
    assert status["documents"] == 2
    assert status["labels"] == {"land": 1, "sea": 1}
    assert status["splits"] == {"test": 1, "train": 1}
    assert status["library"] == str(library)
    assert status["language"] == "english"
    assert status["size_bytes"] >= library.stat().st_size


@pytest.mark.usefixtures("notes")
def test_doctor(cli: Cli, sql: Callable[..., Any]) -> None:
    """`doctor --json` says whether all is well, exits 1 if not, and 0 once it is mended."""
    assert json_of(cli("doctor", "--json"))["ok"] is True
    sql("INSERT INTO labels VALUES (99, 'ghost', 0, x'')")
    found = json_of(cli("doctor", "--json"), status=1)
    assert found["ok"] is False
    assert [one["check"] for one in found["findings"] if not one["ok"]] == ["orphan labels"]
    assert json_of(cli("doctor", "--json", "--repair"))["ok"] is True


@pytest.mark.usefixtures("notes")
def test_docs(cli: Cli) -> None:
    """`docs list`, `show` and `delete` each print one value."""
    entries = json_of(cli("docs", "list", "--json"))
    assert [one["id"] for one in entries] == ["test/land/b.md", "train/sea/a.txt"]
    assert json_of(cli("docs", "list", "--label", "sea", "--json")) == entries[1:]
    assert json_of(cli("docs", "list", "--path", "*land*", "--json")) == entries[:1]
    assert json_of(cli("docs", "list", "--split", "dev", "--json")) == []
    assert json_of(cli("docs", "list", "-n", "1", "--offset", "1", "--json")) == entries[1:]
    shown = json_of(cli("docs", "show", "test/land/b.md", "--json"))
    assert (shown["title"], shown["metadata"]) == ("Cake “à la”", {"author": "me"})
    assert json_of(cli("docs", "show", shown["path"], "--json")) == shown
    assert json_of(cli("docs", "delete", "train/sea/a.txt", "--json")) == {"removed": 1}
    assert len(json_of(cli("docs", "list", "--json"))) == 1


@pytest.mark.usefixtures("notes")
def test_export(cli: Cli, tmp_path: Path) -> None:
    """`docs export --json` prints one value, to a file and to standard output."""
    target = tmp_path / "out.jsonl"
    assert json_of(cli("docs", "export", target, "--json")) == {"documents": 2, "file": str(target)}
    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert json_of(cli("docs", "export", "--json")) == lines
    assert json_of(cli("docs", "export", "--split", "dev", "--json")) == []


@pytest.mark.usefixtures("notes")
def test_db(cli: Cli, tmp_path: Path, library: Path) -> None:
    """`db upgrade`, `check`, `backup` and `retokenise` each print one value."""
    assert json_of(cli("db", "upgrade", "--json"))["copy"] is None
    assert json_of(cli("db", "check", "--json")) == {"ok": True, "differences": []}
    copy = str(tmp_path / "copy.db")
    assert json_of(cli("db", "backup", copy, "--json")) == {"copy": copy}
    assert json_of(cli("db", "retokenise", "--language", "german", "--json")) == {"documents": 2}
    assert json_of(cli("status", "--json"))["language"] == "german"
    assert library.exists()


_VERBS = [("status",), ("doctor",), ("docs", "list"), ("docs", "show", "a"), ("docs", "export"),
          ("docs", "delete", "a"), ("db", "upgrade"), ("db", "check"), ("db", "backup"),
          ("db", "retokenise"), ("ingest", "nowhere")]  # fmt: skip


@pytest.mark.parametrize("words", _VERBS, ids=" ".join)
def test_an_error_prints_nothing_on_stdout(cli: Cli, library: Path, words: tuple[str, ...]) -> None:
    done = cli(*words, "--json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: No ")
    assert "Next: " in done.stderr
    assert not library.exists()
