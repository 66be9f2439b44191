"""The program at a pseudo-terminal, as a person meets it."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\")


def on_a_terminal(
    *words: str | Path,
    columns: int = 80,
    lines: int = 24,
    typed: str = "",
    folder: Path | None = None,
    **environment: str,
) -> str:
    """Run the program on a pseudo-terminal; return all that it printed there."""
    keeper, terminal = pty.openpty()
    size = {"COLUMNS": str(columns), "LINES": str(lines), "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-m", "lpisearch", *map(str, words)],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=folder,
        env={**os.environ, **size, **environment},
    )
    os.close(terminal)
    os.write(keeper, typed.encode())
    printed = b""
    while True:
        try:
            block = os.read(keeper, 65536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        printed += block
    os.close(keeper)
    assert process.wait(30) == 0, printed
    return printed.decode()


def plain(printed: str) -> str:
    """Return what was printed without colours and links."""
    return _ESCAPES.sub("", printed).replace("\r\n", "\n")
