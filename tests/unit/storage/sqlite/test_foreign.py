"""A library of a stranger: what its schema would compute is refused before anything is asked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

import lpisearch
from lpisearch.errors import IndexUnwritable, LibraryDamaged, NotALibrary
from lpisearch.storage.sqlite import database
from lpisearch.storage.vector_store import VectorStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
_FOREIGN = {
    "documents": f"""ALTER TABLE documents RENAME TO others; CREATE VIEW documents AS {_ENDLESS}
        i AS id, 'x' AS external_id, 1 AS source_id, 1 AS position, x'' AS content_hash,
        '' AS split, '' AS date, '' AS path, '' AS media_type, '' AS ingested_at, '' AS title,
        '{{}}' AS metadata, '' AS text, x'' AS checksum FROM n""",
    "alembic_version": f"""DROP TABLE alembic_version;
        CREATE VIEW alembic_version AS {_ENDLESS} 'x' AS version_num FROM n WHERE i < 0""",
    "surprise": """CREATE TRIGGER surprise AFTER INSERT ON labels BEGIN
        DELETE FROM documents; END""",
    "document_tokens_deleted": """DROP TRIGGER document_tokens_deleted;
        CREATE TRIGGER document_tokens_deleted AFTER DELETE ON document_tokens BEGIN
        DELETE FROM labels; END""",
    "labels": "ALTER TABLE labels ADD COLUMN x GENERATED ALWAYS AS (hex(zeroblob(100000000)))",
    "failures": "ALTER TABLE failures ADD COLUMN x DEFAULT (hex(zeroblob(100000000)))",
    "computed": "CREATE INDEX computed ON labels (lower(name))",
    "partial": "CREATE INDEX partial ON labels (name) WHERE length(name) > 2",
    "more": "CREATE VIRTUAL TABLE more USING fts5(text)",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", _FOREIGN)
def test_what_is_not_of_the_program_is_refused(
    shelf: Path, cli: Callable[..., Result], name: str
) -> None:
    with closing(sqlite3.connect(shelf)) as connection:
        connection.create_function("lpisearch_checksum", -1, lambda *_: b"")
        connection.executescript(_FOREIGN[name])
    with lpisearch.open(shelf) as library:
        for ask in (
            library.status,
            lambda: library.search("ship"),
            lambda: library.delete("sea/0"),
        ):
            with pytest.raises(LibraryDamaged, match=f"“{name}” is not of this program"):
                ask()
        (finding,) = library.examine()
    assert not finding.ok
    done = cli("ingest", shelf.parent)
    assert (done.exit_code, f"“{name}” is not of this program" in done.stderr) == (1, True)


@pytest.mark.timeout(60)
def test_an_endless_database_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"CREATE VIEW alembic_version AS {_ENDLESS} i FROM n WHERE i < 0")
    with pytest.raises(NotALibrary, match="another program's tables"):
        lpisearch.open(path).status()


def test_a_statement_that_does_not_end(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one over pages that name each other would be."""
    monkeypatch.setattr(database, "_STEPS_BETWEEN", 1000)
    monkeypatch.setattr(database, "_STEPS_OF_ANY", 100_000)
    assert lpisearch.open(shelf).status()["documents"] == 40
    with (
        database.Database.connect(shelf, writable=False) as opened,
        pytest.raises(LibraryDamaged, match="reading it does not end"),
        opened.reading() as connection,
    ):
        connection.exec_driver_sql(f"{_ENDLESS} count(*) FROM n").scalar()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("table", ["facts", "vectors"])
def test_the_vectors_of_a_stranger(tmp_path: Path, table: str) -> None:
    def store() -> VectorStore:
        return VectorStore(tmp_path, "mine", lambda texts: np.ones((len(texts), 2), np.float32))

    assert len(list(store().vectors(["a", "b"]))) == 1
    with closing(sqlite3.connect(store().path)) as connection:
        connection.execute(f"DROP TABLE {table}")
        columns = "i AS name, i AS value, i AS hash, i AS vector"
        connection.execute(f"CREATE VIEW {table} AS {_ENDLESS} {columns} FROM n")
        connection.commit()
    with pytest.raises(IndexUnwritable, match="contains something else"):
        store()
