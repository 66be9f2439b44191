"""Print evaluation tables: as plain lines in a pipe, formatted on a terminal."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from lpisearch.cli.render import print_table, say
from lpisearch.reports.cells import SPREAD
from lpisearch.reports.common import full_title, own_columns
from lpisearch.reports.widths import padded, width_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.records import Cell, Table

_GAP = 2
# What goes first where a terminal is too narrow.
_LESS = ("alpha", "found_dims", "cluster_s", "fit_s", "predict_s", "dims")


def print_report_table(table: Table, *, is_terminal: bool) -> None:
    """Print rows; on a terminal a spread (…_sd) stands beside what it is the spread of."""
    if not is_terminal:
        _print_lines(table)
        return
    if not table.rows:
        return
    say(full_title(table))
    width = shutil.get_terminal_size().columns
    columns = own_columns(table)
    left_out = []
    for name in (None, *(name for name in _LESS if name in columns)):
        left_out += [] if name is None else [name]
        kept = [column for column in columns if column not in left_out]
        heads, rows = _heads_and_rows(table, kept, width)
        if _width(heads, rows) <= width:
            _print_table(table, kept, heads, rows)
            if left_out:
                say(f"(hidden to fit {width} columns: {', '.join(left_out)}; --csv shows all)")
            return
    _print_blocks(columns, _rows(table, columns))


def _rows(table: Table, columns: Sequence[str]) -> list[list[str]]:
    return [[_with_spread(row, name) for name in columns] for row in table.rows]


def _print_table(
    table: Table, columns: Sequence[str], heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    from lpisearch.reports.cells import is_numeric

    numeric = [head for head, name in zip(heads, columns, strict=True) if is_numeric(table, name)]
    print_table(heads, rows, numeric=numeric)


def _print_lines(table: Table) -> None:
    from lpisearch.records import plain

    cells = [[plain(row.get(name)) for name in table.columns] for row in table.rows]
    print_table(table.columns, [["" if one is None else one for one in row] for row in cells])


def _print_blocks(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print each row over several lines, where a terminal is too narrow for a table."""
    wide = max(map(len, columns)) + _GAP
    for number, row in enumerate(rows):
        if number:
            say()
        for name, cell in zip(columns, row, strict=True):
            if cell:
                say(padded(name, wide) + cell)


def _heads_and_rows(
    table: Table, columns: Sequence[str], width: int
) -> tuple[list[str], list[list[str]]]:
    """Return the names of columns, over two lines where a table would be too wide, and cells."""
    rows = _rows(table, columns)
    if _width(columns, rows) <= width:
        return list(columns), rows
    wide = [max(map(width_of, cells)) for cells in zip(*rows, strict=True)]
    heads = [
        name if len(name) <= room else name.replace("_", "\n", 1)
        for name, room in zip(columns, wide, strict=True)
    ]
    return heads, rows


def _width(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    columns = zip(heads, *rows, strict=True)
    wide = [
        max(width_of(line) for cell in column for line in cell.split("\n")) for column in columns
    ]
    return sum(wide) + _GAP * (len(wide) - 1)


def _with_spread(row: Mapping[str, Cell], name: str) -> str:
    said, spread = _text(name, row.get(name)), row.get(name + SPREAD)
    return said if spread is None else f"{said} ± {_text(name, spread)}"


def _text(name: str, value: Cell) -> str:
    from lpisearch.reports import shown

    return shown(name, value)
