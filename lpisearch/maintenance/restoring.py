"""Read documents that are damaged in the library again from their files.

A document is restored where what its file has now has the very hash that was stored: then it is as
it was written, down to the last label. Where the file is gone or has changed, nothing is guessed.
"""

from __future__ import annotations

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
    from collections.abc import Iterable, Iterator

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
        there = dict(_documents_of(path, name, {abs(each.place.position) for each in damaged}))
        for each in damaged:
            found = there.get(abs(each.place.position))
            write = _as_written(each, *found) if found else None
            if write:
                restored.append(write._replace(tokens=document_tokens(tokeniser, write.document)))
            else:
                lost.append(each)
    transaction.changes.replace(restored, datetime.now(UTC).isoformat(timespec="seconds"))
    return len(restored), lost


def _documents_of(
    path: str, name: str, positions: set[int]
) -> Iterator[tuple[int, tuple[Document, bool]]]:
    """Yield the places of documents in a file, with each whether the file may hold many."""
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
            if position in positions:
                yield position, (item, many)


def _as_written(
    damaged: DamagedDocument,
    found: Document,
    many: bool,  # noqa: FBT001 (a pair from the file)
) -> DocumentWrite | None:
    """Return the document as it was written, or None if that cannot be proved by a hash."""
    ids = _ids(damaged, found, many=many)
    for labelled in _labelled(damaged, found, ids):
        digest = content_hash(labelled)
        # The hash itself may be what is damaged: then all else is as the file has it.
        if digest in {damaged.place.content_hash, damaged.found}:
            is_own = damaged.is_named or damaged.place.id in ids
            name = damaged.place.id if is_own else ids[0]
            place = damaged.place._replace(id=name, content_hash=digest)
            return DocumentWrite(place, damaged.path, labelled)
    return None


def _ids(damaged: DamagedDocument, found: Document, *, many: bool) -> tuple[str, ...]:
    relative = relative_path(damaged.path, damaged.root)
    if found.id:
        return FileNames().stated(found.id, relative, damaged.root)
    number = abs(damaged.place.position) if many else None
    return FileNames().derived(relative, damaged.root, number)


def _labelled(
    damaged: DamagedDocument, found: Document, ids: tuple[str, ...]
) -> Iterable[Document]:
    """Yield the document with the labels that the library has, and with those of its file."""
    yield replace(found, labels=damaged.labels, split=damaged.split)
    try:
        rules = LabelRules.of(ReadOptions())
        yield rules.apply(found, ids, relative_path(damaged.path, damaged.root))
    except LpiSearchError:
        return
