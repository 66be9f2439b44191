"""Look after a library: its state, its health, its copies and its schema."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption, LibraryDamaged, LibraryNotFound
from lpisearch.indexes.state import index_findings, index_summaries
from lpisearch.ingest.tokeniser import AUTO, library_tokeniser
from lpisearch.messages import call
from lpisearch.records import Filter, Finding
from lpisearch.storage.sqlite import documents, health, rows
from lpisearch.storage.sqlite.backup import back_up
from lpisearch.storage.sqlite.configuration import TOKENISER, store_setting, stored_setting
from lpisearch.storage.sqlite.lock import writer_lock
from lpisearch.storage.sqlite.schema import HEAD, differences, open_library, revision, upgrade
from lpisearch.storage.sqlite.sources import known_sources, unfinished_sources
from lpisearch.terms.detection import Evidence
from lpisearch.terms.documents import document_tokens
from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokeniser import Tokeniser

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

_RETOKENISE_ROWS = 1000
_LANGUAGE_SAMPLE = 1000


def library_status(library: Path) -> dict[str, Any]:
    """Return counts of documents, labels, splits and sources, and the size on disk."""
    with open_library(library) as database, database.reading() as connection:
        tokeniser = stored_setting(connection, TOKENISER)
        return {
            "library": str(library),
            "documents": documents.count(connection, Filter()),
            "labels": documents.label_counts(connection),
            "splits": documents.split_counts(connection),
            "sources": len(known_sources(connection)),
            "unfinished": unfinished_sources(connection),
            "language": tokeniser["language"] if tokeniser else None,
            "size_bytes": size_on_disk(library),
            "schema": revision(connection),
            "indexes": index_summaries(library, connection),
        }


def size_on_disk(library: Path) -> int:
    """Return the bytes of the database with its write-ahead log."""
    parts = (library, library.with_name(f"{library.name}-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())


def examine(library: Path, *, repair: bool = False, wait_seconds: float = 30.0) -> list[Finding]:
    """Look for damage; with `repair`, first mend what can be mended from the documents."""
    try:
        with open_library(library, writable=True) as database:
            if repair:
                with (
                    writer_lock(library, "examine", wait_seconds),
                    database.writing() as connection,
                ):
                    _repair(connection)
            with database.writing() as connection:
                found = [*health.findings(connection), _tokeniser_finding(connection)]
                found.extend(index_findings(library, connection))
                connection.rollback()
    except LibraryDamaged as damage:
        return [health.damaged(damage.what)]
    return found


def _repair(connection: Connection) -> None:
    health.repair(connection)
    tokeniser = library_tokeniser(connection)
    missing = health.untokenised_rows(connection)
    if missing:
        _retokenise_rows(connection, tokeniser, missing)


def _tokeniser_finding(connection: Connection) -> Finding:
    check = "tokeniser"
    stored = stored_setting(connection, TOKENISER)
    if stored is None or TokeniserSettings.from_dict(stored).stems_alike:
        return Finding(check, ok=True, detail="as it made the tokens")
    return Finding(
        check,
        ok=True,
        detail=f"the tokens were made by {stored['stemmer']}, another version",
        next_step=call("retokenise"),
    )


def retokenise(library: Path, language: str = "", wait_seconds: float = 30.0) -> int:
    """Make the tokens of all documents anew, in one transaction, perhaps in another language.

    At "auto" the language is found in up to 2,000 documents, evenly spread.

    Returns
    -------
    int
        How many documents there were.
    """
    with (
        writer_lock(library, "retokenise", wait_seconds),
        open_library(library, writable=True) as database,
        database.writing() as connection,
    ):
        stored = stored_setting(connection, TOKENISER)
        every = rows.all_rows(connection)
        name = language or (stored["language"] if stored else AUTO)
        if name == AUTO:
            name = _found_language(connection, every)
        settings = TokeniserSettings.for_language(name)
        store_setting(connection, TOKENISER, settings.as_dict())
        _retokenise_rows(connection, Tokeniser(settings), every)
        return len(every)


def _found_language(connection: Connection, row_ids: list[int]) -> str:
    step = max(len(row_ids) // _LANGUAGE_SAMPLE, 1)
    evidence = Evidence()
    evidence.add(
        f"{document.title}\n{document.text}"
        for document in documents.load_many(connection, row_ids[::step])
    )
    return evidence.language


def _retokenise_rows(connection: Connection, tokeniser: Tokeniser, row_ids: list[int]) -> None:
    for start in range(0, len(row_ids), _RETOKENISE_ROWS):
        chunk = row_ids[start : start + _RETOKENISE_ROWS]
        loaded = zip(chunk, documents.load_many(connection, chunk), strict=True)
        tokens = {row: document_tokens(tokeniser, document) for row, document in loaded}
        rows.replace_tokens(connection, tokens)


def upgrade_library(library: Path) -> dict[str, Any]:
    """Bring an older library to this program's schema; a newer program does so by itself."""
    if not library.exists():
        raise LibraryNotFound(library)
    copy = upgrade(library)
    return {"library": str(library), "schema": HEAD, "copy": str(copy) if copy else None}


def check_schema(library: Path) -> list[str]:
    """Return how the tables differ from what this program expects."""
    with open_library(library):
        return differences(library)


def back_up_library(library: Path, target: Path | None = None) -> Path:
    """Copy a library while it is in use.

    Parameters
    ----------
    library
        The database file.
    target
        The copy, which must not exist; a name with date and time beside the library if not given.

    Raises
    ------
    BadOption, LibraryError
    """
    with open_library(library):
        pass
    if target is None:
        stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
        target = library.with_name(f"{library.stem}-{stamp}.db")
    elif target.is_dir():
        target /= library.name
    if target.exists():
        raise BadOption("target", f"{target} exists already, and a backup never replaces a file")
    return back_up(library, target)
