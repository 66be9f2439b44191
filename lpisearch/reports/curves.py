"""Lines, bands and baselines on the axes of matplotlib. Imported only where it is installed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.reports.axes import BAND, COLOURS, floats, label_axes, place_legend
from lpisearch.reports.ticks import place_ticks

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from lpisearch.records import Figure, Series

_MOST_BANDS = 6
"""More bands than that would hide each other and the lines; the tables have the spreads."""
_DASHES: tuple[Any, ...] = ("-", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
_BASELINE_DASHES: tuple[Any, ...] = ((0, (6, 3)), (0, (2, 2)), (0, (10, 3)), (0, (4, 2, 1, 2)))


def draw_curves(figure: Figure, canvas: Canvas, *, titled: bool) -> None:
    """Draw a figure: a line with markers for each series, its spread as a light band."""
    axes = canvas.add_subplot()
    baselines = figure.baselines
    names, handles = [], []
    banded = len(figure.series) <= _MOST_BANDS
    for at, series in enumerate(figure.series if banded else map(_without_spread, figure.series)):
        y = floats(series.y)
        if not np.isfinite(y).any():
            continue
        look: dict[str, Any] = {"color": COLOURS[at % len(COLOURS)]}
        if figure.series[at] in baselines:
            dashes = _BASELINE_DASHES[baselines.index(figure.series[at]) % len(_BASELINE_DASHES)]
            handles.append(_baseline(axes, series, dashes, look))
        else:
            handles.append(_line(axes, series, at, look))
        names.append(series.name)
    label_axes(figure, axes, titled=titled)
    curves = [series for series in figure.series if series not in baselines]
    place_ticks(axes, curves, log=figure.log_x)
    place_legend(canvas, axes, handles, names)


def _line(axes: Axes, series: Series, at: int, look: dict[str, Any]) -> Artist:
    x, y = floats(series.x), floats(series.y)
    if series.spread is not None:
        spread = floats(series.spread)
        if len(x) > 1:
            axes.fill_between(x, y - spread, y + spread, alpha=BAND, linewidth=0, **look)
        else:  # a band needs two points
            axes.errorbar(x, y, spread, capsize=3, linestyle="none", **look)
    dashes, marker = _DASHES[at % len(_DASHES)], _MARKERS[at % len(_MARKERS)]
    (line,) = axes.plot(x, y, linestyle=dashes, marker=marker, **look)
    return line


def _without_spread(series: Series) -> Series:
    return replace(series, spread=None)


def _baseline(axes: Axes, series: Series, dashes: Any, look: dict[str, Any]) -> Artist:
    (y,) = series.y
    if series.spread is not None:
        (spread,) = series.spread
        axes.axhspan(y - spread, y + spread, alpha=BAND / 2, linewidth=0, **look)
    return axes.axhline(y, linestyle=dashes, linewidth=1.3, **look)
