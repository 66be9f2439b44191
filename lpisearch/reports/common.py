"""Move values common to all rows into the table title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.reports.cells import SPREAD, shown

if TYPE_CHECKING:
    from lpisearch.records import Cell, Table

# They hold for the whole run: not shown in each row where all rows agree in them. Most are said
# beside the title; the others are in it.
_CIRCUMSTANCES = (
    "train",
    "classes",
    "documents",
    "pairs",
    "subsets",
    "queries",
    "repeats",
    "draws",
)
_IN_THE_TITLE = frozenset({"train", "queries", "repeats"})


def full_title(table: Table) -> str:
    """Return the title, with what is the same in all rows."""
    common = _in_common(table)
    beside = [name for name in common if name not in _IN_THE_TITLE]
    said = ", ".join(f"{name} {shown(name, common[name])}" for name in beside)
    return table.title + (f" ({said})" if said else "")


def own_columns(table: Table) -> list[str]:
    """Return the columns that have something to say row by row, without those of spreads."""
    common = _in_common(table)
    return [
        name
        for name in table.columns
        if not (name.endswith(SPREAD) and name.removesuffix(SPREAD) in table.columns)
        and name not in common
        and any(row.get(name) is not None for row in table.rows)
    ]


def _in_common(table: Table) -> dict[str, Cell]:
    found = {}
    for name in _CIRCUMSTANCES:
        values = {row.get(name) for row in table.rows}
        if len(values) == 1 and name in table.columns and None not in values:
            found[name] = values.pop()
    return found
