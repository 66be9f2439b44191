"""Stored facts about documents and files.

Every document has a key: a number that it keeps as long as it is in the library. Keys ascend in
the order in which documents first came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lpisearch.records.documents import Document, Trouble
    from lpisearch.records.labels import PredictedLabel

UNFINISHED = -1


# Named tuples where there are many at a time: they are made several times as fast.
class Details(NamedTuple):
    """What is shown of a document; `text` is its beginning, as far as was asked for."""

    id: str
    title: str
    labels: tuple[str, ...]
    path: str
    date: str
    text: str
    content_hash: bytes
    predicted: tuple[PredictedLabel, ...] = ()


class TokenShard(NamedTuple):
    """Some documents in the order of their keys: keys, content hashes, and joined tokens."""

    keys: list[int]
    hashes: list[bytes]
    tokens: list[str]


class StoredPlace(NamedTuple):
    """Where a document is: its key, id, source, number within the source, and content.

    `position` is below zero if the record is gone from its file.
    """

    key: int
    id: str
    source_id: int
    position: int
    content_hash: bytes


class DamagedDocument(NamedTuple):
    """A document that is not as it was written, and what can be read of where it came from.

    `found` is the content hash of what is there of it, `b""` if that is unreadable; `is_named`
    tells whether its id and its place are as they were written.
    """

    place: StoredPlace
    path: str
    root: str
    format: str
    split: str
    labels: tuple[str, ...]
    found: bytes
    is_named: bool


class DocumentWrite(NamedTuple):
    """A document, the place that it gets or keeps, its file, and its tokens joined by spaces."""

    place: StoredPlace
    path: str
    document: Document
    tokens: str = ""


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that could not be read to its end without a failure, as it was then.

    Attributes
    ----------
    path
        Absolute.
    size, mtime_ns
        Of the file; `UNFINISHED` where another try may end otherwise, though nothing changed.
    read_options
        A fingerprint of what it was read with.
    troubles
        What failed, or the first part of it.
    number
        How many failures there were.
    """

    path: str
    size: int
    mtime_ns: int
    read_options: str
    troubles: tuple[Trouble, ...]
    number: int


@dataclass(frozen=True, slots=True)
class Source:
    """One file, as it was when it was read.

    Attributes
    ----------
    id
        Its key in the library.
    path, root
        Absolute path, and the folder whose relative paths name its documents.
    format
        The reader's name.
    size, mtime_ns
        Of the file; `UNFINISHED` until it has been read to its end without a failure.
    read_options
        A fingerprint of the options that shaped its documents.
    documents, gone
        How many documents the library has from it, and how many of these it no longer has.
    """

    id: int
    path: str
    root: str
    format: str
    size: int
    mtime_ns: int
    read_options: str
    documents: int = 0
    gone: int = 0
