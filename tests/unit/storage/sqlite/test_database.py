from __future__ import annotations

import gc
import multiprocessing
import sqlite3
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from lpisearch.errors import LibraryDamaged, LibraryUnwritable, LpiSearchError, NotALibrary
from lpisearch.storage.sqlite import database
from lpisearch.storage.sqlite.database import BUSY_SECONDS
from lpisearch.storage.sqlite.schema import create_library, open_library

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.storage.sqlite.database import Database


def _pragma(database: Database, name: str) -> Any:
    with database.reading() as connection:
        return connection.execute(text(f"PRAGMA {name}")).scalar()


def _open_files() -> int:
    return len([*Path("/dev/fd").iterdir()])


def test_a_library_is_in_wal_mode(library: Path) -> None:
    """Readers and a writer share a library, because it is in WAL mode."""
    with create_library(library) as database:
        assert _pragma(database, "journal_mode") == "wal"


@pytest.mark.parametrize("writable", [True, False])
def test_every_connection_has_foreign_keys_and_patience(library: Path, *, writable: bool) -> None:
    create_library(library).close()
    with open_library(library, writable=writable) as database:
        assert _pragma(database, "foreign_keys") == 1
        assert _pragma(database, "busy_timeout") == BUSY_SECONDS * 1000 >= 5000


def test_a_reader_cannot_write(library: Path) -> None:
    create_library(library).close()
    with (
        open_library(library) as database,
        pytest.raises(LibraryUnwritable, match=str(library)),
        database.writing() as connection,
    ):
        connection.execute(text("DELETE FROM labels"))


def test_a_closed_library_is_one_file(library: Path) -> None:
    create_library(library).close()
    before = library.read_bytes()
    with open_library(library) as one, open_library(library) as other:
        for database in (one, other):
            with database.reading() as connection:
                connection.execute(text("SELECT count(*) FROM documents"))
    assert [path.name for path in library.parent.glob(f"{library.name}-*")] == []
    assert library.read_bytes() == before


def test_a_reader_takes_no_log_from_a_writer(library: Path) -> None:
    with create_library(library) as writer:
        with writer.writing() as connection:
            connection.execute(text("INSERT INTO settings (name, value) VALUES ('a', '1')"))
        open_library(library).close()
        assert library.with_name(f"{library.name}-wal").stat().st_size > 0
        with open_library(library) as reader, reader.reading() as connection:
            written = text("SELECT value FROM settings WHERE name = 'a'")
            assert connection.execute(written).scalar() == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no list of what a process has open")
