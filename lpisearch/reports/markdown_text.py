"""Tables as GitHub shows them, and as they can be read without it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lpisearch.reports.cells import is_numeric, shown
from lpisearch.reports.widths import padded, width_of
from lpisearch.wording import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.records import Table

# An underscore within a word, as in macro_f1, is only an underscore.
_MARKS = re.compile(r"[\\`*\[\]<>|&~$]|(?<!\w)_|_(?!\w)")
_LEAST_WIDTH = 3


def as_markdown(tables: Sequence[Table]) -> str:
    r"""Give tables as Markdown, each under its title, its notes below it.

    Numbers are rounded as `shown` does; marks of Markdown in a text are escaped.

    Examples
    --------
    >>> from lpisearch.records import Table
    >>> from lpisearch.reports import as_markdown
    >>> rows = {"label": "sea|sky", "accuracy": 0.86712}, {"label": "music", "accuracy": 0.9}
    >>> print(as_markdown([Table("classify", "By label", rows, ("2 left out",))]))
    ## By label
    <BLANKLINE>
    | label    | accuracy |
    | :------- | -------: |
    | sea\|sky |   0.8671 |
    | music    |   0.9000 |
    <BLANKLINE>
    - 2 left out
    <BLANKLINE>
    """
    return "\n\n".join(filter(None, map(_section, tables))) + "\n" if tables else ""


def _section(table: Table) -> str:
    notes = "\n".join(f"- {_escaped(printable(note))}" for note in table.notes)
    parts = [f"## {_escaped(printable(table.title or table.name))}", _grid(table), notes]
    return "\n\n".join(filter(None, parts))


def _grid(table: Table) -> str:
    columns = [_column(table, name) for name in table.columns]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in zip(*columns, strict=True))


def _column(table: Table, name: str) -> list[str]:
    """Give a column from its head down, each cell as wide as the widest."""
    cells = [_escaped(shown(name, row.get(name))) for row in table.rows]
    head = _escaped(printable(name))
    right = is_numeric(table, name)
    width = max(_LEAST_WIDTH, *map(width_of, (head, *cells)))
    rule = "-" * (width - 1)
    rule = f"{rule}:" if right else f":{rule}"
    return [
        rule if at == 1 else padded(cell, width, right=right)
        for at, cell in enumerate((head, "", *cells))
    ]


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\g<0>", text)
