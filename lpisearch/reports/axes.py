"""Shared plot styling: colours, titles and legends; requires matplotlib."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.reports.widths import shortened, width_of
from lpisearch.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from numpy.typing import NDArray

    from lpisearch.records import Figure

# Okabe and Ito (2008), told apart by colour-blind people; grey for their black, and no yellow:
# both must show on white and on dark paper. Then the same again, darker or paler.
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#808080"),
    *("#7A3E9D", "#8C3B00", "#7FC97F", "#B0305C", "#A67C00", "#2F7E9E", "#B0B0B0"),
)
BAND = 0.15
_TITLE_COLUMNS = 50
_MOST_INSIDE = 5
_WIDEST_INSIDE = 22
_LONGEST_NAME = 32
_SIZE = (6.0, 4.0)


def label_axes(figure: Figure, axes: Axes, *, titled: bool) -> None:
    """Write what is drawn; without its title where that stands beside the picture."""
    if titled:
        title = textwrap.wrap(
            printable(figure.title), _TITLE_COLUMNS, max_lines=3, placeholder=" …"
        )
        axes.set_title("\n".join(title), loc="left")
    axes.set_xlabel(shortened(printable(figure.x_label), _TITLE_COLUMNS))
    axes.set_ylabel(shortened(printable(figure.y_label), _TITLE_COLUMNS))


def place_legend(canvas: Canvas, axes: Axes, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Put the legend within the axes, or beside them where it is long or wide."""
    names = [_legend_name(name) for name in names]
    width, height = _SIZE
    widest = max(map(width_of, names), default=0)
    if len(names) > _MOST_INSIDE or widest > _WIDEST_INSIDE:
        # Beside the axes, on paper that is wider by as much, and higher if need be.
        width, height = width + 0.7 + 0.075 * widest, max(height, 0.6 + 0.2 * len(names))
        canvas.legend(handles, names, loc="outside right upper", handlelength=3.2)
    elif names:
        axes.legend(handles, names, loc="best", handlelength=3.2)
    canvas.set_size_inches(width, height)


def floats(values: Iterable[float]) -> NDArray[np.float64]:
    """Return numbers as an array."""
    return np.fromiter(values, dtype=np.float64)


def _legend_name(name: str) -> str:
    text = shortened(printable(name), _LONGEST_NAME)
    return f" {text}" if text.startswith("_") else text  # matplotlib 3.9 leaves out _names
