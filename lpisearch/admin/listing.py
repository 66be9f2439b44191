"""List, show, delete, export; status, names."""

from __future__ import annotations

import re
from contextlib import contextmanager
from glob import escape
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lpisearch.errors import BadOption, LibraryUnwritable
from lpisearch.files import mode_of, refuse_others, whole_file
from lpisearch.index.status import index_summaries
from lpisearch.location import is_own_path
from lpisearch.messages import nearest
from lpisearch.model.codec import json_text, to_json
from lpisearch.model.documents import Filter
from lpisearch.options import ENTRY_SORTS
from lpisearch.storage import open_store, writer_lock
from lpisearch.storage.metadata import TOKENISER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lpisearch.location import Location
    from lpisearch.model.documents import Document, Entry
    from lpisearch.search.session import Session


EVERY = Filter()
_SAID_EVERY = 1000
# How each line of an export begins: no query file and no JSON Lines of others do by chance.
_EXPORTED = re.compile(rb'\{"id": "(?:[^"\\]|\\.)*", "title": "')


def list_documents(
    session: Session,
    wanted: Filter = EVERY,
    limit: int = -1,
    offset: int = 0,
    sort: str = ENTRY_SORTS[0],
) -> tuple[list[Entry], int]:
    """Return a page of the listing, and how many documents there are in all."""
    if sort not in ENTRY_SORTS:
        hint = nearest(sort, ENTRY_SORTS)
        raise BadOption("sort", f"unknown sort order “{sort}”{hint}", ENTRY_SORTS)
    with session.reading() as snapshot:
        found = snapshot.documents.entries(wanted, limit, offset, sort)
        return found, snapshot.documents.count(wanted)


def every_document(session: Session) -> Iterator[Document]:
    """Yield all documents in the order of ingest, as they are now."""
    with session.reading() as snapshot:
        yield from snapshot.documents.stream(EVERY)


def show_document(session: Session, name: str) -> Document:
    """Return a document by its id, or by the path of its file."""
    with session.reading() as snapshot:
        return snapshot.documents.load([snapshot.documents.only(name)])[0]


def delete_documents(library: Location, names: Sequence[str], wait_seconds: float = 30.0) -> int:
    """Remove documents, all or none, with everything that belongs to them."""
    with (
        open_store(library, writable=True) as store,
        writer_lock(library, "delete", wait_seconds),
        store.writing() as transaction,
    ):
        row_ids = {transaction.documents.only(name) for name in names}
        transaction.changes.delete(row_ids)
        return len(row_ids)


def export_documents(
    session: Session,
    target: Path | IO[str],
    wanted: Filter = EVERY,
    *,
    force: bool = False,
    on_stage: Callable[[str], None] = lambda _name: None,
) -> int:
    """Write documents as JSON Lines, which an ingest turns into the same documents again.

    `on_stage` is told now and then how many were written.
    """
    if isinstance(target, Path):
        _check_target(target, session.path, force=force)
    with session.reading() as snapshot:
        found = snapshot.documents.stream(wanted)
        if isinstance(target, Path):
            with _whole_file(target, session.path) as stream:
                return _write_lines(found, stream, on_stage)
        return _write_lines(found, target, on_stage)


def _check_target(target: Path, library: Location, *, force: bool) -> None:
    if is_own_path(target, library):
        raise BadOption("target", f"{target} is one of the library's own files")
    if not force:
        refuse_others(target, "an export", _is_export)


def _write_lines(
    found: Iterator[Document], stream: IO[str], on_stage: Callable[[str], None]
) -> int:
    number = 0
    for number, document in enumerate(found, start=1):
        stream.write(json_text(to_json(document)) + "\n")
        if number % _SAID_EVERY == 0:
            on_stage(f"{number:,} documents written")
    return number


@contextmanager
def _whole_file(target: Path, library: Location) -> Iterator[IO[str]]:
    """Give a stream to a file that appears when all is written, no more open than the library."""
    if target.is_dir():
        raise LibraryUnwritable(target, "it is a folder")
    try:
        with whole_file(target, mode_of(library)) as stream:
            text = TextIOWrapper(stream, encoding="utf-8", newline="\n")
            yield text
            text.detach()  # flushed, and left open to be brought to disk
    except OSError as error:
        raise LibraryUnwritable(target, error.strerror or str(error)) from error


def _is_export(beginning: bytes) -> bool:
    return _EXPORTED.match(beginning) is not None


def library_status(session: Session) -> dict[str, Any]:
    """Return counts of documents, labels, splits and sources, and the size on disk."""
    with session.reading() as snapshot:
        tokeniser = snapshot.settings.get(TOKENISER)
        return {
            "library": str(session.path),
            "documents": snapshot.documents.count(Filter()),
            "labels": snapshot.labels.counts(),
            "predicted": snapshot.labels.predicted_counts(),
            "splits": snapshot.labels.split_counts(),
            "sources": len(snapshot.sources.known()),
            "unfinished": snapshot.sources.unfinished(),
            "language": tokeniser["language"] if tokeniser else None,
            "size_bytes": session.store.size_bytes(),
            "schema": snapshot.revision(),
            "indexes": index_summaries(session.path, snapshot),
        }


def names_that_begin(session: Session, kind: str, beginning: str, most: int) -> list[str]:
    """Return names of one kind ("label", "index", "document") that begin so, in order."""
    with session.reading() as snapshot:
        if kind == "label":
            names = snapshot.labels.names()
        elif kind == "index":
            names = [entry.name for entry in snapshot.indexes.entries()]
        else:
            wanted = Filter(path=f"{escape(beginning)}*")
            names = [entry.id for entry in snapshot.documents.entries(wanted, most, 0)]
    return [name for name in names if name.startswith(beginning)][:most]
