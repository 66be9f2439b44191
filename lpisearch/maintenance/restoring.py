"""Restore damaged documents from their files.

A document is restored where what its file has now has the very hash that was stored: then it is as
it was written, down to the last label. Where the file is gone or has changed, nothing is guessed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.errors import LpiSearchError
from lpisearch.ingest.discovery import FoundFile
from lpisearch.ingest.extraction import extract
from lpisearch.ingest.naming import FileNames, LabelRules
from lpisearch.ingest.recording import relative_path
from lpisearch.readers.registry import READERS
from lpisearch.records import DocumentWrite, Problem
from lpisearch.settings import ReadOptions
from lpisearch.storage import content_hash
from lpisearch.terms.documents import document_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.records import DamagedDocument, Document
    from lpisearch.storage import Transaction
    from lpisearch.terms.tokeniser import Tokeniser


def restore_documents(
    transaction: Transaction, tokeniser: Tokeniser
) -> tuple[int, list[DamagedDocument]]:
    """Restore the damaged documents whose files still have them as they were.

    Returns
    -------
    tuple
        How many were restored, and those that were not.
    """
    lost: list[DamagedDocument] = []
    restored: list[DocumentWrite] = []
    by_file: dict[tuple[str, str], list[DamagedDocument]] = {}
    for each in transaction.health.damaged_documents():
        by_file.setdefault((each.path, each.format), []).append(each)
    for (path, name), damaged in by_file.items():
        for each, write in _found_again(path, name, damaged):
            if write is None:
                lost.append(each)
            else:
                restored.append(write._replace(tokens=document_tokens(tokeniser, write.document)))
    transaction.changes.replace(restored, datetime.now(UTC).isoformat(timespec="seconds"))
    return len(restored), lost


def _found_again(
    path: str, name: str, damaged: list[DamagedDocument]
) -> Iterator[tuple[DamagedDocument, DocumentWrite | None]]:
    """Look for the documents of a file at their places, or, where these are damaged, anywhere."""
    places = {abs(each.place.position) for each in damaged}
    anywhere = not all(each.is_named for each in damaged)
    there = dict(_documents_of(path, name, None if anywhere else places))
    for each in damaged:
        tried = [abs(each.place.position)] if each.is_named else list(there)
        found = (_as_written(each, at, *there[at]) for at in tried if at in there)
        yield each, next(filter(None, found), None)


def _documents_of(
    path: str, name: str, places: set[int] | None
) -> Iterator[tuple[int, tuple[Document, bool]]]:
    """Yield documents of a file by their places, with each whether the file may hold many."""
    try:
        facts = Path(path).stat()
    except (OSError, ValueError):
        return
    file = FoundFile(path, str(Path(path).parent), facts.st_size, facts.st_mtime_ns, named=True)
    options = ReadOptions(format=name if name in READERS else "auto")
    for extracted in extract([file], options):
        many = extracted.reader is not None and extracted.reader.many
        position = 0
        for item in extracted.items:
            if isinstance(item, Problem):
                position += not item.warning
                continue
            position += 1
            if places is None or position in places:
                yield position, (item, many)


def _as_written(
    damaged: DamagedDocument,
    position: int,
    found: Document,
    many: bool,  # noqa: FBT001 (a pair from the file)
) -> DocumentWrite | None:
    """Return the document as it was written, or None if that cannot be proved by a hash."""
    ids = _ids(damaged, found, position if many else None)
    for labelled, is_of_file in _labelled(damaged, found, ids):
        digest = content_hash(labelled)
        # The hash itself may be what is damaged: then all else is as the file has it.
        if digest == damaged.place.content_hash or (is_of_file and digest == damaged.found):
            is_own = damaged.is_named or damaged.place.id in ids
            name = damaged.place.id if is_own else ids[0]
            place = damaged.place._replace(id=name, position=position, content_hash=digest)
            return DocumentWrite(place, damaged.path, labelled)
    return None


def _ids(damaged: DamagedDocument, found: Document, number: int | None) -> tuple[str, ...]:
    relative = relative_path(damaged.path, damaged.root)
    if found.id:
        return FileNames().stated(found.id, relative, damaged.root)
    return FileNames().derived(relative, damaged.root, number)


def _labelled(
    damaged: DamagedDocument, found: Document, ids: tuple[str, ...]
) -> Iterator[tuple[Document, bool]]:
    """Yield the document with the labels of the library, then with those that its file gives it."""
    yield replace(found, labels=damaged.labels, split=damaged.split), False
    with suppress(LpiSearchError):
        rules = LabelRules.of(ReadOptions())
        yield rules.apply(found, ids, relative_path(damaged.path, damaged.root)), True
