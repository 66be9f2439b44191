"""Files of judgements (qrels): which documents answer which query, and how well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import LpiSearchError
from lpisearch.readers.base import SourceFile
from lpisearch.workflows.discovery import system_reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Judgements = dict[str, dict[str, int]]
_TREC_COLUMNS, _PLAIN_COLUMNS = 4, 3


class JudgementsUnreadable(LpiSearchError):
    """A file of judgements cannot be read, or one of its lines is none."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: {reason}.",
            "write one judgement a line, as query 0 document grade, with a whole number as grade",
        )


def read_judgements(path: Path) -> Judgements:
    """Return the grade of each judged document, by query.

    A line is `query 0 document grade` (TREC) or `query document grade`, parted by tabs or, if
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
                    path, f"line {number} gives “{document}” another grade for “{query}”"
                )
    except OSError as error:
        raise JudgementsUnreadable(path, system_reason(error)) from error
    except (EOFError, UnicodeDecodeError) as error:
        raise JudgementsUnreadable(path, str(error)) from error
    if not found:
        raise JudgementsUnreadable(path, "it has no judgements")
    return found


def _lines(path: Path) -> Iterator[tuple[int, str, str, int]]:
    with SourceFile.at(path).open() as stream:
        for number, data in enumerate(stream, start=1):
            line = data.decode("utf-8-sig").strip("\r\n")
            if not line.strip():
                continue
            parts = line.split("\t") if "\t" in line else line.split()
            if len(parts) not in {_TREC_COLUMNS, _PLAIN_COLUMNS}:
                raise JudgementsUnreadable(
                    path, f"line {number} has {len(parts)} columns, not 3 or 4"
                )
            query, document, grade = parts[0].strip(), parts[-2].strip(), parts[-1].strip()
            try:
                yield number, query, document, int(grade)
            except ValueError as error:
                if number == 1:
                    continue  # the names of the columns
                raise JudgementsUnreadable(
                    path, f"line {number}: “{grade}” is not a whole number"
                ) from error
