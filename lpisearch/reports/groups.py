"""Groups of bars on the axes of matplotlib, one bar of each group for each series."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.reports.axes import COLOURS, floats, label_axes, place_legend
from lpisearch.wording import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from lpisearch.records import Figure

_TAKEN = 0.82
"""How much of its room a group takes."""
_HEADROOM = 1.35
_HATCHES = ("", "//", "xx", "..")
_NAME_COLUMNS = 14


def draw_groups(figure: Figure, canvas: Canvas, *, titled: bool) -> None:
    """Draw a figure with named groups: bars from 0, their spread as whiskers."""
    axes = canvas.add_subplot()
    width = _TAKEN / len(figure.series)
    handles = []
    for at, series in enumerate(figure.series):
        shift = (at - (len(figure.series) - 1) / 2) * width
        handles.append(
            axes.bar(
                floats(series.x) + shift,
                floats(series.y),
                width,
                yerr=None if series.spread is None else floats(series.spread),
                color=COLOURS[at % len(COLOURS)],
                hatch=_HATCHES[at // len(COLOURS) % len(_HATCHES)],
                error_kw={"elinewidth": 1, "capsize": 2, "ecolor": axes.xaxis.label.get_color()},
            )
        )
    names = [textwrap.fill(printable(name), _NAME_COLUMNS) for name in figure.groups]
    axes.set_xticks(np.arange(len(names)), names)
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    # Room above the bars for a legend, which would hide some of them.
    top = max((y for series in figure.series for y in series.y if np.isfinite(y)), default=1.0)
    axes.set_ylim(min(0.0, axes.get_ylim()[0]), _HEADROOM * top if top > 0 else 1.0)
    if top <= 1:  # no share is larger
        axes.set_yticks([tick for tick in axes.get_yticks() if tick <= 1])
    label_axes(figure, axes, titled=titled)
    place_legend(canvas, axes, handles, [series.name for series in figure.series])