def test_a_lost_connection_keeps_no_file_open(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_library(library).close()
    monkeypatch.setattr(database, "_OPEN", database._Connections())
    lost = database.connect(library, writable=False)
    before = _open_files()
    database.refuse_other_files(library)
    assert _open_files() == before + 1, "to close it would drop SQLite's locks"
    del lost
    gc.collect()
    database.refuse_other_files(library)
    assert _open_files() < before


def test_a_connection_is_kept_for_the_next_reader(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_library(library).close()
    opened: list[Path] = []
    connect = database.connect_to_read

    def counted(path: Path) -> Any:
        opened.append(path)
        return connect(path)

    monkeypatch.setattr(database, "connect_to_read", counted)
    with open_library(library) as reader, create_library(library) as writer:
        opened.clear()
        for value in range(3):
            with writer.writing() as connection:
                insert = "INSERT INTO settings (name, value) VALUES (:name, '1')"
                connection.execute(text(insert), {"name": f"{value}"})
            with reader.reading() as connection:
                assert f"{value}" in connection.column("SELECT name FROM settings")
        assert len(opened) == 1
        with suppress(KeyboardInterrupt), reader.reading():
            raise KeyboardInterrupt
        _pragma(reader, "user_version")
        assert len(opened) == 2, "one that failed is closed"


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced")
def test_a_reader_sees_what_took_the_place_of_a_file(library: Path, tmp_path: Path) -> None:
    create_library(library).close()
    first, other = library.read_bytes(), tmp_path / "other.db"
    with create_library(other) as writer, writer.writing() as connection:
        connection.execute(text("INSERT INTO settings (name, value) VALUES ('other', '1')"))
    with open_library(library) as reader:

        def has_other() -> bool:
            with reader.reading() as connection:
                return "other" in connection.column("SELECT name FROM settings")

        assert not has_other()
        other.replace(library)
        assert has_other()
        library.write_bytes(first)
        assert not has_other()


def test_a_writer_leaves_no_log_to_a_waiting_reader(library: Path) -> None:
    create_library(library).close()
    with open_library(library) as reader:
        _pragma(reader, "user_version")
        with create_library(library) as writer, writer.writing() as connection:
            connection.execute(text("INSERT INTO settings (name, value) VALUES ('a', '1')"))
        log = library.with_name(f"{library.name}-wal")
        assert not log.exists() or not log.stat().st_size


def test_an_open_write_does_not_block_a_reader(library: Path) -> None:
    with create_library(library) as writer, writer.writing() as connection:
        connection.execute(text("INSERT INTO settings(name, value) VALUES ('half', '{}')"))
        with open_library(library) as reader, reader.reading() as other:
            assert (
                other.execute(text("SELECT count(*) FROM settings WHERE name != 'schema'")).scalar()
                == 0
            )


def test_a_reader_sees_one_state(library: Path) -> None:
    count = text("SELECT count(*) FROM settings WHERE name != 'schema'")
    with create_library(library) as writer, open_library(library) as reader:
        with reader.reading() as reading:
            assert reading.execute(count).scalar() == 0
            with writer.writing() as writing:
                writing.execute(text("INSERT INTO settings(name, value) VALUES ('new', '{}')"))
            assert reading.execute(count).scalar() == 0
        with reader.reading() as reading:
            assert reading.execute(count).scalar() == 1


def test_an_error_rolls_everything_back(library: Path) -> None:
    with create_library(library) as database:
        with suppress(ZeroDivisionError), database.writing() as connection:
            connection.execute(text("INSERT INTO settings(name, value) VALUES ('half', '{}')"))
            connection.execute(text("CREATE TABLE half (id)"))
            raise ZeroDivisionError
        with database.reading() as connection:
            assert (
                connection.execute(
                    text("SELECT count(*) FROM settings WHERE name != 'schema'")
                ).scalar()
                == 0
            )
            names = connection.execute(text("SELECT name FROM sqlite_master")).scalars()
            assert "half" not in list(names)


def _hold(path: str, ready: Any, done: Any) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    ready.set()
    done.wait(20)
    connection.close()


def test_a_lock_of_another_program_is_stated(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_library(library).close()
    monkeypatch.setattr("lpisearch.storage.sqlite.database.BUSY_SECONDS", 0.1)
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(str(library), ready, done))
    holder.start()
    try:
        assert ready.wait(20)
        with (
            open_library(library, writable=True) as database,
            pytest.raises(
                LpiSearchError, match=f"{library} is locked: another program is writing to it"
            ),
            database.writing(),
        ):
            pass
    finally:
        done.set()
        holder.join()


def test_full_disk_is_stated(library: Path) -> None:
    with create_library(library) as database:
        with database.reading() as connection:
            connection.execute(text("PRAGMA max_page_count = 1"))
        with (
            pytest.raises(LibraryUnwritable, match=f"{library}: the disk is full"),
            database.writing() as connection,
        ):
            connection.execute(text("INSERT INTO settings VALUES ('big', zeroblob(9999999), x'')"))
    with open_library(library) as database, database.reading() as connection:
        assert (
            connection.execute(
                text("SELECT count(*) FROM settings WHERE name != 'schema'")
            ).scalar()
            == 0
        )


def test_a_truncated_database_is_stated(library: Path, folder: Callable[..., Path]) -> None:
    create_library(library).close()
    whole = library.read_bytes()
    for part in (len(whole) // 2, 4096, 600, 100):
        cut = folder({}) / f"{part}.db"
        cut.write_bytes(whole[:part])
        with (
            pytest.raises((LibraryDamaged, NotALibrary), match=str(cut)),
            open_library(cut, writable=True) as database,
            database.writing() as connection,
        ):
            connection.execute(text("SELECT count(*) FROM documents")).scalar()


def test_a_path_with_odd_characters_is_a_path(tmp_path: Path) -> None:
    odd = tmp_path / "50% of #1? ü.db"
    create_library(odd).close()
    with open_library(odd) as database:
        assert _pragma(database, "journal_mode") == "wal"
    assert odd.stat().st_size > 0


def test_what_is_durable_is_on_disk_at_its_commit(library: Path) -> None:
    levels = []
    with create_library(library) as database:
        for durable in (False, True, False):
            with database.writing(durable=durable) as connection:
                levels.append(connection.execute(text("PRAGMA synchronous")).scalar())
    assert levels == [1, 2, 1]
