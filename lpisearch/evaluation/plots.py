"""Figures drawn by matplotlib (optional), as files and as SVG for pages."""

from __future__ import annotations

import math
import re
import textwrap
import warnings
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np

from lpisearch.errors import BadOption, PlotUnavailable
from lpisearch.files import write_files
from lpisearch.messages import printable
from lpisearch.model.report_text import shortened, shown, width_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from numpy.typing import NDArray

    from lpisearch.model.reports import Figure, Series


# No dates, names of programs or random ids: equal figures are equal bytes.
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_INK = "#222222"
_PAGE_INK = "#010203"  # used for nothing else: it is replaced by the text colour of the page
_DOTS_PER_INCH = 150
_STYLE: dict[str, Any] = {
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",  # the page may be dark
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "font.size": 9,
    "grid.alpha": 0.15,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",  # keep text searchable and accessible
    "svg.hashsalt": "lpisearch",
    "text.parse_math": False,  # dollar signs in labels are literal
}
_INKED = ("axes.edgecolor", "axes.labelcolor", "grid.color", "text.color", "xtick.color")


def draw(figure: Figure, path: Path) -> None:
    """Write a figure to a .png, .svg or .pdf file."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        reason = f"unsupported image format “{path.suffix}”"
        raise BadOption(str(path), reason, [f".{known}" for known in _METADATA])
    write_files({path: picture(figure, kind)})


def picture(figure: Figure, kind: str) -> bytes:
    """Return a figure as "png", "svg" or "pdf"; PlotUnavailable without matplotlib."""
    return _drawn(figure, kind, _INK)


def svg_text(figure: Figure, prefix: str = "") -> str:
    """Return a figure as an `<svg>` element in the text colour of the page.

    `prefix` makes the ids unique within the page.
    """
    return embeddable(_drawn(figure, "svg", _PAGE_INK), figure, prefix, _PAGE_INK)


def _drawn(figure: Figure, kind: str, ink: str) -> bytes:
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise PlotUnavailable from error

    on_page = ink == _PAGE_INK  # the page shows the title itself
    paper = "none" if on_page else "white"
    stream = BytesIO()
    with _style(ink):
        canvas = Canvas(layout="constrained", facecolor=paper)
        (draw_groups if figure.groups else draw_curves)(figure, canvas, titled=not on_page)
        options: dict[str, Any] = {"format": kind, "facecolor": paper, "dpi": _DOTS_PER_INCH}
        canvas.savefig(stream, metadata=_METADATA[kind], **options)
    return stream.getvalue()


@contextmanager
def _style(ink: str) -> Iterator[None]:
    """Use our style, whatever the user's matplotlib settings."""
    from matplotlib import style

    inked = dict.fromkeys((*_INKED, "ytick.color"), ink)
    with warnings.catch_warnings(), style.context(["default", {**_STYLE, **inked}]):
        # Glyphs missing from the font: a browser has them, a PNG shows a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


