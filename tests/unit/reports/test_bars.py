from __future__ import annotations

import math

import pytest

from lpisearch.model.report_text import as_bars, width_of
from lpisearch.model.reports import Figure, Series


def _figure(*values: float, label: str = "AP") -> Figure:
    x = tuple(float(at) for at in range(len(values)))
    return Figure("f", "Title", "dims", label, (Series("one", x, values),))


def test_the_largest_value_fills_the_line() -> None:
    assert as_bars(_figure(0.4, 0.8, 0.1), 31).splitlines() == [
        "Title",
        "AP by dims, bars 0 to 0.8000",
        "",
        "one",
        " 0  0.4000  █████████▌",
        " 1  0.8000  ███████████████████",
        " 2  0.1000  ██▍",
    ]


def test_values_close_together_still_differ() -> None:
    lines = as_bars(_figure(0.9, 0.92, label="accuracy"), 60).splitlines()
    assert lines[1] == "accuracy by dims, bars 0.8980 to 0.9200"
    least, largest = (line.count("█") for line in lines[-2:])
    assert 0 < least < largest / 5


def test_a_baseline_holds_at_every_x(curves: Figure) -> None:
    assert any(line.startswith(" all") and "0.6600" in line for line in _lines(curves, 80))


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(curves: Figure, width: int) -> None:
    name = "分類" * 40
    figure = Figure(
        "f",
        name,
        "dimensions kept",
        "share of pairs",
        (
            *curves.series,
            Series(name, (5.0, 1000.0), (0.5, 0.75), (0.001, 0.1)),
        ),
    )
    widths = [width_of(line) for line in _lines(figure, width)]
    assert max(widths) == width


def test_plain_ascii_when_asked() -> None:
    figure = Figure("f", "T" * 90, "x", "y", (Series("s", (1, 2), (math.nan, 3), (0.1, 0.1)),))
    text = as_bars(figure, 40, ascii_only=True)
    assert text.isascii()
    assert "#####" in text


@pytest.mark.parametrize(
    "values", [(), (0.0, 0.0), (-1.0, -2.0), (math.nan,), (math.inf, 1.0), (5.0,)]
)
def test_any_values_can_be_shown(values: tuple[float, ...]) -> None:
    lines = as_bars(_figure(*values), 40).splitlines()[4:]
    assert len(lines) == max(len(values), 1)
    assert all(len(line) <= 40 for line in lines)


def _lines(figure: Figure, width: int) -> list[str]:
    return as_bars(figure, width).splitlines()
