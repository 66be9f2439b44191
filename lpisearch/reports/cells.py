"""Format one table cell, depending on its column name."""

from __future__ import annotations

import math
import re
from numbers import Integral, Real
from typing import TYPE_CHECKING, TypeGuard

from lpisearch.wording import printable

if TYPE_CHECKING:
    from lpisearch.records import Table

SPREAD = "_sd"
"""What the name of a column ends with that says how far another one spreads."""
_MEASURES = frozenset(
    {"ac", "accuracy", "ap", "auc", "bpref", "f1", "map", "mrr", "ndcg", "nmi", "precision"}
    | {"purity", "recall", "rprec", "rr"}
)
# They turn a measure into something of which more is not better, though it is still a share.
_QUALIFIERS = frozenset(
    {"ci", "delta", "diff", "difference", "error", "gain", "high", "loss", "low", "paper"}
    | {"sd", "se", "spread", "std"}
)
_AT_A_DEPTH = re.compile(r"[PRS]@\d+")  # P alone is a significance, P@10 a precision
_WORD = re.compile(r"[a-z]+\d?")
_PROBABILITIES = frozenset({"p", "p_holm"})
_LEAST_FIXED = 1e-4  # below it a time is written with an exponent
_LEAST_WHOLE = 1000


def shown(name: str, value: object) -> str:
    """Give a cell as people read it.

    Parameters
    ----------
    name
        Of its column, which says whether it is a share, a time or another number.
    value
        What is nothing is shown as nothing, what is not a number as a dash.

    Examples
    --------
    >>> from lpisearch.reports import shown
    >>> shown("accuracy", 0.86712), shown("fit_s", 12.3456), shown("documents", 18846)
    ('0.8671', '12.3', '18846')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return _shown_number(name, float(value))
    return printable(str(value))


def is_time(name: str) -> bool:
    """Say whether a column holds seconds."""
    return name.lower() in {"s", "seconds", "time"} or name.endswith(("_s", "_seconds", " s"))


def is_share(name: str) -> bool:
    """Say whether a column holds a measure between 0 and 1, or how far it spreads."""
    words = _WORD.findall(name.lower())
    return bool(_AT_A_DEPTH.search(name)) or not _MEASURES.isdisjoint(words)


def more_is_better(name: str) -> bool:
    """Say whether the largest value of a column is the best one."""
    words = _WORD.findall(name.lower())
    return is_share(name) and not is_time(name) and _QUALIFIERS.isdisjoint(words)


def is_number(value: object) -> TypeGuard[float]:
    """Say whether a cell is a number: yes and no are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_numeric(table: Table, column: str) -> bool:
    """Say whether all cells of a column that hold anything hold a number."""
    cells = [row[column] for row in table.rows if row.get(column) is not None]
    return bool(cells) and all(map(is_number, cells))


def _shown_number(name: str, number: float) -> str:
    if not math.isfinite(number):
        return "–" if math.isnan(number) else str(number)
    if is_time(name):
        return _significant(number, 3)
    if name in _PROBABILITIES:
        return f"{number:.4f}" if number >= _LEAST_FIXED or number == 0 else f"<{_LEAST_FIXED:.4f}"
    if is_share(name) and abs(number) <= 1:
        return f"{number:.4f}"
    return f"{number:.4g}" if abs(number) < _LEAST_WHOLE else f"{number:.0f}"


def _significant(number: float, digits: int) -> str:
    if number == 0:
        return "0"
    if abs(number) < _LEAST_FIXED:
        return f"{number:.{digits - 1}e}"
    rounded = float(f"{number:.{digits - 1}e}")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{decimals}f}" if decimals > 0 else f"{number:.0f}"