_MOST_BANDS = 6
"""More bands would hide each other and the lines; the tables show the spreads."""
_DASHES: tuple[Any, ...] = ("-", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
_BASELINE_DASHES: tuple[Any, ...] = ((0, (6, 3)), (0, (2, 2)), (0, (10, 3)), (0, (4, 2, 1, 2)))


def draw_curves(figure: Figure, canvas: Canvas, *, titled: bool) -> None:
    """Draw each series as a line with markers, and its spread as a light band."""
    axes = canvas.add_subplot()
    baselines = figure.baselines
    names, handles = [], []
    banded = len(figure.series) <= _MOST_BANDS
    shown_series = (one if banded else replace(one, spread=None) for one in figure.series)
    for at, series in enumerate(shown_series):
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
    set_ticks(axes, curves, log=figure.log_x)
    add_legend(canvas, axes, handles, names)


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


def _baseline(axes: Axes, series: Series, dashes: Any, look: dict[str, Any]) -> Artist:
    (y,) = series.y
    if series.spread is not None:
        (spread,) = series.spread
        axes.axhspan(y - spread, y + spread, alpha=BAND / 2, linewidth=0, **look)
    return axes.axhline(y, linestyle=dashes, linewidth=1.3, **look)


_GROUP_WIDTH = 0.82
"""The share of the axis that bars of a group fill."""
_HEADROOM = 1.35
_HATCHES = ("", "//", "xx", "..")
_NAME_COLUMNS = 14


def draw_groups(figure: Figure, canvas: Canvas, *, titled: bool) -> None:
    """Draw named groups of bars, and their spread as whiskers."""
    axes = canvas.add_subplot()
    width = _GROUP_WIDTH / len(figure.series)
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
    # Leave room for a legend above the bars.
    top = max((y for series in figure.series for y in series.y if np.isfinite(y)), default=1.0)
    axes.set_ylim(min(0.0, axes.get_ylim()[0]), _HEADROOM * top if top > 0 else 1.0)
    if top <= 1:  # shares do not exceed 1
        axes.set_yticks([tick for tick in axes.get_yticks() if tick <= 1])
    label_axes(figure, axes, titled=titled)
    add_legend(canvas, axes, handles, [series.name for series in figure.series])


# The colour-blind safe palette of Okabe and Ito (2008), with grey for black and without yellow, to
# be visible on light and dark pages; then darker or paler variants.
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
    """Label the axes, with the title unless the page shows it."""
    if titled:
        title = textwrap.wrap(
            printable(figure.title), _TITLE_COLUMNS, max_lines=3, placeholder=" …"
        )
        axes.set_title("\n".join(title), loc="left")
    axes.set_xlabel(shortened(printable(figure.x_label), _TITLE_COLUMNS))
    axes.set_ylabel(shortened(printable(figure.y_label), _TITLE_COLUMNS))


def add_legend(canvas: Canvas, axes: Axes, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Add a legend within the axes, or next to them if it is long or wide."""
    names = [_legend_name(name) for name in names]
    width, height = _SIZE
    widest = max(map(width_of, names), default=0)
    if len(names) > _MOST_INSIDE or widest > _WIDEST_INSIDE:
        # Next to the axes, on a wider and if necessary higher canvas.
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
    return f" {text}" if text.startswith("_") else text  # matplotlib 3.9 skips _names


_MARGIN = 0.04
# Approximate width of a digit and of the gap between numbers, as shares of the axis.
_DIGIT = 0.014
_GAP = 0.015


def set_ticks(axes: Axes, curves: Sequence[Series], *, log: bool) -> None:
    """Put a tick at each x of the curves, numbered if there is room."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    values = sorted({float(x) for series in curves for x in series.x if math.isfinite(x)})
    if not values:
        axes.xaxis.set_major_locator(NullLocator())
        return
    log = log and values[0] > 0  # a logarithmic scale has no zero
    if log:
        axes.set_xscale("log")
    numbered = with_room(values, log=log)
    axes.xaxis.set_major_locator(FixedLocator(numbered))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_locator(FixedLocator([x for x in values if x not in numbered]))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=_MARGIN)


def with_room(values: Sequence[float], *, log: bool) -> list[float]:
    """Return the first value, the last, and those between whose numbers do not overlap.

    Examples
    --------
    >>> with_room([2, 3, 5, 10, 11, 12, 100], log=True)
    [2, 3, 5, 10, 12, 100]
    """
    first, last = values[0], values[-1]
    if first == last:
        return [first]
    positions = {value: math.log(value) if log else value for value in values}
    span = positions[last] - positions[first]

    def fits(left: float, right: float) -> bool:
        needed = _DIGIT * (len(f"{left:g}") + len(f"{right:g}")) / 2 + _GAP
        return (positions[right] - positions[left]) / span >= needed

    numbered = [first]
    for value in values[1:-1]:
        if fits(numbered[-1], value) and fits(value, last):
            numbered.append(value)
    return [*numbered, last]


_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_LEFT_OUT = (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style")


def embeddable(svg: bytes, figure: Figure, prefix: str, ink: str) -> str:
    """Return the `<svg>` element of a file for a page with other pictures.

    Remove its style sheet, which would apply to the whole page, make its ids unique, and replace
    its ink by the text colour of the page.
    """
    root = ET.fromstring(svg)  # noqa: S314 (written by matplotlib)
    for child in list(root.iter()):
        for left_out in [inner for inner in child if inner.tag in _LEFT_OUT]:
            child.remove(left_out)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        for name, value in list(element.attrib.items()):
            element.attrib[name] = _own(name, value, prefix, ink)
        if _LINK in element.attrib:
            element.set("href", element.attrib.pop(_LINK))
    _describe(root, figure, prefix)
    return ET.tostring(root, encoding="unicode", short_empty_elements=True)


def _own(name: str, value: str, prefix: str, ink: str) -> str:
    if name == "id":
        return prefix + value
    if name == _LINK:
        return re.sub("^#", f"#{prefix}", value)
    return value.replace("url(#", f"url(#{prefix}").replace(ink, "currentColor")


def _describe(root: ET.Element, figure: Figure, prefix: str) -> None:
    root.attrib.pop("width", None)  # the page sets the size, the viewBox the shape
    root.attrib.pop("height", None)
    names = f"{prefix}title", f"{prefix}desc"
    root.set("xmlns", _SVG)
    root.set("role", "img")
    root.set("aria-labelledby", " ".join(names))
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")
    title, desc = (
        ET.Element(tag, {"id": name}) for tag, name in zip(("title", "desc"), names, strict=True)
    )
    title.text = printable(figure.title)
    lines = "; ".join(_in_words(figure, series) for series in figure.series)
    desc.text = f"{printable(figure.y_label)} by {printable(figure.x_label)}. {lines}."
    root[:0] = [title, desc]


def _in_words(figure: Figure, series: Series) -> str:
    values = [shown(figure.y_label, y) for y in series.y]
    if not values:
        return f"{printable(series.name)}: no values"
    if series in figure.baselines:
        return f"{printable(series.name)}: {values[0]} throughout"
    points = ", ".join(
        f"{y} at {printable(figure.x_text(x))}" for x, y in zip(series.x, values, strict=True)
    )
    return f"{printable(series.name)}: {points}"
