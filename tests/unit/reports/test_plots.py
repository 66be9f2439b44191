from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import hypothesis.strategies as st
import pytest
from hypothesis import given
from matplotlib.figure import Figure as Canvas

from lpisearch.errors import BadOption, PlotUnavailable, ReportUnwritable
from lpisearch.evaluation.plots import draw, draw_curves, picture, svg_text, with_room
from lpisearch.model.reports import Figure, Report, Series

if TYPE_CHECKING:
    from pathlib import Path

_SVG = "{http://www.w3.org/2000/svg}"
_STARTS = {"png": b"\x89PNG\r\n", "pdf": b"%PDF", "svg": b"<?xml"}


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_the_ending_chooses_the_kind_of_picture(curves: Figure, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"figure.{kind.upper()}"
    draw(curves, path)
    assert path.read_bytes().startswith(_STARTS[kind])
    assert path.read_bytes() == picture(curves, kind)
    assert list(tmp_path.iterdir()) == [path]


def test_an_unknown_ending_is_refused(curves: Figure, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=r"“\.gif”.*\.png, \.svg, \.pdf"):
        draw(curves, tmp_path / "figure.gif")
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_named(curves: Figure, tmp_path: Path) -> None:
    with pytest.raises(ReportUnwritable, match=r"nowhere.figure\.svg: No such file"):
        draw(curves, tmp_path / "nowhere" / "figure.svg")


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_the_error_says_how_to_get_it(curves: Figure, tmp_path: Path) -> None:
    with pytest.raises(PlotUnavailable, match=r"matplotlib\. Next: pip install 'lpisearch\[plot"):
        draw(curves, tmp_path / "figure.svg")
    assert not list(tmp_path.iterdir())


def test_a_file_does_not_say_when_it_was_drawn(curves: Figure) -> None:
    """An SVG holds no date, so that it is the same tomorrow."""
    assert b"date" not in picture(curves, "svg").lower()


def test_every_series_is_in_the_legend(curves: Figure) -> None:
    series = (*curves.series, Series("_hidden", (5, 10), (0.1, 0.2)))
    root = _parsed(svg_text(_with(curves, series)))
    texts = {(text.text or "").strip() for text in root.iter(f"{_SVG}text")}
    assert {"OLPI", "LPI", "plain terms", "_hidden", "dimensions", "AP"} <= texts
    assert {"5", "10", "200"} <= texts  # ticks at the values of a logarithmic axis


def test_a_baseline_goes_from_side_to_side(curves: Figure) -> None:
    baseline = "stroke-dasharray"
    alone = _with(curves, curves.series[:1])
    added = _with(curves, (curves.series[0], curves.series[2]))
    assert baseline not in svg_text(alone)
    assert baseline in svg_text(added)
    assert svg_text(added).count("<use") < svg_text(alone).count("<use") + 6


def test_many_series_have_their_legend_beside_the_axes(curves: Figure) -> None:
    """The paper grows to the side, so that the lines keep their room."""
    many = tuple(Series(f"method {at}", (1, 2), (0.1 * at, 0.1)) for at in range(12))
    few, wide = (_width(svg_text(_with(curves, series))) for series in (many[:3], many))
    assert few == pytest.approx(6 * 72)
    assert wide > 7 * 72


def test_no_two_lines_look_alike(curves: Figure) -> None:
    lines = [Series(f"method {at}", (1, 2), (0.1, 0.2)) for at in range(28)]
    canvas = Canvas()
    draw_curves(
        _with(curves, (*lines, *(Series(f"base {at}", (1,), (0.1,)) for at in range(12)))),
        canvas,
        titled=True,
    )
    drawn = canvas.axes[0].lines
    looks = {
        (line.get_color(), str(vars(line)["_dash_pattern"]), line.get_marker()) for line in drawn
    }
    assert len(looks) == len(drawn) == 40
    assert len({line.get_color() for line in drawn[:14]}) == 14


@pytest.mark.parametrize("log_x", [True, False])
def test_there_is_a_tick_at_each_value(curves: Figure, *, log_x: bool) -> None:
    canvas = Canvas()
    values = (1, 2, 3, 5, 10, 11, 12, 50, 100)
    series = (Series("a", values, (0.5,) * 9), Series("terms", (7,), (0.5,)))
    draw_curves(replace(curves, series=series, log_x=log_x), canvas, titled=True)
    axis = canvas.axes[0].xaxis
    assert sorted([*axis.get_majorticklocs(), *axis.get_minorticklocs()]) == list(values)
    numbers = [label.get_text() for label in axis.get_majorticklabels()]
    assert (numbers[0], numbers[-1]) == ("1", "100")


@given(st.lists(st.floats(0.001, 10_000), min_size=1, max_size=40), st.booleans())
def test_numbers_at_ticks_are_some_of_the_values(values: list[float], log: bool) -> None:  # noqa: FBT001 (drawn)
    ordered = sorted({*values})
    kept = with_room(ordered, log=log)
    assert {ordered[0], ordered[-1]} <= {*kept} <= {*ordered}
    assert kept == sorted({*kept})


def test_named_groups_are_drawn_as_bars() -> None:
    figure = Figure(
        *("all", "What is compared", "measure", "AP, NMI"),
        (Series("rlpi", (0, 1), (0.8, 0.7), (0.1, 0.2)), Series("terms", (0, 1), (0.4, 0.3))),
        groups=("AP", "NMI"),
    )
    root = _parsed(svg_text(figure))
    texts = {(text.text or "").strip() for text in root.iter(f"{_SVG}text")}
    assert {"AP", "NMI", "rlpi", "terms"} <= texts
    assert "What is compared" not in texts  # the page has it above the picture
    assert "rlpi: 0.8000 at AP, 0.7000 at NMI" in (root[1].text or "")
    assert b"What is compared" in picture(figure, "svg")


@pytest.mark.parametrize(
    "series",
    [
        (),
        (Series("empty", (), ()),),
        (Series("one", (1,), (0.5,), (0.1,)),),
        (Series("gap", (1, 2, 3), (0.5, float("nan"), 0.7)),),
        (Series("zero on a logarithmic axis", (0, 1, 2), (0.5, 0.5, 0.7)),),
        (Series("$\\frac{bad$", (1, 2), (1, 2)), Series("日本 \x1b\0", (1, 2), (2, 1))),
        (Series("all at one place", (3, 3), (1, 2)),),
    ],
    ids=["none", "empty", "one", "gap", "zero", "harmful", "same"],
)
def test_any_figure_can_be_drawn(curves: Figure, series: tuple[Series, ...]) -> None:
    figure = _with(curves, series)
    assert picture(figure, "png").startswith(_STARTS["png"])
    root = _parsed(svg_text(figure))
    assert root.tag == f"{_SVG}svg"


def test_a_picture_in_a_page_has_a_title_and_ids_of_its_own(report: Report) -> None:
    text = svg_text(report.figures[0], "first-")
    root = _parsed(text)
    ids = [element.get("id", "") for element in root.iter() if "id" in element.attrib]
    assert all(name.startswith("first-") for name in ids)
    assert len(ids) == len(set(ids))
    assert all(element.get("href", "#first-").startswith("#first-") for element in root.iter())
    assert text.count("url(#first-") == text.count("url(#") > 0
    title, description = root[0].text, root[1].text or ""
    assert title == "Precision over dimensions"
    assert "OLPI: 0.6100 at 5, 0.6700 at 10" in description
    assert "plain terms: 0.6600 throughout" in description
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", "first-title first-desc")
    assert "currentColor" in text
    assert "#ffffff" not in text
    assert "<style" not in text


def test_a_harmful_name_is_text_in_a_picture(report: Report) -> None:
    assert "<script" not in svg_text(report.figures[1])
    assert b"<script" not in picture(report.figures[1], "svg")


def _with(figure: Figure, series: tuple[Series, ...]) -> Figure:
    return Figure(
        figure.name, figure.title, figure.x_label, figure.y_label, series, log_x=figure.log_x
    )


def _parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 (what was drawn a moment ago)


def _width(svg: str) -> float:
    return float(_parsed(svg).get("viewBox", "").split()[2])
