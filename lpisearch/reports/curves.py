"""Lines, bands and baselines on the axes of matplotlib. Imported only where it is installed."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from lpisearch.reports.widths import shortened, width_of
from lpisearch.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from numpy.typing import NDArray

    from lpisearch.records import Figure, Series

# Okabe and Ito (2008), told apart by colour-blind people; grey for their black, and no yellow:
# both must show on white and on dark paper.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#808080")
_DASHES: tuple[Any, ...] = ("-", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
_BASELINE_DASHES: tuple[Any, ...] = ((0, (6, 3)), (0, (2, 2)), (0, (10, 3)), (0, (4, 2, 1, 2)))
_MOST_INSIDE = 5
_WIDEST_INSIDE = 22
_LONGEST_NAME = 32
_TITLE_COLUMNS = 50
_MOST_TICKS = 9
_SIZE = (6.0, 4.0)
_BAND = 0.15
_MARGIN = 0.04


def draw_curves(figure: Figure, canvas: Canvas) -> None:
    """Draw a figure: a line with markers for each series, its spread as a light band."""
    axes = canvas.add_subplot()
    baselines = figure.baselines
    names, handles = [], []
    for at, series in enumerate(figure.series):
        y = _floats(series.y)
        if not np.isfinite(y).any():
            continue
        look: dict[str, Any] = {"color": _COLOURS[at % len(_COLOURS)]}
        if series in baselines:
            handles.append(_baseline(axes, series, baselines.index(series), look))
        else:
            handles.append(_line(axes, series, at, look))
        names.append(_legend_name(series.name))
    _label(figure, axes)
    _place_ticks(figure, axes, [series for series in figure.series if series not in baselines])
    _place_legend(canvas, axes, handles, names)


def _line(axes: Axes, series: Series, at: int, look: dict[str, Any]) -> Artist:
    x, y = _floats(series.x), _floats(series.y)
    if series.spread is not None:
        spread = _floats(series.spread)
        if len(x) > 1:
            axes.fill_between(x, y - spread, y + spread, alpha=_BAND, linewidth=0, **look)
        else:  # a band needs two points
            axes.errorbar(x, y, spread, capsize=3, linestyle="none", **look)
    dashes, marker = _DASHES[at % len(_DASHES)], _MARKERS[at % len(_MARKERS)]
    (line,) = axes.plot(x, y, linestyle=dashes, marker=marker, **look)
    return line


def _baseline(axes: Axes, series: Series, at: int, look: dict[str, Any]) -> Artist:
    (y,) = series.y
    if series.spread is not None:
        (spread,) = series.spread
        axes.axhspan(y - spread, y + spread, alpha=_BAND / 2, linewidth=0, **look)
    dashes = _BASELINE_DASHES[at % len(_BASELINE_DASHES)]
    return axes.axhline(y, linestyle=dashes, linewidth=1.3, **look)


def _label(figure: Figure, axes: Axes) -> None:
    title = textwrap.wrap(printable(figure.title), _TITLE_COLUMNS, max_lines=3, placeholder=" …")
    axes.set_title("\n".join(title), loc="left")
    axes.set_xlabel(shortened(printable(figure.x_label), _TITLE_COLUMNS))
    axes.set_ylabel(shortened(printable(figure.y_label), _TITLE_COLUMNS))


def _place_ticks(figure: Figure, axes: Axes, curves: Sequence[Series]) -> None:
    values = sorted({float(x) for series in curves for x in series.x if math.isfinite(x)})
    if not values:
        axes.xaxis.set_major_locator(NullLocator())
        return
    if figure.log_x and values[0] > 0:  # zero has no place on a logarithmic scale
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_locator(FixedLocator(_apart(values)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    elif all(x.is_integer() for x in values):
        axes.xaxis.set_major_locator(MaxNLocator(_MOST_TICKS, integer=True, min_n_ticks=1))
    axes.margins(x=_MARGIN)


def _apart(values: list[float]) -> list[float]:
    """Give those values, all but the crowded ones, for ticks on a logarithmic scale."""
    least = math.log(values[-1] / values[0]) / _MOST_TICKS
    kept = values[:1]
    for value in values[1:]:
        if math.log(value / kept[-1]) >= least:
            kept.append(value)
    return kept


def _place_legend(
    canvas: Canvas, axes: Axes, handles: Sequence[Artist], names: Sequence[str]
) -> None:
    width, height = _SIZE
    widest = max(map(width_of, names), default=0)
    if len(names) > _MOST_INSIDE or widest > _WIDEST_INSIDE:
        # Beside the axes, on paper that is wider by as much, and higher if need be.
        width, height = width + 0.7 + 0.075 * widest, max(height, 0.6 + 0.2 * len(names))
        canvas.legend(handles, names, loc="outside right upper", handlelength=3.2)
    elif names:
        axes.legend(handles, names, loc="best", handlelength=3.2)
    canvas.set_size_inches(width, height)


def _legend_name(name: str) -> str:
    text = shortened(printable(name), _LONGEST_NAME)
    return f" {text}" if text.startswith("_") else text  # matplotlib 3.9 leaves out _names


def _floats(values: Iterable[float]) -> NDArray[np.float64]:
    return np.fromiter(values, dtype=np.float64)
