from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from selectolax.lexbor import LexborHTMLParser

from lpisearch.evaluation.page import as_html
from lpisearch.model.reports import Cell, Report, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from selectolax.lexbor import LexborNode

_VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}


class _Outline(HTMLParser):
    """Follow the tags of a page: each must be closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _outline(page: str) -> _Outline:
    outline = _Outline()
    outline.feed(page)
    outline.close()
    assert not outline.open
    return outline


def test_a_page_is_well_formed(report: Report) -> None:
    page = as_html(report)
    outline = _outline(page)
    assert page.startswith("<!DOCTYPE html>\n<html lang=")
    assert outline.tags.count("svg") == 2
    assert len(outline.ids) == len(set(outline.ids))
    for name, value in outline.attributes:
        if name == "aria-labelledby":
            assert set((value or "").split()) <= set(outline.ids)


def test_no_text_becomes_a_tag(report: Report) -> None:
    page = as_html(report)
    outline = _outline(page)
    assert "script" not in outline.tags
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 12
    assert not [name for name, _ in outline.attributes if name.startswith("on")]


def test_a_page_loads_nothing(report: Report) -> None:
    outline = _outline(as_html(report))
    links = [value or "" for name, value in outline.attributes if name in {"src", "href"}]
    assert all(link.startswith("#") for link in links)
    assert not {"link", "iframe", "object", "base"} & set(outline.tags)
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in outline.attributes


def test_the_same_report_gives_the_same_page(report: Report) -> None:
    assert as_html(report) == as_html(report)


def test_a_table_is_one(report: Report) -> None:
    table = LexborHTMLParser(as_html(report)).css("table")[0]
    assert _texts(table.css("caption")) == ["Classifiers"]
    assert _texts(table.css("thead th[scope=col]")) == [
        "representation",
        "accuracy",
        "fit_s",
        "dims",
    ]
    assert _texts(table.css("tbody th[scope=row]")) == ["terms", "rlpi"]
    assert _texts(table.css("tbody td.number")) == ["0.8141", "12.3", "", "0.8671", "0.988", "100"]


def test_the_best_of_each_measure_is_bold(report: Report) -> None:
    table = LexborHTMLParser(as_html(report)).css("table")[0]
    assert _texts(table.css("b")) == ["0.8671"]


@pytest.mark.parametrize(
    ("values", "bold"),
    [
        ((0.5, 0.9, 0.90001), ["0.9000", "0.9000"]),
        ((0.5, 0.5), []),
        ((0.5,), []),
        ((0.5, None, 0.5), []),
        ((None, 0.5, 0.6, float("nan")), ["0.6000"]),
        ((float("nan"), float("nan")), []),
    ],
    ids=["alike as shown", "all alike", "one", "alike but one", "gaps", "none"],
)
def test_best_is_what_is_seen_to_be_best(values: tuple[Cell, ...], bold: list[str]) -> None:
    table = Table("t", "t", tuple({"method": "m", "AP": value} for value in values))
    page = as_html(Report("r", "c", {}, {}, (table,)))
    assert _texts(LexborHTMLParser(page).css("td b")) == bold


def test_what_the_findings_depend_on_is_told(report: Report) -> None:
    page = LexborHTMLParser(as_html(report))
    assert _texts(page.css("pre.command")) == ["lpisearch evaluate classify <b>"]
    rows = [_texts(row.css("th, td")) for row in page.css("section:last-of-type tbody tr")]
    assert rows == [["lpisearch", "0.1.0"]]
    assert ["date", "2026-11-18"] in [_texts(row.css("th, td")) for row in page.css("tbody tr")]


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_figures_are_bars(report: Report) -> None:
    page = as_html(report)
    outline = _outline(page)
    assert "svg" not in outline.tags
    assert "script" not in outline.tags
    assert "█" in page


def test_an_empty_report_is_a_page() -> None:
    outline = _outline(as_html(Report("Nothing", "lpisearch evaluate", {}, {}, ())))
    assert "section" not in outline.tags


def test_a_table_without_rows_keeps_its_notes(report: Report) -> None:
    empty = replace(report, tables=(Table("t", "T", (), ("no labels",)),), figures=())
    assert "<li>no labels</li>" in as_html(empty)
    _outline(as_html(empty))


def _texts(nodes: Sequence[LexborNode]) -> list[str]:
    return [node.text() for node in nodes]


def test_a_spread_stands_in_the_cell_of_its_measure(report: Report) -> None:
    rows: tuple[dict[str, Cell], ...] = (
        {"representation": "rlpi", "centroid_accuracy": 0.5, "centroid_accuracy_sd": 0.0123},
    )
    page = as_html(replace(report, tables=(Table("classify", "Classes", rows),)))
    assert "0.5000 ± 0.0123" in page
    assert "centroid_<wbr>accuracy</th>" in page
    assert "accuracy_<wbr>sd" not in page


def test_without_a_command_there_is_no_box_for_it(report: Report) -> None:
    assert '<pre class="command">' not in as_html(replace(report, command=""))
