"""Queries, relevance judgements and known pairs."""

from __future__ import annotations

import json
import re
import zlib
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeAlias

from lpisearch.errors import LpiSearchError
from lpisearch.messages import printable, system_reason
from lpisearch.readers.base import SourceFile
from lpisearch.readers.encoding import unescape
from lpisearch.readers.trec import decode_element, is_collection, judgements_of, queries_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


Judgements = dict[str, dict[str, int]]
_TREC_COLUMNS, _PLAIN_COLUMNS = 4, 3


class _Unreadable(Protocol):
    """The class of an error: made of a path and a reason."""

    def __call__(self, path: Path, reason: str, /) -> LpiSearchError: ...


@contextmanager
def _stated_errors(path: Path, unreadable: _Unreadable) -> Iterator[None]:
    """Turn errors of the system and of damaged gzip data into one of the errors below."""
    try:
        yield
    except OSError as error:
        raise unreadable(path, system_reason(error)) from error
    except (EOFError, zlib.error) as error:
        raise unreadable(path, f"it is damaged ({error})") from error


class JudgementsUnreadable(LpiSearchError):
    """A file of judgements, or one of its lines, cannot be read."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: {printable(reason)}.",
            "write one judgement per line: query 0 document grade, where grade is a whole "
            "number; if ids contain spaces, separate columns with tabs or write %20 for each "
            "space",
        )


def read_judgements(path: Path) -> Judgements:
    """Return the grade of each judged document, by query.

    A line is `query 0 document grade` (TREC) or `query document grade`, separated by tabs or, if
    there are none, by spaces; a first line of column names is skipped. `irds:NAME` reads those of a
    collection of ir_datasets.
    """
    judgements: Judgements = {}
    collected = ((at, *one) for at, one in enumerate(judgements_of(str(path)), 1))
    with _stated_errors(path, JudgementsUnreadable):
        for number, query, document, grade in (
            collected if is_collection(str(path)) else _lines(path)
        ):
            if judgements.setdefault(query, {}).setdefault(document, grade) != grade:
                raise JudgementsUnreadable(
                    path,
                    f"line {number} gives “{document}” a second, different grade for “{query}”",
                )
    if not judgements:
        raise JudgementsUnreadable(path, "it contains no judgements")
    return judgements


def _lines(path: Path) -> Iterator[tuple[int, str, str, int]]:
    columns = 0
    with SourceFile.at(path).open() as stream:
        for number, data in enumerate(stream, start=1):
            line = _decoded(path, number, data)
            if not line.strip():
                continue
            parts = line.split("\t") if "\t" in line else line.split()
            if len(parts) not in {_TREC_COLUMNS, _PLAIN_COLUMNS}:
                raise JudgementsUnreadable(
                    path, f"line {number} has {len(parts)} columns, not 3 or 4"
                )
            query, document, grade = parts[0].strip(), parts[-2].strip(), parts[-1].strip()
            if not columns and not _is_whole(grade):
                columns = len(parts)  # the names of the columns
                continue
            columns = columns or len(parts)
            if len(parts) != columns:  # a line that was cut short must not pass for another
                raise JudgementsUnreadable(
                    path,
                    f"line {number} has {len(parts)} columns, but the first line has {columns}",
                )
            if not _is_whole(grade):
                raise JudgementsUnreadable(path, f"line {number}: “{grade}” is not a whole number")
            yield number, query, document, int(grade)


_OF_TREC = re.compile(rb"[^\t\n]+\t(?:Q?0)\t[^\t\n]+\t-?\d{1,9}|\S+ +Q?0 +\S+ +-?\d{1,9}")
_OF_RUN = re.compile(rb"(?:\S+[ \t]+)Q0[ \t]+\S+[ \t]+\d{1,9}[ \t]+-?[\d.eE+-]+[ \t]+\S+")
_OF_BEIR = re.compile(rb"query-id\tcorpus-id\tscore|[^\t\n]+\t[^\t\n]+\t-?\d{1,9}")
_FEWEST_LINES = 2


def is_of_evaluation(head: bytes) -> bool:
    """Tell whether a file has the lines of judgements or of a run, which are no documents.

    That is, each line in the beginning of the file: query, 0 or Q0, document, grade; or the six
    columns of a run of TREC. Judgements of BEIR begin with the names of their columns.
    """
    lines = head.replace(b"\r\n", b"\n").split(b"\n")[:-1]
    return len(lines) >= _FEWEST_LINES and (
        all(_OF_TREC.fullmatch(line) for line in lines)
        or all(_OF_RUN.fullmatch(line) for line in lines)
        or (head.startswith(b"query-id\t") and all(_OF_BEIR.fullmatch(line) for line in lines))
    )


def _decoded(path: Path, number: int, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig").strip("\r\n")
    except UnicodeDecodeError as error:
        raise JudgementsUnreadable(path, f"line {number} is not UTF-8") from error


def _is_whole(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


_ID_NAMES = ("id", "_id", "query_id", "qid")
_TEXT_NAMES = ("text", "query", "title")


class QueriesUnreadable(LpiSearchError):
    """A file of queries, or one of its lines, cannot be read."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: {reason}.",
            'write one query per line: {"id": "1", "text": "…"} or id<TAB>text',
        )


