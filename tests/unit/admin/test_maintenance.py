from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.admin.curation import delete_documents, library_status
from lpisearch.admin.maintenance import examine, retokenise
from lpisearch.errors import BadOption, LibraryLocked
from lpisearch.ingest.ingestion import tokenised
from lpisearch.search.session import Session
from lpisearch.storage import open_store, writer_lock
from lpisearch.storage.metadata import TOKENISER
from lpisearch.text.languages import TokeniserSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Ingest = Callable[..., Any]
    Sql = Callable[..., list[Any]]
    Sound = Callable[..., None]

_MATCH = "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?"


@pytest.fixture
def filled(folder: Callable[..., Path], ingest: Ingest) -> Path:
    """Return a folder that is in the library: German words in an English library."""
    root = folder({"a.txt": "Die Häuser der Städte.", "b.txt": "Ships and houses."})
    ingest(root)
    return root


def test_retokenising_changes_the_language(
    library: Path, filled: Path, ingest: Ingest, sql: Sql, sound: Sound
) -> None:
    before = sql("SELECT document_id, tokens FROM document_tokens")
    assert retokenise(library, "german") == 2
    assert library_status(Session(library))["language"] == "german"
    tokens = dict(sql("SELECT document_id, tokens FROM document_tokens"))
    assert tokens != dict(before)
    word = tokens[1].split()[0]
    assert sql(_MATCH, f'"{word}"') == [(1,)]
    sound()
    assert ingest(filled).unchanged == 2
    assert ingest(filled, language="german").unchanged == 2
    with pytest.raises(BadOption, match="german"):
        ingest(filled, language="english")
    retokenise(library, "english")
    assert sql("SELECT document_id, tokens FROM document_tokens") == before
    sound()


def test_an_older_library_keeps_its_word_rules_until_it_is_told_otherwise(
    library: Path, folder: Callable[..., Path], ingest: Ingest, sql: Sql, sound: Sound
) -> None:
    root = folder({"a.txt": "Written in C++ with parseHeader."})
    ingest(root)
    with open_store(library, writable=True) as store, store.writing() as transaction:
        transaction.settings.set(TOKENISER, TokeniserSettings(version=1).as_dict())
    folder({"a.txt": "Now in C++ with parseHeader.", "b.txt": "Or C++ with sendHeader."})
    ingest(root)
    words = "SELECT tokens FROM document_tokens ORDER BY document_id"
    assert sql(words) == [("c parsehead",), ("b b c sendhead",)]
    status = library_status(Session(library))
    assert (status["word_rules"], status["newest_word_rules"]) == (1, 2)
    assert any("rules 1" in finding.detail for finding in examine(library))
    retokenise(library)
    assert sql(words)[1] == ("b b cplusplus sendhead send header",)
    assert library_status(Session(library))["word_rules"] == 2
    sound()


def test_retokenising_again_changes_nothing(library: Path, filled: Path, sql: Sql) -> None:
    assert filled.is_dir()
    before = sql("SELECT * FROM document_tokens")
    assert retokenise(library) == 2
    assert sql("SELECT * FROM document_tokens") == before


def test_retokenising_is_one_transaction(
    library: Path, filled: Path, sql: Sql, sound: Sound, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert filled.is_dir()
    before = sql("SELECT * FROM document_tokens"), sql("SELECT * FROM settings")
    monkeypatch.setattr("lpisearch.ingest.ingestion._AT_ONCE", 1)
    calls: list[Any] = []

    def fail(*given: Any) -> Any:
        calls.append(None)
        if len(calls) == 2:
            raise ZeroDivisionError
        return tokenised(*given)

    monkeypatch.setattr("lpisearch.ingest.ingestion.tokenised", fail)
    with pytest.raises(ZeroDivisionError):
        retokenise(library, "german")
    assert (sql("SELECT * FROM document_tokens"), sql("SELECT * FROM settings")) == before
    sound()


def test_every_writer_respects_the_lock(library: Path, filled: Path) -> None:
    assert filled.is_dir()
    with writer_lock(library, "ingest", 0):
        with pytest.raises(LibraryLocked, match="lpisearch ingest"):
            delete_documents(library, ["a.txt"], wait_seconds=0)
        with pytest.raises(LibraryLocked, match="lpisearch ingest"):
            retokenise(library, wait_seconds=0)
        with pytest.raises(LibraryLocked, match="lpisearch ingest"):
            examine(library, repair=True, wait_seconds=0)
        assert all(finding.ok for finding in examine(library))


def test_deleting_takes_everything_along(
    library: Path, filled: Path, sql: Sql, sound: Sound
) -> None:
    path = str(filled / "b.txt")
    assert delete_documents(library, ["b.txt", path]) == 1
    assert sql(_MATCH, "ship") == [(0,)]
    assert sql("SELECT count(*) FROM document_tokens") == [(1,)]
    sound()


def test_the_language_is_set_by_the_first_ingest(
    library: Path, folder: Callable[..., Path], ingest: Ingest
) -> None:
    with pytest.raises(BadOption, match="klingon"):
        ingest(folder({"a.txt": "x"}), language="klingon")
    ingest(folder({"a.txt": "x"}), language="german")
    assert library_status(Session(library))["language"] == "german"
