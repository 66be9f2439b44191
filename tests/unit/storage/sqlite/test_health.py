from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.admin.maintenance import examine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.model.documents import Finding

    Sql = Callable[..., Any]

_CONTENT = """
SELECT external_id, text, tokens, name FROM documents d
LEFT JOIN document_tokens t ON t.document_id = d.id
LEFT JOIN labels l ON l.document_id = d.id ORDER BY d.id, l.position
"""


@pytest.fixture
def filled(folder: Callable[..., Path], ingest: Callable[..., Any], sql: Sql) -> list[Any]:
    """Fill the library with three labelled documents; return all that it holds."""
    ingest(folder({f"{name}/{name}.txt": f"A text on {name}." for name in ("sea", "sky", "land")}))
    return list(sql(_CONTENT))


def _bad(found: list[Finding]) -> dict[str, str]:
    return {finding.check: finding.next_step for finding in found if not finding.ok}


_UNINDEX = """INSERT INTO documents_fts(documents_fts, rowid, tokens)
SELECT 'delete', document_id, tokens FROM document_tokens LIMIT 1"""
_MENDABLE = {
    "fts-row": (_UNINDEX, "full-text index"),
    "fts-surplus": (
        "INSERT INTO documents_fts(rowid, tokens) VALUES (99, 'ghost')",
        "full-text index",
    ),
    "orphan-label": ("INSERT INTO labels VALUES (99, 'ghost', 0, x'')", "orphan labels"),
    "orphan-tokens": ("INSERT INTO document_tokens VALUES (99, 'ghost', x'')", "orphan tokens"),
    "no-tokens": ("DELETE FROM document_tokens WHERE document_id = 2", "tokens"),
    "no-trigger": ("DROP TRIGGER document_tokens_deleted", "full-text index"),
}


@pytest.mark.parametrize(("damage", "check"), _MENDABLE.values(), ids=_MENDABLE)
def test_damage_is_found_and_mended(
    library: Path, filled: list[Any], sql: Sql, damage: str, check: str
) -> None:
    sql(damage)
    assert _bad(examine(library))[check] == "library.examine(repair=True)"
    assert _bad(examine(library, repair=True)) == {}
    assert _bad(examine(library)) == {}
    assert sql(_CONTENT) == filled
    assert sql("SELECT rowid FROM documents_fts WHERE documents_fts MATCH 'sky'") == [(3,)]


def test_looking_changes_nothing(library: Path, filled: list[Any], sql: Sql) -> None:
    assert filled
    sql(_MENDABLE["orphan-label"][0])
    assert _bad(examine(library)) == _bad(examine(library)) != {}


def test_repairing_a_sound_library_changes_nothing(
    library: Path, filled: list[Any], sql: Sql
) -> None:
    assert _bad(examine(library, repair=True)) == {}
    assert sql(_CONTENT) == filled


def test_all_is_said_of_a_sound_library(library: Path, filled: list[Any]) -> None:
    assert filled
    checks = {finding.check for finding in examine(library)}
    assert {"database file", "orphan labels", "tokens", "full-text index", "tokeniser"} <= checks


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_truncated_database_is_found(library: Path, filled: list[Any], share: float) -> None:
    assert filled
    whole = library.read_bytes()
    library.write_bytes(whole[: int(len(whole) * share) // 4096 * 4096])
    for repair in (False, True):
        found = _bad(examine(library, repair=repair))
        assert "library.back_up()" in found["database file"]


def test_an_overwritten_page_is_found(library: Path, filled: list[Any]) -> None:
    assert filled
    with closing(sqlite3.connect(library)) as connection:
        page = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'documents'"
        ).fetchone()[0]
    with library.open("r+b") as stream:
        stream.seek((page - 1) * 4096)
        stream.write(b"\xa5" * 4096)
    assert "database file" in _bad(examine(library))


def test_an_unfinished_file_is_told(library: Path, filled: list[Any], sql: Sql) -> None:
    assert filled
    sql("UPDATE sources SET size = -1, mtime_ns = -1 WHERE path LIKE '%sky.txt'")
    found = next(one for one in examine(library) if one.check == "unfinished files")
    assert found.ok
    assert "sky.txt" in found.detail
    assert "library.ingest()" in found.next_step
