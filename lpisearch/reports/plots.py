"""A figure as a picture file, or as SVG for a page, by matplotlib (the extra `plot`)."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption, PlotUnavailable
from lpisearch.reports.files import write_files
from lpisearch.reports.vectors import embeddable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lpisearch.records import Figure

# Without dates, names of programs and random ids: the same figure gives the same bytes.
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_INK = "#222222"
_PAGE_INK = "#010203"  # no other colour of a picture: it becomes that of the page's text
_DOTS_PER_INCH = 150
_STYLE: dict[str, Any] = {
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",  # the paper of a page may be dark
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
    "svg.fonttype": "none",  # text stays text: to be searched, read aloud and shown in any script
    "svg.hashsalt": "lpisearch",
    "text.parse_math": False,  # a label with two dollar signs is not a formula
}
_INKED = ("axes.edgecolor", "axes.labelcolor", "grid.color", "text.color", "xtick.color")


def draw(figure: Figure, path: Path) -> None:
    """Draw a figure into a file, of the kind that its ending names: .png, .svg or .pdf.

    Raises
    ------
    BadOption
        For another ending.
    PlotUnavailable
        Matplotlib is not installed.
    ReportUnwritable
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        reason = f"unsupported image format “{path.suffix}”"
        raise BadOption(str(path), reason, [f".{known}" for known in _METADATA])
    write_files({path: picture(figure, kind)})


def picture(figure: Figure, kind: str) -> bytes:
    """Give the bytes of a figure as "png", "svg" or "pdf".

    Raises
    ------
    PlotUnavailable
        Matplotlib is not installed.
    """
    return _drawn(figure, kind, _INK)


def svg_text(figure: Figure, prefix: str = "") -> str:
    """Give a figure as an `<svg>` element for a page, in the colour of the page's text.

    Parameters
    ----------
    figure
        Its title and its values in words become the `<title>` and `<desc>` of the picture.
    prefix
        In front of every id: two pictures of one page need two.

    Raises
    ------
    PlotUnavailable
        Matplotlib is not installed.
    """
    return embeddable(_drawn(figure, "svg", _PAGE_INK), figure, prefix, _PAGE_INK)


def _drawn(figure: Figure, kind: str, ink: str) -> bytes:
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise PlotUnavailable from error
    from lpisearch.reports.curves import draw_curves
    from lpisearch.reports.groups import draw_groups

    on_page = ink == _PAGE_INK  # which says the title beside the picture
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
    """Draw in our style, whatever the user's settings of matplotlib are."""
    from matplotlib import style

    inked = dict.fromkeys((*_INKED, "ytick.color"), ink)
    with warnings.catch_warnings(), style.context(["default", {**_STYLE, **inked}]):
        # Letters that the font lacks: a browser has them, a PNG shows a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield
