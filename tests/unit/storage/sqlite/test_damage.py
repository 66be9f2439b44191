"""Damage in the database is found and said; what the files still have is read again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.torture.database import DAMAGES, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Cli = Callable[..., Any]
    Sql = Callable[..., Any]

_NOTES = {"sea/a.txt": "A letter about ships.", "land/b.md": "# Cake\n\nA recipe for plum cake."}


@pytest.fixture
def notes(folder: Callable[..., Path], ingest: Callable[..., Any]) -> Path:
    """Ingest two documents; return their folder."""
    root = folder(_NOTES)
    assert ingest(root, labels="folder").added == 2
    return root


@pytest.mark.parametrize("kind", DAMAGES)
def test_no_damage_is_silent_or_unstated(kind: str) -> None:
    counts = run(6, 7, (kind,))[kind]
    assert counts.total() == 6
    assert counts["silent"] == counts["unstated"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", DAMAGES)
def test_no_damage_of_a_thousand_is_silent(kind: str) -> None:
    counts = run(1000, 1, (kind,))[kind]
    assert counts["silent"] == counts["unstated"] == 0


_CELLS = {
    "text": "UPDATE documents SET text = 'A letter about slips.' WHERE id = 2",
    "title": "UPDATE documents SET title = x'ff' WHERE id = 2",
    "metadata": "UPDATE documents SET metadata = '{' WHERE id = 2",
    "hash": "UPDATE documents SET content_hash = x'00ff' WHERE id = 2",
    "label": "UPDATE labels SET name = 'see' WHERE document_id = 2",
    "a label that is gone": "DELETE FROM labels WHERE document_id = 2",
    "section": "UPDATE document_sections SET sections = '[' WHERE document_id = 1",
}


@pytest.mark.parametrize("damage", _CELLS.values(), ids=_CELLS)
def test_a_damaged_document_is_read_again(
    library: Path, notes: Path, cli: Cli, sql: Sql, damage: str
) -> None:
    assert notes.exists()
    before = cli("docs", "export").stdout
    hashes = sql("SELECT external_id, content_hash FROM documents ORDER BY id")
    sql(damage)
    done = cli("doctor")
    assert done.exit_code == 1
    assert "damaged" in done.stdout
    assert "lpisearch doctor --repair" in done.stderr
    done = cli("doctor", "--repair")
    assert (done.exit_code, "1 document was read again" in done.stdout) == (0, True)
    assert cli("docs", "export").stdout == before
    assert sql("SELECT external_id, content_hash FROM documents ORDER BY id") == hashes
    assert library.exists()


@pytest.mark.parametrize("labels", ["folder", "stated"])
@pytest.mark.parametrize("split", ["folder", "stated"])
def test_labels_that_are_gone_are_read_again(
    folder: Callable[..., Path], ingest: Callable[..., Any], cli: Cli, sql: Sql, *,
    labels: str, split: str,
) -> None:  # fmt: skip
    record = '{"id": "r", "text": "ships", "labels": ["x"], "split": "test"}\n'
    root = folder({"sea/train/a.txt": "A letter.", "sea/train/r.jsonl": record})
    assert ingest(root, labels=labels, split=split).added == 2
    before = cli("docs", "export").stdout
    sql("DELETE FROM labels")
    assert cli("doctor").exit_code == 1
    assert cli("doctor", "--repair").exit_code == 0
    assert cli("docs", "export").stdout == before


def test_a_damaged_document_is_not_shown_nor_exported(notes: Path, cli: Cli, sql: Sql) -> None:
    assert notes.exists()
    sql(_CELLS["text"])
    for words in (("docs", "show", "sea/a.txt"), ("docs", "export")):
        done = cli(*words)
        assert done.exit_code == 1
        assert "The document “sea/a.txt” is damaged in the library" in done.stderr
        assert "lpisearch doctor --repair" in done.stderr
    assert cli("docs", "show", "land/b.md").exit_code == 0


@pytest.mark.parametrize(
    ("change", "said"), [("gone", "no longer exists"), ("new", "has changed since")]
)
def test_what_cannot_be_read_again_is_said(
    notes: Path, cli: Cli, sql: Sql, change: str, said: str
) -> None:
    path = notes / "sea" / "a.txt"
    if change == "gone":
        path.unlink()
    else:
        path.write_text("Another letter.", encoding="utf-8")
    sql(_CELLS["text"])
    done = cli("doctor", "--repair")
    assert done.exit_code == 1
    assert said in done.stdout
    assert "Next: " in done.stderr
    if change == "new":
        assert cli("ingest", notes).exit_code == 0
        assert "Another letter." in cli("docs", "show", "sea/a.txt").stdout
    else:
        assert cli("docs", "delete", "sea/a.txt").exit_code == 0
    assert cli("doctor").exit_code == 0


@pytest.mark.parametrize("table", ["document_tokens", "sources", "indexes"])
def test_other_rows_are_mended(shelf: Path, cli: Cli, sql: Sql, table: str) -> None:
    assert shelf.exists()
    assert cli("index", "--method", "lsi", "--dims", "5").exit_code == 0
    column = {"document_tokens": "tokens", "sources": "root", "indexes": "fingerprint"}[table]
    sql(f"UPDATE {table} SET {column} = 'another'")
    assert cli("doctor").exit_code == 1
    cli("doctor", "--repair")
    assert cli("doctor").exit_code == 0


def test_a_file_that_never_was_is_forgotten(shelf: Path, cli: Cli, sql: Sql) -> None:
    assert shelf.exists()
    sql(
        "INSERT INTO sources (path, root, format, size, mtime_ns, read_options, read_at)"
        " VALUES ('a text', '', '', 1, 1, '', '')"
    )
    assert cli("doctor").exit_code == 1
    cli("doctor", "--repair")
    assert cli("doctor").exit_code == 0
    assert sql("SELECT count(*) FROM sources WHERE path = 'a text'") == [(0,)]


def test_damaged_tokens_are_not_learned_from(shelf: Path, cli: Cli, sql: Sql) -> None:
    assert shelf.exists()
    sql("UPDATE document_tokens SET tokens = tokens || ' ghost' WHERE document_id = 3")
    done = cli("index", "--method", "lsi")
    assert done.exit_code == 1
    assert "is damaged: " in done.stderr
    assert "Next: lpisearch doctor" in done.stderr


def test_a_changed_schema_is_found(notes: Path, cli: Cli, sql: Sql) -> None:
    assert notes.exists()
    sql("CREATE TRIGGER ghost AFTER INSERT ON documents BEGIN DELETE FROM labels; END")
    done = cli("doctor")
    assert done.exit_code == 1
    assert "the trigger “ghost” is not of this program" in done.stdout


@pytest.mark.parametrize(
    "words", [("doctor",), ("doctor", "--repair"), ("status",), ("db", "backup", "copy.db")]
)
def test_a_name_of_the_schema_that_is_no_utf_8_is_found(
    notes: Path, library: Path, cli: Cli, words: tuple[str, ...]
) -> None:
    content = library.read_bytes()
    name = b"tabledocuments_fts_config"
    assert (notes.exists(), content.count(name)) == (True, 1)
    library.write_bytes(content.replace(name, b"tabledocuments_fts_\xe3onfig"))
    done = cli(*words)
    assert done.exit_code == 1
    assert "malformed database schema (documents_fts_\ufffdonfig)" in done.output
    assert isinstance(done.exception, SystemExit)


@pytest.mark.parametrize("damage", ["language = 'klingon'", "language = x'ff'", "kind = 'x'"])
def test_a_damaged_trait_is_found_again(notes: Path, cli: Cli, sql: Sql, damage: str) -> None:
    assert notes.exists()
    before = sql("SELECT * FROM document_traits")
    sql(f"UPDATE document_traits SET {damage} WHERE document_id = 1")
    assert cli("doctor").exit_code == 1
    cli("doctor", "--repair")
    assert cli("doctor").exit_code == 0
    assert sql("SELECT * FROM document_traits") == before
