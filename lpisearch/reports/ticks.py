"""Axis ticks at the measured values, labelled where there is room."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from lpisearch.records import Series

_MARGIN = 0.04
# Of the width of the axes, about as they are drawn: a digit, and what parts two numbers.
_DIGIT = 0.014
_GAP = 0.015


def place_ticks(axes: Axes, curves: Sequence[Series], *, log: bool) -> None:
    """Put a tick at each x of the curves; where numbers would touch, some ticks have none."""
    values = sorted({float(x) for series in curves for x in series.x if math.isfinite(x)})
    if not values:
        axes.xaxis.set_major_locator(NullLocator())
        return
    log = log and values[0] > 0  # zero has no place on a logarithmic scale
    if log:
        axes.set_xscale("log")
    numbered = with_room(values, log=log)
    axes.xaxis.set_major_locator(FixedLocator(numbered))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_locator(FixedLocator([x for x in values if x not in numbered]))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=_MARGIN)


def with_room(values: Sequence[float], *, log: bool) -> list[float]:
    """Return the values whose numbers do not touch: the first, the last, and of the rest most.

    Examples
    --------
    >>> with_room([2, 3, 5, 10, 11, 12, 100], log=True)
    [2, 3, 5, 10, 12, 100]
    """
    first, last = values[0], values[-1]
    if first == last:
        return [first]
    places = {value: math.log(value) if log else value for value in values}
    span = places[last] - places[first]

    def apart(left: float, right: float) -> bool:
        needed = _DIGIT * (len(f"{left:g}") + len(f"{right:g}")) / 2 + _GAP
        return (places[right] - places[left]) / span >= needed

    kept = [first]
    for value in values[1:-1]:
        if apart(kept[-1], value) and apart(value, last):
            kept.append(value)
    return [*kept, last]
