import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from lpisearch.admin.curation import library_status
from lpisearch.admin.maintenance import upgrade_library
from lpisearch.errors import (
    LibraryDamaged,
    LibraryNotFound,
    LibraryTooNew,
    LpiSearchError,
    NotALibrary,
)
from lpisearch.location import shipped_folder
from lpisearch.model.documents import Document, Filter
from lpisearch.search.session import Session
from lpisearch.storage import open_store, tables
from lpisearch.storage.integrity import HEAD
from lpisearch.storage.sqlite.schema import (
    create_library,
    differences,
    open_library,
    upgrade,
)
from lpisearch.storage.tables import revision
from tests.samples import downgrade

_NOTES = {"work/a.txt": "A letter about ships.", "home/b.txt": "A recipe for plum cake."}
_CONTENT = (
    "SELECT external_id, title, text, metadata FROM documents ORDER BY id",
    "SELECT document_id, name, position FROM labels ORDER BY 1, 2",
    "SELECT document_id, tokens FROM document_tokens ORDER BY 1",
    "SELECT rowid FROM documents_fts WHERE documents_fts MATCH 'ship'",
)


_REVISIONS = [f"{number:04}" for number in range(1, int(HEAD) + 1)]


@pytest.fixture
def content(sql: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return a reader of all that a library holds."""
    return lambda *path: [sql(statement, on=path[0]) for statement in _CONTENT]


def _found_revision(path: Path) -> str | None:
    with closing(sqlite3.connect(path)) as connection:
        found: str | None = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return found[0] if found else None


def test_head_is_the_last_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(shipped_folder("migrations")))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_alembic_check_is_clean(library: Path) -> None:
    create_library(library).close()
    assert differences(library) == []


def test_alembic_check_sees_a_difference(library: Path, sql: Callable[..., list[Any]]) -> None:
    create_library(library).close()
    sql("CREATE TABLE surplus (id INTEGER PRIMARY KEY)")
    assert "surplus" in " ".join(differences(library))


@pytest.mark.parametrize("target", ["0001", HEAD])
def test_upgrade_from_nothing(library: Path, target: str) -> None:
    library.touch()
    assert upgrade(library, target) is None
    assert _found_revision(library) == target
    assert [path.name for path in library.parent.glob("*.before-*")] == []


def test_down_and_up_again_keeps_documents(
    library: Path,
    folder: Callable[..., Path],
    ingest: Callable[..., Any],
    content: Callable[..., list[Any]],
    sound: Callable[..., None],
) -> None:
    ingest(folder(_NOTES))
    before = content(library)
    assert len(before[0]) == 2
    downgrade(library, "0001")
    assert _found_revision(library) == "0001"
    assert content(library) == before
    upgrade(library)
    assert content(library) == before
    sound()


def test_long_tokens_are_packed_and_found(
    library: Path,
    folder: Callable[..., Path],
    ingest: Callable[..., Any],
    sql: Callable[..., list[Any]],
    sound: Callable[..., None],
) -> None:
    kinds = "SELECT typeof(tokens) FROM document_tokens ORDER BY document_id"
    notes = folder({"a.txt": " ".join(f"harbour{n} boat" for n in range(99)), "b.txt": "A boat."})

    def found(words: str) -> set[str]:
        with open_store(library) as store, store.reading() as snapshot:
            keys = [key for key, _ in snapshot.lexical.bm25(words.split())]
            assert "harbour98 boat" in snapshot.documents.tokens([1])[0]
            return {name for name, _ in snapshot.documents.identities(keys).values()}

    def check(*expected: str) -> None:
        assert [kind for (kind,) in sql(kinds)] == [*expected]
        assert (found("harbour7"), found("boat")) == ({"a.txt"}, {"a.txt", "b.txt"})
        sound()

    ingest(notes)
    check("blob", "text")
    downgrade(library, "0008")
    assert [kind for (kind,) in sql(kinds)] == ["text", "text"]
    upgrade(library)
    check("text", "text")  # what is there stays as it is
    (notes / "a.txt").write_text(" ".join(f"harbour{n} boat" for n in range(100)))
    ingest(notes)
    check("blob", "text")
    sql("UPDATE document_tokens SET tokens = x'00' WHERE typeof(tokens) = 'blob'")
    with (
        pytest.raises(LibraryDamaged, match="damaged tokens"),
        open_store(library) as store,
        store.reading() as snapshot,
    ):
        snapshot.documents.tokens([1])
    sql("DELETE FROM documents WHERE external_id = 'a.txt'")


def test_files_that_have_sections_are_read_again(
    library: Path, folder: Callable[..., Path], ingest: Callable[..., Any]
) -> None:
    notes = folder({"a.md": "# Ships\n\nThey sail.", "b.txt": "A recipe."})
    ingest(notes)
    downgrade(library, "0002")
    upgrade(library)
    assert [one.sections for one in _documents(library)] == [(), ()]
    report = ingest(notes)
    assert (report.updated, report.unchanged) == (1, 1)
    assert [one.name for one in _documents(library)[0].sections] == ["Ships"]
    assert ingest(notes).unchanged == 2


def _documents(library: Path) -> list[Document]:
    with open_store(library) as store, store.reading() as snapshot:
        return list(snapshot.corpus.stream(Filter()))


def test_an_older_library_is_upgraded_when_it_is_opened(
    library: Path,
    folder: Callable[..., Path],
    ingest: Callable[..., Any],
    content: Callable[..., list[Any]],
    sound: Callable[..., None],
) -> None:
    ingest(folder(_NOTES))
    downgrade(library, "0001")
    before = content(library)
    assert library_status(Session(library))["documents"] == 2
    copy = library.with_name("library.db.before-0001")
    assert _found_revision(library) == HEAD
    assert _found_revision(copy) == "0001"
    assert content(copy) == content(library) == before
    assert differences(library) == []
    sound()


def test_db_upgrade_names_the_copy(library: Path) -> None:
    library.touch()
    upgrade(library, "0001")
    copy = str(library.with_name("library.db.before-0001"))
    assert upgrade_library(library) == {"library": str(library), "schema": HEAD, "copy": copy}
    assert upgrade_library(library)["copy"] is None


def test_a_library_from_the_future_is_left_alone(
    library: Path, sql: Callable[..., list[Any]]
) -> None:
    create_library(library).close()
    sql("UPDATE alembic_version SET version_num = '9999'")
    before = library.read_bytes()
    for use in (open_library, create_library, upgrade_library):
        with pytest.raises(LibraryTooNew, match=f"{library}.*9999"):
            use(library)
    assert library.read_bytes() == before
    assert list(library.parent.glob("*.before-*")) == []


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE recipes (name)"],
        ["CREATE TABLE alembic_version (version_num)"],
        [
            "CREATE TABLE alembic_version (version_num)",
            "INSERT INTO alembic_version VALUES ('4f2a')",
        ],
        [
            "CREATE TABLE alembic_version (version_num)",
            "INSERT INTO alembic_version VALUES ('0002')",
        ],
    ],
    ids=["tables", "unversioned", "other-revision", "same-revision"],
)
def test_the_database_of_another_program_is_left_alone(
    library: Path, sql: Callable[..., list[Any]], statements: list[str]
) -> None:
    for statement in statements:
        sql(statement)
    before = library.read_bytes()
    for use in (open_library, create_library, upgrade_library):
        with pytest.raises(NotALibrary, match=str(library)):
            use(library)
    assert library.read_bytes() == before


def test_a_text_file_is_not_a_library(library: Path) -> None:
    library.write_text("Dear diary,\n" * 1000, encoding="utf-8")
    before = library.read_bytes()
    for use in (open_library, create_library, upgrade_library):
        with pytest.raises(NotALibrary, match=str(library)):
            use(library)
    assert library.read_bytes() == before


def test_a_folder_is_not_a_library(tmp_path: Path) -> None:
    with pytest.raises(NotALibrary, match="it is a folder"):
        open_library(tmp_path)


def test_a_missing_library_is_not_made_by_reading(library: Path) -> None:
    for use in (open_library, upgrade_library):
        with pytest.raises(LibraryNotFound, match=str(library)):
            use(library)
    assert list(library.parent.iterdir()) == []


def test_an_empty_file_becomes_a_library(
    library: Path,
    folder: Callable[..., Path],
    ingest: Callable[..., Any],
    sound: Callable[..., None],
) -> None:
    library.touch()
    with pytest.raises(LibraryDamaged, match="it is empty"):
        library_status(Session(library))
    assert ingest(folder(_NOTES)).added == 2
    sound()


def test_a_library_in_a_folder_that_is_not_there(library: Path) -> None:
    with pytest.raises(LpiSearchError, match=f"the folder {library.parent}/nowhere does not exist"):
        create_library(library.parent / "nowhere" / "library.db")


@pytest.mark.parametrize("later", _REVISIONS[1:])
def test_a_revision_older_than_the_tables_is_damage(
    library: Path, sql: Callable[..., list[Any]], later: str
) -> None:
    create_library(library).close()
    downgrade(library, later)
    for stated in _REVISIONS[: _REVISIONS.index(later)]:
        sql(f"UPDATE alembic_version SET version_num = '{stated}'", on=library)
        with pytest.raises(LibraryDamaged, match=stated):
            open_library(library)
        with pytest.raises(LibraryDamaged, match=stated):
            create_library(library)
        assert _found_revision(library) == stated
    assert [path.name for path in library.parent.glob("*.before-*")] == []


def test_a_failed_upgrade_changes_nothing(
    library: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library.touch()
    upgrade(library, "0001")
    broken = tmp_path / "migrations"
    shutil.copytree(shipped_folder("migrations"), broken)
    script = broken / "versions" / "0002_indexes.py"
    text = script.read_text(encoding="utf-8")
    script.write_text(
        text.replace("def downgrade", '    raise RuntimeError("half-way")\n\n\ndef downgrade'),
        encoding="utf-8",
    )
    monkeypatch.setattr(tables, "shipped_folder", lambda _name: broken)
    with pytest.raises(RuntimeError, match="half-way"):
        upgrade(library)
    assert _found_revision(library) == "0001"
    with closing(sqlite3.connect(library)) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    assert "indexes" not in names
    assert "documents" in names


_RACER = """
import sys, time
from pathlib import Path
from lpisearch.storage.sqlite.schema import create_library
import alembic.command
sys.stdin.readline()
create_library(Path(sys.argv[1])).close()
"""


@pytest.mark.parametrize("start", [None, "0001"])
def test_two_processes_make_one_library(
    library: Path, sound: Callable[..., None], start: str | None
) -> None:
    if start:
        library.touch()
        upgrade(library, start)
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", _RACER, str(library)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("go\n")
        racer.stdin.flush()
    errors = [racer.communicate()[1] for racer in racers]
    assert errors == ["", "", ""]
    with open_library(library) as database, database.reading() as connection:
        assert revision(connection.core) == HEAD
    assert differences(library) == []
    if start:
        assert _found_revision(library.with_name(f"library.db.before-{start}")) == start
    assert list(library.parent.glob("*.partial")) == []
    sound()
