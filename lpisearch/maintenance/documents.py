"""List, show, delete and export the documents of a library."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from lpisearch.errors import LibraryUnwritable
from lpisearch.records import Filter
from lpisearch.records.wire import document_record
from lpisearch.storage import open_store, writer_lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lpisearch.indexes.session import Session
    from lpisearch.records import Document, Entry

EVERY = Filter()


def list_documents(
    session: Session, wanted: Filter = EVERY, limit: int = -1, offset: int = 0
) -> tuple[list[Entry], int]:
    """Return a page of the listing, and how many documents there are in all."""
    with session.reading() as snapshot:
        found = snapshot.documents.entries(wanted, limit, offset)
        return found, snapshot.documents.count(wanted)


def every_document(session: Session) -> Iterator[Document]:
    """Yield all documents in the order of ingest, as they are now."""
    with session.reading() as snapshot:
        yield from snapshot.documents.stream(EVERY)


def show_document(session: Session, name: str) -> Document:
    """Return a document by its id, or by the path of its file.

    Raises
    ------
    DocumentNotFound, SeveralDocuments
    """
    with session.reading() as snapshot:
        return snapshot.documents.load([snapshot.documents.only(name)])[0]


def delete_documents(library: Path, names: Sequence[str], wait_seconds: float = 30.0) -> int:
    """Remove documents, all or none, with everything that belongs to them.

    Raises
    ------
    DocumentNotFound, SeveralDocuments
        A name means no document, or more than one; nothing was removed.
    """
    with (
        open_store(library, writable=True) as store,
        writer_lock(library, "delete", wait_seconds),
        store.writing() as transaction,
    ):
        row_ids = {transaction.documents.only(name) for name in names}
        transaction.changes.delete(row_ids)
        return len(row_ids)


def export_documents(session: Session, target: Path | IO[str], wanted: Filter = EVERY) -> int:
    """Write documents as JSON Lines, which an ingest turns into the same documents again.

    Returns
    -------
    int
        How many were written. A file appears whole or not at all.
    """
    with session.reading() as snapshot:
        found = snapshot.documents.stream(wanted)
        if isinstance(target, Path):
            with _whole_file(target) as stream:
                return _write_lines(found, stream)
        return _write_lines(found, target)


def _write_lines(found: Iterator[Document], stream: IO[str]) -> int:
    number = 0
    for number, document in enumerate(found, start=1):  # noqa: B007 (the last number is the count)
        stream.write(json.dumps(document_record(document), ensure_ascii=False) + "\n")
    return number


@contextmanager
def _whole_file(target: Path) -> Iterator[IO[str]]:
    """Write beside the target and rename at the end."""
    if target.is_dir():
        raise LibraryUnwritable(target, "it is a folder")
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        partial.replace(target)
    except OSError as error:
        raise LibraryUnwritable(target, error.strerror or str(error)) from error
    finally:
        with suppress(OSError):
            partial.unlink()
