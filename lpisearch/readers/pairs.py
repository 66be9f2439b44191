"""Files of pairs: documents that belong together, and documents that do not."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, TypeAlias

from lpisearch.errors import LpiSearchError
from lpisearch.readers.base import SourceFile
from lpisearch.wording import printable, system_reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Pair: TypeAlias = tuple[str, str, str]

KINDS = ("must", "cannot")
_COLUMNS = 3


class PairsUnreadable(LpiSearchError):
    """A file of pairs cannot be read, or one of its lines is none."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: {printable(reason)}.",
            "write one pair per line: must ID ID or cannot ID ID, separated by tabs",
        )


def read_pairs(path: Path) -> tuple[Pair, ...]:
    """Return the pairs of a file: “must” or “cannot”, and the ids of two documents.

    Columns are separated by tabs or, in a line without any, by spaces. Empty lines and lines that
    begin with # are passed over.

    Raises
    ------
    PairsUnreadable
        With the number of the line.
    """
    try:
        found = tuple(_lines(path))
    except OSError as error:
        raise PairsUnreadable(path, system_reason(error)) from error
    except (EOFError, zlib.error) as error:
        raise PairsUnreadable(path, f"it is damaged ({error})") from error
    if not found:
        raise PairsUnreadable(path, "it contains no pairs")
    return tuple(dict.fromkeys(found))


def _lines(path: Path) -> Iterator[Pair]:
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
