"""All papers, and the tables by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.papers import lpfl_2012, lpp_2005, olpi_2005, rlpi_2007, spg_2008

if TYPE_CHECKING:
    from collections.abc import Sequence

PAPERS = (
    rlpi_2007.PAPER,
    lpp_2005.PAPER,
    olpi_2005.PAPER,
    lpfl_2012.PAPER,
    spg_2008.PAPER,
)
EVERY = "all"


def chosen(names: Sequence[str]) -> list[str]:
    """Return the tables that are asked for."""
    known = [table.name for paper in PAPERS for table in paper.tables]
    unknown = [name for name in names if name not in (*known, EVERY)]
    if unknown:
        raise SystemExit(f"There is no table {', '.join(unknown)}. There are: {', '.join(known)}.")
    return known if not names or EVERY in names else [name for name in known if name in names]
