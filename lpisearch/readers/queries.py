"""Files of queries: JSON Lines, lines of `id<TAB>text`, or TREC topics; also gzipped."""

from __future__ import annotations

import json
import zlib
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

from lpisearch.errors import LpiSearchError
from lpisearch.readers.base import SourceFile
from lpisearch.readers.elements import decode_element
from lpisearch.readers.trec_topics import are_topics, topics
from lpisearch.wording import system_reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ID_NAMES = ("id", "_id", "query_id", "qid")
_TEXT_NAMES = ("text", "query", "title")


class QueriesUnreadable(LpiSearchError):
    """A file of queries cannot be read, or one of its lines is no query."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: {reason}.",
            'write one query per line: {"id": "1", "text": "…"} or id<TAB>text',
        )


def read_queries(path: Path) -> list[tuple[str, str]]:
    """Return the queries of a file as (id, text), in its order.

    Raises
    ------
    QueriesUnreadable
        With the number of the line.
    """
    try:
        queries = list(_queries(path))
    except OSError as error:
        raise QueriesUnreadable(path, system_reason(error)) from error
    except (EOFError, zlib.error) as error:
        raise QueriesUnreadable(path, f"it is damaged ({error})") from error
    except UnicodeDecodeError as error:
        raise QueriesUnreadable(path, str(error)) from error
    if not queries:
        raise QueriesUnreadable(path, "it contains no queries")
    known: set[str] = set()
    for name, _ in queries:
        if name in known:
            raise QueriesUnreadable(path, f"the query “{name}” occurs twice")
        known.add(name)
    return queries


def _queries(path: Path) -> Iterator[tuple[str, str]]:
    with SourceFile.at(path).open() as stream:
        lines = chain([first := next(_not_blank(stream), b"")], stream)
        if are_topics(first):
            yield from _topics(path, b"".join(lines))
            return
    with SourceFile.at(path).open() as stream:
        for number, data in enumerate(stream, start=1):
            line = data.decode("utf-8-sig").strip("\r\n")
            if line.strip():
                yield _query(path, number, line)


def _not_blank(stream: BinaryIO) -> Iterator[bytes]:
    return (line for line in stream if line.strip(b"\xef\xbb\xbf \t\r\n"))


def _topics(path: Path, data: bytes) -> Iterator[tuple[str, str]]:
    for number, (name, text) in enumerate(topics(decode_element(data)), start=1):
        if not name or not text:
            raise QueriesUnreadable(path, f"topic {number} lacks a number or a title")
        yield name, text


def _query(path: Path, number: int, line: str) -> tuple[str, str]:
    if not line.lstrip().startswith("{"):
        name, tab, text = line.partition("\t")
        if not tab or not name.strip():
            raise QueriesUnreadable(path, f"line {number} has no tab between id and text")
        return name.strip(), text.strip()
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise QueriesUnreadable(path, f"line {number} is not valid JSON ({error})") from error
    except RecursionError as error:
        raise QueriesUnreadable(path, f"line {number} is JSON nested too deeply") from error
    stated = next((fields[key] for key in _ID_NAMES if key in fields), None)
    asked = next((fields[key] for key in _TEXT_NAMES if key in fields), None)
    if stated in (None, "") or not isinstance(asked, str):
        raise QueriesUnreadable(path, f"line {number} lacks an id or a text")
    return str(stated), asked
