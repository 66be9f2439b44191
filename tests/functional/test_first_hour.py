"""The first hour of a new user, at a terminal: from a folder to an answer."""

import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminals import on_a_terminal, plain

_CORPUS = Path(__file__).parents[2] / "sample_corpus" / "documents"
_HEADS = ("documents", "labels", "method")
_QUERY = ("search", "why", "does", "my", "bread", "stay", "flat")


@pytest.fixture
def letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of text files, for a user without settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "letters"
    root.mkdir()
    for topic in ("baking", "sailing"):
        for file in sorted((_CORPUS / topic).glob("*.txt")):
            shutil.copy(file, root)
    return root


def test_from_a_folder_to_an_answer(letters: Path) -> None:
    """A search where there is no library offers to make one, and answers."""
    number = len(list(letters.iterdir()))
    printed = plain(on_a_terminal(*_QUERY, folder=letters, typed="y\n", PAGER="cat"))
    assert f"There is no library yet. Make one of the {number} files in" in printed
    assert f"{number} documents added in " in printed
    assert f": {number} documents\n" in printed.partition("Index built in ")[2]
    assert re.findall(r"^ (\d)  ", printed, re.MULTILINE) == ["1", "2", "3", "4", "5"]
    assert (letters / "lpisearch.db").exists()


def test_nothing_is_made_unasked(letters: Path) -> None:
    """In a pipe there is nobody to ask; the error names the command."""
    done = subprocess.run(
        [sys.executable, "-m", "lpisearch", *_QUERY],
        cwd=letters,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "No library found at lpisearch.db. Next: lpisearch ingest PATH" in done.stderr
    assert not (letters / "lpisearch.db").exists()


@pytest.mark.parametrize("columns", [40, 80])
def test_answers_fit_the_screen(sample: Path, columns: int) -> None:
    """Five results of a passage each; no line is longer than the screen."""
    printed = plain(on_a_terminal("--db", sample, *_QUERY, "--no-pager", columns=columns))
    assert re.findall(r"^ (\d)  ", printed, re.MULTILINE) == ["1", "2", "3", "4", "5"]
    lines = printed.splitlines()
    assert max(map(len, lines)) <= columns
    assert all(line == line.rstrip() for line in lines)
    assert all(line.startswith("    ") for line in lines if line and not line[1].isdigit())
    assert "score" not in printed


@pytest.mark.parametrize("words", [("topics", "-n", "3"), ("status",)], ids=" ".join)
def test_tables_do_not_break_words(sample: Path, words: tuple[str, ...]) -> None:
    """A table that is too wide is printed as names and values."""
    for columns in (40, 90):
        printed = plain(on_a_terminal("--db", sample, *words, columns=columns))
        lines = [line.rstrip() for line in printed.splitlines() if not {*"…/"} & {*line}]
        assert max(map(len, lines)) <= columns
        heads = [line for line in lines if len({*_HEADS} & {*line.split()}) > 1]
        assert bool(heads) is (columns == 90)
        assert "documents" in printed.split()


def test_a_long_answer_has_a_pager(sample: Path, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path}/paged\necho was paged\n")
    pager.chmod(0o755)
    for words, lines, is_paged in (((), 10, True), ((), 99, False), (("--no-pager",), 10, False)):
        printed = on_a_terminal(
            *("--db", sample, *_QUERY, "-k", "3", *words),
            lines=lines,
            PAGER="false",
            LPISEARCH_PAGER=str(pager),
        )
        assert ("was paged" in printed) is is_paged
        assert (" 3  " in plain(printed)) is not is_paged
    assert " 3  " in plain((tmp_path / "paged").read_text())


@pytest.mark.parametrize("words", [(), ("docs",), ("db",)], ids=" ".join)
def test_help_is_readable(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lpisearch", *words], capture_output=True, text=True, check=False
    )
    lines = done.stderr.splitlines()
    assert lines[0].startswith("Usage: ")
    assert "Commands:" in lines
    assert 10 < len(lines) <= 32
    assert max(map(len, lines)) <= 80


@pytest.mark.slow
def test_the_demo_takes_20_seconds_at_most() -> None:
    """Of one processor, as others may be busy on the machine."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = plain(on_a_terminal("demo", lines=40))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert printed.count("$ lpisearch ") == 7
    assert "Error" not in printed
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 20