def read_queries(path: Path) -> list[tuple[str, str]]:
    """Return the queries of a file, or of a collection `irds:NAME`, as (id, text), in order."""
    try:
        with _stated_errors(path, QueriesUnreadable):
            queries = list(queries_of(str(path)) if is_collection(str(path)) else _queries(path))
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
    question = next((fields[key] for key in _TEXT_NAMES if key in fields), None)
    if stated in (None, "") or not isinstance(question, str):
        raise QueriesUnreadable(path, f"line {number} lacks an id or a text")
    return str(stated), question


_FIELD = re.compile(
    r"<(num|title|desc|narr|dom|head|smry|con|fac|def|query|question)>", re.IGNORECASE
)
_PREFIX = re.compile(r"\s{0,9}(?:Number|Topic|Description)\s{0,9}:", re.IGNORECASE)
_QUERY_FIELDS = ("title", "query", "question", "desc")


def are_topics(line: bytes) -> bool:
    """Tell from its first line whether a file contains TREC topics."""
    return line.lstrip(b"\xef\xbb\xbf \t")[:5].lower() == b"<top>"


def topics(text: str) -> list[tuple[str, str]]:
    """Return number and query of each topic, "" where missing."""
    parts = re.split(r"<top>", text, flags=re.IGNORECASE)[1:]
    return [_topic(part) for part in parts]


def _topic(part: str) -> tuple[str, str]:
    _, *pieces = _FIELD.split(part)
    fields: dict[str, str] = {}
    # The pattern's group puts names and contents in turn.
    for name, content in zip(pieces[::2], pieces[1::2], strict=True):
        end = content.find("</")
        stated = _PREFIX.sub("", content if end < 0 else content[:end], count=1)
        fields.setdefault(name.lower(), " ".join(unescape(stated).split()))
    query = next((fields[name] for name in _QUERY_FIELDS if fields.get(name)), "")
    return fields.get("num", ""), query


Pair: TypeAlias = tuple[str, str, str]

KINDS = ("must", "cannot")
_COLUMNS = 3


class PairsUnreadable(LpiSearchError):
    """A file of pairs, or one of its lines, cannot be read."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: {printable(reason)}.",
            "write one pair per line: must ID ID or cannot ID ID, separated by tabs",
        )


def read_pairs(path: Path) -> tuple[Pair, ...]:
    """Return the pairs of a file: “must” or “cannot”, and the ids of two documents.

    Columns are separated by tabs or, in a line without any, by spaces. Empty lines and lines that
    begin with # are skipped.
    """
    with _stated_errors(path, PairsUnreadable):
        pairs = tuple(dict.fromkeys(_pairs_lines(path)))
    if not pairs:
        raise PairsUnreadable(path, "it contains no pairs")
    return pairs


def _pairs_lines(path: Path) -> Iterator[Pair]:
    with SourceFile.at(path).open() as stream:
        for number, data in enumerate(stream, start=1):
            try:
                line = data.decode("utf-8-sig").strip()
            except UnicodeDecodeError as error:
                raise PairsUnreadable(path, f"line {number} is not UTF-8") from error
            if line and not line.startswith("#"):
                yield _pair(path, number, line)


def _pair(path: Path, number: int, line: str) -> Pair:
    parts = [part.strip() for part in (line.split("\t") if "\t" in line else line.split())]
    if len(parts) != _COLUMNS or not all(parts):
        raise PairsUnreadable(path, f"line {number} has {len(parts)} columns, not {_COLUMNS}")
    kind, first, second = parts
    if kind not in KINDS:
        raise PairsUnreadable(path, f"line {number}: expected must or cannot, not “{kind}”")
    if first == second:
        raise PairsUnreadable(path, f"line {number} names “{first}” twice")
    return kind, first, second
