"""Processes that are killed, limited or interrupted."""

import ctypes
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE = 1
_CAP_DAC_READ_SEARCH = 2


def _obey_permissions() -> None:
    """Make permission bits count even for root, who in tests often is the user."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
        if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "cannot give up a capability")


@pytest.fixture
def program(library: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a runner of `lpisearch --db LIBRARY …` in a process that obeys permissions."""

    def run(
        *words: str | Path, limit: Callable[[], None] = lambda: None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        def prepare() -> None:
            _obey_permissions()
            limit()

        return subprocess.run(
            [sys.executable, "-m", "lpisearch", "--db", str(library), *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            preexec_fn=prepare,
            **options,
        )

    return run


_CONTENT = {
    "documents": """SELECT external_id, s.path, position, hex(content_hash), split, date, d.path,
        media_type, title, metadata, text FROM documents d JOIN sources s ON s.id = source_id""",
    "labels": """SELECT external_id, name, l.position FROM labels l
        JOIN documents d ON d.id = document_id""",
    "tokens": "SELECT external_id, tokens FROM document_tokens JOIN documents ON id = document_id",
    "sources": "SELECT path, root, format, size, mtime_ns, read_options FROM sources",
    "full text": """SELECT external_id, term, "offset" FROM temp.terms t
        JOIN documents d ON d.id = t.doc""",
    "settings": "SELECT name, value FROM settings",
}


@pytest.fixture
def content(library: Path) -> Callable[..., dict[str, list[Any]]]:
    """Return a reader of all that a library holds, but for keys and times."""

    def read(path: Path = library) -> dict[str, list[Any]]:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(
                "CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, documents_fts, instance)"
            )
            return {
                part: sorted(connection.execute(statement)) for part, statement in _CONTENT.items()
            }

    return read
