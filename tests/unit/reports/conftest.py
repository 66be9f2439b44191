"""A report as an evaluation makes it, with labels that mean harm."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from lpisearch.model.reports import Figure, Report, Series, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.model.reports import Cell

HARMFUL = "<script>alert('x')</script>"


@pytest.fixture
def curves() -> Figure:
    """Return a figure of two lines, one with a spread, and a baseline."""
    dims = (5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
    series = (
        Series("OLPI", dims, (0.61, 0.67, 0.72, 0.78, 0.82, 0.87), (0.01,) * 6),
        Series("LPI", dims, (0.7, 0.68, 0.65, 0.62, 0.6, 0.58)),
        Series("plain terms", (0.0,), (0.66,)),
    )
    return Figure("dims", "Precision over dimensions", "dimensions", "AP", series, log_x=True)


@pytest.fixture
def report(curves: Figure) -> Report:
    """Return a report with two tables and two figures."""
    rows: tuple[Mapping[str, Cell], ...] = (
        {"representation": "terms", "accuracy": 0.8141234, "fit_s": 12.3456, "dims": None},
        {"representation": "rlpi", "accuracy": 0.8671234, "fit_s": 0.98765, "dims": 100},
    )
    confusion: tuple[Mapping[str, Cell], ...] = (
        {"label": HARMFUL, "taken for": "a & b", HARMFUL: 3},
    )
    harmful = Figure(
        HARMFUL, HARMFUL, HARMFUL, HARMFUL, (Series(HARMFUL, (1, 2), (0.1, float("nan"))),)
    )
    return Report(
        title=f"Evaluation {HARMFUL}",
        command="lpisearch evaluate classify <b>",
        parameters={"split": "field", "date": "2026-11-18", HARMFUL: HARMFUL},
        versions={"lpisearch": "0.1.0"},
        tables=(
            Table("classify", "Classifiers", rows, ("12 left out", HARMFUL)),
            Table("confusion", HARMFUL, confusion),
        ),
        figures=(curves, harmful),
    )


@pytest.fixture
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every import of matplotlib fail, as where it is not installed."""
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
