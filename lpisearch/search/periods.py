"""Group dates into years, months or days for a histogram."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lpisearch.records import FacetValue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_BARS = 60
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?", re.ASCII)
_LENGTHS = {"day": 10, "month": 7, "year": 4}
_MONTHS, _DAYS = 12, 31


def by_period(counts: Mapping[str, int]) -> tuple[str, tuple[FacetValue, ...]]:
    """Gather dates, such as "2024-05-31" or "2024", into bars.

    Returns
    -------
    tuple
        "day", "month" or "year", the finest by which there are at most `MOST_BARS` bars from the
        first date to the last and every date is as fine; and the bars, those without a document
        too. Where the years alone are more, those without a document are left out.
    """
    known = {date: count for date, count in counts.items() if _DATE.fullmatch(date)}
    if not known:
        return "", ()
    finest = min(len(date) for date in known)
    first, last = min(known), max(known)
    for period, length in _LENGTHS.items():
        if length > finest:
            continue
        bars = dict.fromkeys(_between(first[:length], last[:length]), 0)
        if len(bars) <= MOST_BARS or period == "year":
            for date, count in known.items():
                bars[date[:length]] = bars.get(date[:length], 0) + count
            shown = {name: n for name, n in bars.items() if n or len(bars) <= MOST_BARS}
            return period, tuple(FacetValue(name, name, n) for name, n in sorted(shown.items()))
    return "", ()  # pragma: no cover (years are always as fine)


def _between(first: str, last: str) -> Iterator[str]:
    """Yield the periods from one to another, up to one more than can be shown."""
    at = first
    for _ in range(MOST_BARS + 1):
        yield at
        if at >= last:
            return
        at = _next(at)


def _next(period: str) -> str:
    """Return the year, month or day after one; what is no day of the calendar is passed over."""
    from datetime import date, timedelta

    year, *rest = map(int, period.split("-"))
    if not rest:
        return f"{year + 1:04}"
    if len(rest) == 1:
        carry, month = divmod(rest[0], _MONTHS)
        return f"{year + carry:04}-{month + 1:02}"
    try:
        return (date(year, *rest) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return f"{year:04}-{rest[0]:02}-{rest[1] + 1:02}"
