"""Files of judgements (qrels): which documents answer which query, and how well."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from lpisearch.errors import LpiSearchError
from lpisearch.readers.base import SourceFile
from lpisearch.wording import printable, system_reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Judgements = dict[str, dict[str, int]]
_TREC_COLUMNS, _PLAIN_COLUMNS = 4, 3


class JudgementsUnreadable(LpiSearchError):
    """A file of judgements cannot be read, or one of its lines is none."""

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
    there are none, by spaces; a first line that names its columns is passed over.

    Raises
    ------
    JudgementsUnreadable
        With the number of the line.
    """
    found: Judgements = {}
    try:
        for number, query, document, grade in _lines(path):
            own = found.setdefault(query, {})
            if own.setdefault(document, grade) != grade:
                raise JudgementsUnreadable(
                    path,
                    f"line {number} gives “{document}” a second, different grade for “{query}”",
                )
    except OSError as error:
        raise JudgementsUnreadable(path, system_reason(error)) from error
    except (EOFError, zlib.error) as error:
        raise JudgementsUnreadable(path, f"it is damaged ({error})") from error
    if not found:
        raise JudgementsUnreadable(path, "it contains no judgements")
    return found


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
