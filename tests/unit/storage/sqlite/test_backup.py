from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from lpisearch.admin.curation import library_status
from lpisearch.admin.maintenance import back_up_library
from lpisearch.errors import BadOption, LibraryUnwritable
from lpisearch.search.session import Session
from lpisearch.storage.sqlite.schema import back_up, create_library

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def copy(library: Path, folder: Callable[..., Path], ingest: Callable[..., Any]) -> Path:
    """Fill a library, and return where its copy is to be."""
    ingest(folder({"a.txt": "A letter about ships.", "b.txt": "A recipe."}))
    return library.with_name("copy.db")


def test_a_copy_is_a_library(library: Path, copy: Path, sound: Callable[..., None]) -> None:
    assert back_up_library(library, copy) == copy
    assert not copy.with_name("copy.db-wal").exists()
    assert library_status(Session(copy))["documents"] == 2
    sound(copy)


def test_a_copy_while_a_writer_is_active(
    library: Path, copy: Path, sound: Callable[..., None]
) -> None:
    with create_library(library) as database, database.writing() as connection:
        connection.execute(text("DELETE FROM documents"))
        back_up_library(library, copy)
    assert library_status(Session(copy))["documents"] == 2
    assert library_status(Session(library))["documents"] == 0
    sound(copy)


def test_a_copy_has_what_is_only_in_the_log(library: Path, copy: Path) -> None:
    with closing(sqlite3.connect(library)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("INSERT INTO settings(name, value) VALUES ('late', '{}')")
        connection.commit()
        back_up(library, copy)
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT name FROM settings WHERE name = 'late'").fetchone()


def test_a_copy_gets_a_dated_name(library: Path, copy: Path) -> None:
    made = back_up_library(library)
    assert made.parent == copy.parent
    assert made.name.startswith("library-20")
    assert back_up_library(library, copy.parent / "notes") == copy.parent / "notes" / "library.db"


def test_a_copy_replaces_nothing(library: Path, copy: Path) -> None:
    copy.write_text("precious", encoding="utf-8")
    for target in (copy, library):
        with pytest.raises(BadOption, match=f"{target} already exists"):
            back_up_library(library, target)
    assert copy.read_text(encoding="utf-8") == "precious"


def test_a_copy_that_cannot_be_written(library: Path, copy: Path) -> None:
    lost = copy.parent / "nowhere" / "copy.db"
    with pytest.raises(LibraryUnwritable, match=str(lost)):
        back_up_library(library, lost)
    assert not lost.parent.exists()
    assert list(copy.parent.glob("*.partial")) == []


def test_a_damaged_library_is_named_and_not_its_copy(library: Path, copy: Path) -> None:
    whole = library.read_bytes()
    library.write_bytes(whole[: len(whole) // 4096 // 2 * 4096])
    with pytest.raises(Exception, match=f"{library} is damaged"):
        back_up(library, copy)
    assert not copy.exists()
