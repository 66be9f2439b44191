"""Values as printed in the papers, from text files: a line per row, separated by tabs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent / "values"
AVERAGE = "average"
_NOTHING = ("", "—*")


class Value(NamedTuple):
    """A number, how far the draws spread about it (None for a single one), and how many."""

    mean: float
    spread: float | None = None
    draws: int = 0


@dataclass(frozen=True, slots=True)
class Published:
    """One table of a paper."""

    corner: str  # the name of the first column
    rows: tuple[str, ...]  # rows, columns: their names, in the order of the paper
    columns: tuple[str, ...]
    # what is printed; a cell that the paper leaves out is not here
    cells: Mapping[tuple[str, str], Value]

    @classmethod
    def read(cls, name: str, *, scale: float = 1.0) -> Published:
        """Read a file of values; `scale` = 100 turns shares into per cent."""
        text = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8")
        head, *lines = [line.split("\t") for line in text.splitlines()]
        cells = {
            (line[0], column): _value(cell, scale)
            for line in lines
            for column, cell in zip(head[1:], line[1:], strict=True)
            if cell not in _NOTHING
        }
        return cls(head[0], tuple(line[0] for line in lines), tuple(head[1:]), cells)


def _value(cell: str, scale: float) -> Value:
    mean, _, spread = cell.partition("±")
    return Value(scale * float(mean), scale * float(spread) if spread else None)
