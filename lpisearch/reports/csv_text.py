"""Tables as comma-separated values, for spreadsheets and pandas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lpisearch.records import plain
from lpisearch.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lpisearch.records import Cell, Table

_NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$')
# The wide ones are formulas too, to a spreadsheet in Chinese, Japanese or Korean.
_STARTS_A_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def as_csv(tables: Sequence[Table]) -> str:
    """Give tables as one CSV text with one header line.

    Several tables lie below each other, with a first column `table` that names the one a row
    is of, and all their columns. Numbers are in full precision; nothing is an empty cell.

    A text that starts with = + - @ would be run as a formula by a spreadsheet: it gets an
    apostrophe in front, which marks it as text. Numbers stay as they are, signs included. Signs
    that cannot be seen are shown as `printable` shows them; JSON has every text as it is.

    Examples
    --------
    >>> from lpisearch.records import Table
    >>> from lpisearch.reports import as_csv
    >>> print(as_csv([Table("classify", "", ({"label": "=1+1", "AP": 0.25, "sd": None},))]))
    label,AP,sd
    '=1+1,0.25,
    <BLANKLINE>
    """
    columns = tuple(dict.fromkeys(name for table in tables for name in table.columns))
    if not columns:
        return ""
    rows = [[row.get(name) for name in columns] for table in tables for row in table.rows]
    header: list[Cell] = list(columns)
    if len(tables) > 1:
        names = [table.name for table in tables for _ in table.rows]
        header = ["table", *header]
        rows = [[name, *row] for name, row in zip(names, rows, strict=True)]
    return "".join(csv_line(cells) for cells in (header, *rows))


def csv_line(cells: Iterable[Cell]) -> str:
    """Give one line of comma-separated values, with its end; cells are written as `as_csv` does."""
    # csv.writer leaves a lone \r without quotes when lines end with \n, and cannot read it back.
    # A line of one empty cell would be taken for no line at all.
    return (",".join(map(_field, cells)) or '""') + "\n"


def _field(cell: Cell) -> str:
    value = plain(cell)
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(value)
    text = printable(value, lines=True)
    if _is_formula(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def _is_formula(text: str) -> bool:
    if text.startswith("\t"):  # a spreadsheet may pass over it
        return True
    begun = text.lstrip()
    return begun.startswith(_STARTS_A_FORMULA) and not _NUMBER.fullmatch(begun)
