"""Digests, checksums, findings, storable strings.

A database notices when its pages do not fit together, or when a column and its index differ, but
not which of them is right. So every row has a checksum of all its cells, written in the same
statement. SQLite computes it by a function of this program; PostgreSQL by SHA-256, which it has
built in.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b, sha256
from itertools import islice
from typing import TYPE_CHECKING, Any

from lpisearch.messages import Message, call
from lpisearch.model.documents import Document, DocumentWrite, Finding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.storage.reading import Connection

HEAD = "0009"
"""The revision of the schema that this program writes."""
OWN_TABLES = frozenset({"documents", "document_tokens", "labels"})
SCHEMA = "schema"  # the setting with the digest of the schema
CHECKSUM_BYTES = 8

_encode = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` makes one for each value
_encode_sorted = json.JSONEncoder(sort_keys=True).encode

Cell = str | int | float | bytes | None


class DamagedCell(ValueError):
    """A cell has a value of the wrong type."""


def checksum(*cells: Cell) -> bytes:
    """Return the checksum of a row in SQLite: of its table's name and its cells."""
    # Most cells are strings or numbers: a call for each would take longer than the digest.
    parts = [
        cell.encode() if type(cell) is str else b"%d" % cell if type(cell) is int else _bytes(cell)
        for cell in cells
    ]
    return blake2b(b"\0".join(parts), digest_size=CHECKSUM_BYTES).digest()


def checksum_of(connection: Connection, *cells: Cell) -> bytes:
    """Return the checksum of a row as its database computes it."""
    if not connection.is_server:
        return checksum(*cells)
    return sha256(b"\0".join(map(_portable, cells))).digest()[:CHECKSUM_BYTES]


def as_json(value: object) -> str:
    """Return a value as it is stored."""
    return _encode(value)


def _bytes(cell: Cell) -> bytes:
    if isinstance(cell, bytes):
        return cell
    if isinstance(cell, str):
        return cell.encode()
    if isinstance(cell, bool):
        return b"1" if cell else b"0"
    return b"\xff" if cell is None else str(cell).encode()


def _portable(cell: Cell) -> bytes:
    """Return a cell in PostgreSQL's binary format."""
    return struct.pack(">d", cell) if isinstance(cell, float) else _bytes(cell)


_AT_ONCE = 10_000


def content_hash(document: Document) -> bytes:
    """Return a digest of everything stored about a document."""
    facts: list[Any] = [
        document.labels,
        document.split,
        document.date,
        document.path,
        document.media_type,
        document.metadata,
        len(document.title),
    ]
    if document.sections:  # documents without any keep the digests of earlier versions
        facts.append(document.sections)
    digest = blake2b(_encode_sorted(facts).encode(), digest_size=16)
    digest.update(document.title.encode())
    digest.update(document.text.encode())
    return digest.digest()


def fingerprint(hashes: Mapping[int, bytes] | Iterable[tuple[int, bytes]]) -> str:
    """Return a digest of documents by key and content."""
    digest = blake2b(digest_size=16)
    remaining = iter(hashes.items() if isinstance(hashes, Mapping) else hashes)
    while some := list(islice(remaining, _AT_ONCE)):
        digest.update(
            b"".join(key.to_bytes(8, "little", signed=True) + content for key, content in some)
        )
    return digest.hexdigest()


def fingerprint_of_arrays(keys: NDArray[np.int64], hashes: NDArray[np.uint8]) -> str:
    """Return the same of keys, and of contents as rows."""
    import numpy as np

    digest = blake2b(digest_size=16)
    for start in range(0, len(keys), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        numbers = keys[some].astype("<i8").view(np.uint8).reshape(-1, 8)
        digest.update(np.concatenate([numbers, hashes[some]], axis=1).tobytes())
    return digest.hexdigest()


MEND = call("examine", repair=True)
_SHOWN = 3  # paths that fit in a line


def damaged(detail: str, check: str = "database file") -> Finding:
    """Return the finding for a database that cannot be read or trusted."""
    return Finding(
        check,
        ok=False,
        detail=detail,
        next_step=Message(
            "restore a backup made with ", call("back_up"), ", or ingest into a new library"
        ),
    )


def unfinished(paths: Sequence[str]) -> Finding:
    """Return the finding about files that were not read completely.

    It is not damage: the documents read so far are complete, and the next ingest reads the rest.
    """
    check = "unfinished files"
    if not paths:
        return Finding(check, ok=True, detail="none")
    shown = ", ".join(paths[:_SHOWN]) + (", …" if len(paths) > _SHOWN else "")
    return Finding(
        check,
        ok=True,
        detail=f"{len(paths)} not fully read: {shown}",
        next_step=Message(call("ingest"), " the same paths again"),
    )


def refuse_unstorable(writes: Iterable[DocumentWrite]) -> None:
    """Refuse documents with a NUL; a lone surrogate fails when it is encoded.

    Readers remove both, so no document of a user triggers this.
    """
    for row, path, document, tokens, _ in writes:
        strings = (row.id, path, document.title, document.text, tokens, *document.labels)
        if any("\0" in string for string in strings):
            raise ValueError(f"a NUL in the document {row.id!r}")
