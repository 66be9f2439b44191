"""Draw a figure as terminal bars."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lpisearch.reports.cells import shown
from lpisearch.reports.widths import padded, shortened, width_of
from lpisearch.wording import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.records import Figure, Series

_EIGHTHS = " ▏▎▍▌▋▊▉"
_LEAST_BAR = 4
# Below this share of the largest value, differences would not show in bars that start at zero.
_VISIBLE_SPAN = 0.25
_ROOM_BELOW = 0.1


def as_bars(figure: Figure, width: int = 80, *, ascii_only: bool = False) -> str:
    """Give a figure as lines of text, a block for each series.

    Parameters
    ----------
    figure
        All its bars have the same scale, which is stated below the title.
    width
        Of the terminal. No line is longer, unless the numbers alone are.
    ascii_only
        Draw with `#`, for a terminal that knows no blocks.

    Examples
    --------
    >>> from lpisearch.records import Figure, Series
    >>> from lpisearch.reports import as_bars
    >>> lines = Series("rlpi", (10, 20), (0.4, 0.8)), Series("terms", (10,), (0.6,))
    >>> print(as_bars(Figure("sweep", "By size", "dims", "AP", lines), 30, ascii_only=True))
    By size
    AP by dims, bars 0 to 0.8000
    <BLANKLINE>
    rlpi
      10  0.4000  ########
      20  0.8000  ################
    <BLANKLINE>
    terms
     all  0.6000  ############
    """
    ellipsis = "..." if ascii_only else "…"
    low, high = _range(figure)
    x_width = max((width_of(_x(figure, series, at)) for series, at in _points(figure)), default=0)
    y_width = max((width_of(_y(figure, series, at)) for series, at in _points(figure)), default=0)
    room = max(width - x_width - y_width - 5, _LEAST_BAR)
    label = f"{printable(figure.y_label)} by {printable(figure.x_label)}"
    scale = f"bars {_value(figure, low)} to {_value(figure, high)}"
    both = f"{label}, {scale}"
    head = [both] if width_of(both) <= width else [label, scale]
    lines = [shortened(line, width, ellipsis) for line in (printable(figure.title), *head)]
    for series in figure.series:
        lines += ["", shortened(printable(series.name), width, ellipsis)]
        for at, y in enumerate(series.y):
            bar = _bar(_share(y, low, high) * room, ascii_only=ascii_only)
            x = padded(_x(figure, series, at), x_width + 1, right=True)
            value = padded(_y(figure, series, at), y_width, right=True)
            lines.append(f"{x}  {value}  {bar}".rstrip())
        if not series.y:
            lines.append(" no values")
    text = "\n".join(lines)
    return text.replace("±", "+-").replace("–", "-") if ascii_only else text


def _points(figure: Figure) -> Sequence[tuple[Series, int]]:
    return [(series, at) for series in figure.series for at in range(len(series.y))]


def _x(figure: Figure, series: Series, at: int) -> str:
    return "all" if series in figure.baselines else printable(figure.said(series.x[at]))


def _y(figure: Figure, series: Series, at: int) -> str:
    value = shown(figure.y_label, series.y[at])
    if series.spread is None:
        return value
    return f"{value} ±{shown(figure.y_label, series.spread[at])}"


def _value(figure: Figure, value: float) -> str:
    return shown(figure.y_label, value) if value else "0"


def _range(figure: Figure) -> tuple[float, float]:
    """Give what an empty and a full bar stand for."""
    values = [y for series in figure.series for y in series.y if math.isfinite(y)]
    low, high = min(values, default=0.0), max(values, default=0.0)
    span = high - low
    if low >= 0 and (span >= _VISIBLE_SPAN * high or span == 0):
        return 0.0, high
    return low - _ROOM_BELOW * (span or 1.0), high  # so that the least has a bar as well


def _share(y: float, low: float, high: float) -> float:
    if not math.isfinite(y):
        return 1.0 if y == math.inf else 0.0
    return (y - low) / (high - low) if high > low else 0.0


def _bar(length: float, *, ascii_only: bool) -> str:
    if ascii_only:
        return "#" * round(length)
    whole, eighths = divmod(round(length * 8), 8)
    return "█" * whole + _EIGHTHS[eighths].strip()
