"""The prompt, as a person at a terminal meets it."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\")


class Terminal:
    """A program at the prompt of a pseudo-terminal."""

    def __init__(self, *words: str | Path, **environment: str) -> None:
        self._keeper, terminal = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lpisearch", *map(str, words)],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 (no threads)
            env={**os.environ, "COLUMNS": "80", "LINES": "20", "TERM": "xterm", **environment},
        )
        os.close(terminal)
        self.printed = ""

    def until(self, text: str) -> None:
        """Read until a text is printed."""
        deadline = time.monotonic() + 60
        while text not in self.printed and time.monotonic() < deadline:
            try:
                block = os.read(self._keeper, 65536).decode(errors="replace")
            except OSError:
                break
            self.printed += block
        assert text in self.printed

    def type(self, text: str) -> None:
        """Type a line after the prompt has come."""
        self.until("? ")
        self.printed = ""
        os.write(self._keeper, f"{text}\n".encode())

    def interrupt(self) -> None:
        """Press Ctrl-C, as a person does: again, where the first fell into a gap of the editor."""
        self.until("? ")
        for _ in range(20):
            os.killpg(self._process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=2)
                break

    def end(self) -> tuple[int, str]:
        """Wait for the end; return the status, and what was printed since the last line typed."""
        while True:
            try:
                block = os.read(self._keeper, 65536)
            except OSError:
                break
            if not block:
                break
            self.printed += block.decode(errors="replace")
        os.close(self._keeper)
        return self._process.wait(30), _ESCAPES.sub("", self.printed)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the history a place of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "lpisearch"


@pytest.mark.parametrize("word", ["quit", ":q", "exit", "\x04"])
def test_words_that_leave(shelf: Path, state: Path, word: str) -> None:
    terminal = Terminal("query", "-k", "2", "--db", shelf)
    terminal.type("help")
    terminal.until("leave (also")
    terminal.type("ship")
    terminal.until("sea/")
    terminal.type("--by magic")
    terminal.type(word)
    status, printed = terminal.end()
    assert status == 0
    assert "Error" not in printed
    assert "ship" in (state / "history").read_text()


def test_ctrl_c_leaves_quietly(shelf: Path, state: Path) -> None:
    terminal = Terminal("query", "-k", "1", "--db", shelf)
    terminal.type("ship")
    terminal.until("sea/")
    terminal.interrupt()
    status, printed = terminal.end()
    assert status == 0
    assert "Traceback" not in printed
    assert "Interrupted" not in printed
    assert state.exists()


def test_long_answers_go_through_a_pager(shelf: Path, tmp_path: Path, state: Path) -> None:
    assert not state.exists()
    paged = tmp_path / "paged"
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {paged}\necho was paged\n")
    pager.chmod(0o755)
    terminal = Terminal("query", "-k", "9", "--db", shelf, LPISEARCH_PAGER=str(pager))
    terminal.type("nothingofthatname")
    terminal.type("ship")
    terminal.until("was paged")
    terminal.type("quit")
    assert terminal.end()[0] == 0
    assert len(re.findall(r"^ \d  ", paged.read_text(), re.MULTILINE)) == 9
