"""Serialise documents and problems between processes.

A frame is a line that says its kind and two sizes, then so many bytes of JSON and so many of
texts. Texts of documents do not go through JSON: it would take longer than reading them.
"""

from __future__ import annotations

import json
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.messages import as_plain, from_plain
from lpisearch.records import Document, Problem, Section

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

_TEXT = "text"
_DOCUMENT_FIELDS = tuple(field.name for field in fields(Document) if field.name != _TEXT)
_document_values = attrgetter(*_DOCUMENT_FIELDS)
_PACK, _WORD = b"pack", b"word"
_LONGEST_LINE = 64
_UTF8 = ("utf-8", "surrogatepass")  # lone surrogates of file names pass


class Frame(NamedTuple):
    """What was received: facts, or the records of a pack, not yet unpacked."""

    is_pack: bool
    header: bytes
    texts: bytes = b""

    def __len__(self) -> int:
        return len(self.header) + len(self.texts)

    def facts(self) -> dict[str, Any]:
        """Return the facts of a frame; raises ValueError if it is damaged."""
        found: dict[str, Any] = json.loads(self.header.decode(*_UTF8))
        return found

    def records(self, facts: dict[str, Any]) -> Iterator[Document | Problem]:
        """Yield the records of a pack, given its facts."""
        start = 0
        for values, size in zip(facts["records"], facts["sizes"], strict=True):
            if size is None:
                yield Problem(**values | {"reason": from_plain(values["reason"])})
            else:
                text = self.texts[start : start + size].decode(*_UTF8)
                start += size
                yield _document(values, text)


def word(facts: dict[str, Any]) -> bytes:
    """Return a frame of facts."""
    return _frame(_WORD, facts, ())


def pack(records: Sequence[Document | Problem], **facts: Any) -> bytes:
    """Return a frame of records and facts about them."""
    values = [_values(each) for each in records]
    texts = [each.text.encode(*_UTF8) for each in records if isinstance(each, Document)]
    sizes = map(len, texts)
    facts["sizes"] = [next(sizes) if isinstance(each, Document) else None for each in records]
    return _frame(_PACK, facts | {"records": values}, texts)


def receive(stream: BinaryIO, most_bytes: int) -> Frame | None:
    """Take the next frame; None if the stream ended, or says anything else or too much."""
    words = stream.readline(_LONGEST_LINE).split()
    if len(words) != len((_PACK, 0, 0)) or words[0] not in {_PACK, _WORD}:
        return None
    sizes = [int(each) for each in words[1:]]
    if sum(sizes) > most_bytes:
        return None
    header, texts = (stream.read(size) if size else b"" for size in sizes)
    if len(header) + len(texts) < sum(sizes):
        return None
    return Frame(words[0] == _PACK, header, texts)


def _frame(kind: bytes, facts: dict[str, Any], texts: Sequence[bytes]) -> bytes:
    header = json.dumps(facts, ensure_ascii=False).encode(*_UTF8)
    return b"".join((b"%s %d %d\n" % (kind, len(header), sum(map(len, texts))), header, *texts))


def _values(record: Document | Problem) -> Any:
    if isinstance(record, Document):
        return _document_values(record)
    facts = {field.name: getattr(record, field.name) for field in fields(record)}
    return facts | {"reason": as_plain(record.reason)}


def _document(values: list[Any], text: str) -> Document:
    facts = dict(zip(_DOCUMENT_FIELDS, values, strict=True))
    sections = facts["sections"]
    return Document(
        **facts
        | {
            "text": text,
            "labels": tuple(facts["labels"]),
            "sections": tuple(Section(*each) for each in sections) if sections else (),
        }
    )
