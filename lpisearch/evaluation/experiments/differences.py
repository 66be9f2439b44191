"""Significance tests between the rows of a table.

Each row has a value for each of the same units: queries, documents, or draws. Each two rows of a
group are compared by the paired randomisation test over these, and p-values are corrected for all
pairs of the group by Holm's rule; so it does not matter that the best row was chosen by looking.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any

from lpisearch.records import Table
from lpisearch.wording import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lpisearch.records import Cell

    Row = Mapping[str, Cell]

SIGNIFICANCE = "significance"
CLEAR = 0.05
Values = Mapping[Any, float]


@dataclass(frozen=True, eq=False, slots=True)
class Measured:
    """What is compared.

    Attributes
    ----------
    measure
        Of which the values are.
    unit
        What has a value: "query", "document", "draw".
    values
        Of each row of the table, by unit; None for a row that is not compared.
    """

    measure: str
    unit: str
    values: Sequence[Values | None]


def with_differences(
    table: Table,
    measured: Measured,
    name: Callable[[Row], str],
    seed: int,
    group: Callable[[Row], Cell] = lambda _row: None,
) -> list[Table]:
    """Return a table with the p of each row against the best, and a table of all pairs.

    Parameters
    ----------
    name
        What a row is called.
    group
        Only rows of the same group are compared. The column is empty for the best of each.
    """
    groups: dict[Cell, dict[int, Values]] = {}
    for at, (row, values) in enumerate(zip(table.rows, measured.values, strict=True)):
        if values:
            groups.setdefault(group(row), {})[at] = values
    corrected: dict[int, float] = {}
    pairs: list[dict[str, Cell]] = []
    for said, own in groups.items():
        found, against_best = _compared(own, seed)
        corrected |= against_best
        named = {at: name(table.rows[at]) for at in own}
        beside: dict[str, Cell] = {"at": said} if len(groups) > 1 else {}
        pairs += [
            beside | {"first": named[first], "second": named[second]} | cells
            for (first, second), cells in found.items()
        ]
    if not pairs:
        return [table]
    rows = tuple(
        _beside(measured.measure, row, corrected.get(at)) for at, row in enumerate(table.rows)
    )
    by_unit = f"{measured.unit} by {measured.unit}"
    what = f"{table.name.capitalize()}, {measured.measure}"
    title = f"{what}: first minus second, {by_unit}"
    method = "(paired randomisation test; p_holm: corrected for all pairs)"
    notes = _in_words(table, measured, groups, corrected, name)
    every = Table(SIGNIFICANCE, f"{title} {method}", tuple(pairs), tuple(notes))
    return [replace(table, rows=rows), every]


def _beside(measure: str, row: Row, p: float | None) -> dict[str, Cell]:
    """Put p directly behind the measure that it is of, and how far that spreads."""
    found: dict[str, Cell] = {}
    for name, cell in row.items():
        if name not in {f"{measure}_sd", measure} and measure in found:
            found.setdefault("p", p)
        found[name] = cell
    return found | {"p": p}


def _compared(
    own: Mapping[int, Values], seed: int
) -> tuple[dict[tuple[int, int], dict[str, Cell]], dict[int, float]]:
    """Compare each two rows; return that, and the corrected p of each against the best."""
    from lpisearch.evaluation import holm, paired_test

    best = max(own, key=lambda at: fmean(own[at].values()))
    tests = {
        (first, second): paired_test(own[first], own[second], random_state=seed)
        for first, second in combinations(own, 2)
    }
    adjusted = dict(zip(tests, holm([test.p_value for test in tests.values()]), strict=True))
    found: dict[tuple[int, int], dict[str, Cell]] = {
        pair: {
            "difference": test.difference,
            "low": test.low,
            "high": test.high,
            "p": test.p_value,
            "p_holm": adjusted[pair],
        }
        for pair, test in tests.items()
    }
    others = (at for at in own if at != best)
    return found, {at: adjusted[min(at, best), max(at, best)] for at in others}


def _in_words(
    table: Table,
    measured: Measured,
    groups: Mapping[Cell, Mapping[int, Values]],
    corrected: Mapping[int, float],
    name: Callable[[Row], str],
) -> list[str]:
    """Say which rows the best one is not clearly better than, where there is one group."""
    if len(groups) > 1:
        return [
            (
                f"p: p-value of the difference in {measured.measure} from the best row of "
                "the same kind."
            )
        ]
    (own,) = groups.values()
    best = next(at for at in own if at not in corrected)
    alike = [name(table.rows[at]) for at in own if corrected.get(at, 0) >= CLEAR]
    worse = f"but not significantly better than {quoted(alike)}" if alike else "significantly so"
    pairs = counted(len(own) * (len(own) - 1) // 2, "pair")
    test = f"paired randomisation test by {measured.unit}, Holm's correction for {pairs}"
    said = f"{table.name} {measured.measure}: “{name(table.rows[best])}” is best, {worse}"
    return [f"{said} ({test}, {CLEAR:.0%})."]
