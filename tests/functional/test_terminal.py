import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.terminals import on_a_terminal, plain

_HEAVY = {"scipy", "sklearn", "alembic", "sqlalchemy", "numpy", "pydantic"}
_SLOW_TO_START = {"scipy", "sklearn", "alembic", "pydantic"}
_IMPORTS = """
import sys
from lpisearch.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


def _imported(*words: str | Path, code: str = _IMPORTS) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


def test_importing_the_package_is_light() -> None:
    code = "import sys, lpisearch; print(*sys.modules, file=sys.stderr)"
    assert not _imported(code=code) & _HEAVY


@pytest.mark.parametrize("words", [("--help",), ("ingest", "--help"), ("--version",)], ids=" ".join)
def test_help_is_light(words: tuple[str, ...]) -> None:
    """Help and version bring in nothing heavy, so that they answer at once."""
    assert not _imported(*words) & (_HEAVY | {"rich"})


@pytest.mark.parametrize(
    "words",
    [("status",), ("docs", "list"), ("docs", "show", "a.txt"), ("search", "one")],
    ids=" ".join,
)
def test_reading_commands_are_light(
    library: Path, folder: Callable[..., Path], ingest: Callable[..., Any], words: tuple[str, ...]
) -> None:
    ingest(folder({"a.txt": "One."}))
    assert not _imported("--db", library, *words) & _SLOW_TO_START


@pytest.mark.parametrize("words", [("search", "one"), ("search", "two", "--explain")], ids=" ".join)
def test_a_search_in_a_file_needs_no_sqlalchemy(
    library: Path, folder: Callable[..., Path], ingest: Callable[..., Any], words: tuple[str, ...]
) -> None:
    files = folder({"a.txt": "One.", "b.txt": "Two."})
    ingest(files)
    assert "sqlalchemy" not in _imported("--db", library, *words)
    assert not _imported("--db", library, "ingest", files) & _HEAVY


@pytest.fixture
def titled(folder: Callable[..., Path]) -> Path:
    """Return a folder with a long title, a wide one, and one that would paint the screen."""
    titles = [
        "A long title, " * 9,
        "中文信息检索的方法",
        "red \x1b[41mpaint\x1b[0m \x07 and \x9b31m",
    ]
    lines = [
        json.dumps({"id": f"id{n}", "title": title, "text": title, "labels": ["x", "y"]})
        for n, title in enumerate(titles)
    ]
    return folder({"a.jsonl": "\n".join(lines), "b.jsonl": "{broken"})


def test_a_narrow_terminal(library: Path, titled: Path) -> None:
    printed = plain(on_a_terminal("--db", library, "ingest", titled, columns=40))
    assert "3 documents added" in printed
    assert {"JSON:", "Expecting", "quotes"} <= set(printed.split())
    listing = plain(on_a_terminal("--db", library, "docs", "list", columns=40))
    lines = [line.rstrip() for line in listing.splitlines()]
    assert all(len(line) <= 40 for line in lines)
    assert {"id0", "id1", "id2"} <= set(listing.split())
    assert "documents" in plain(on_a_terminal("--db", library, "status", columns=40))
    assert "intact" in plain(on_a_terminal("--db", library, "doctor", columns=40))


def test_documents_cannot_paint_the_terminal(library: Path, titled: Path) -> None:
    on_a_terminal("--db", library, "ingest", titled, columns=40)
    for words in (("docs", "list"), ("docs", "show", "id2")):
        printed = on_a_terminal("--db", library, *words, columns=200)
        assert "paint" in printed
        assert "\x1b[41m" not in printed
        assert "\x07" not in printed
        assert "\x9b" not in printed


def test_json_on_a_terminal(library: Path, titled: Path) -> None:
    printed = plain(on_a_terminal("--db", library, "ingest", titled, "--json", columns=40))
    assert json.loads(printed[printed.index("{") :])["added"] == 3


def test_debug_shows_the_traceback(library: Path) -> None:
    for words, shown in ((("--debug",), True), ((), False)):
        command = [sys.executable, "-m", "lpisearch", *words, "--db", str(library), "status"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert ("Traceback" in done.stderr) is shown
        assert str(library) in done.stderr


@pytest.mark.parametrize(
    "words", [("docs", "list"), ("docs", "export"), ("docs", "list", "--json")], ids=" ".join
)
def test_a_closed_pipe_is_silent(
    library: Path, folder: Callable[..., Path], ingest: Callable[..., Any], words: tuple[str, ...]
) -> None:
    lines = [json.dumps({"id": f"document {n}", "text": "x" * 100}) for n in range(3000)]
    ingest(folder({"a.jsonl": "\n".join(lines)}))
    with subprocess.Popen(
        [sys.executable, "-m", "lpisearch", "--db", str(library), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
    assert b"Error" not in errors
    assert b"Traceback" not in errors
    assert process.returncode in {0, 1}
