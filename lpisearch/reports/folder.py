"""A report as a folder: a page, and each finding as a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from lpisearch.errors import PlotUnavailable
from lpisearch.reports.csv_text import as_csv
from lpisearch.reports.files import make_folder, write_files
from lpisearch.reports.json_text import as_json
from lpisearch.reports.markdown_text import as_markdown
from lpisearch.reports.page import as_html
from lpisearch.reports.plots import picture

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lpisearch.records import Figure, Report

Finding = TypeVar("Finding")
_PICTURES = ("svg", "png")
_LONGEST_NAME = 80


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write a report: files of its tables and figures, `report.json`, and at last `index.html`.

    All is worked out and written beside its place before the first file is moved in: a run that
    is interrupted, or a disk that is full, leaves the report that was there. Files of others,
    and of findings that this report no longer has, stay.

    Returns
    -------
    list of pathlib.Path
        The files, the page first.

    Raises
    ------
    ReportUnwritable
    """
    make_folder(folder)
    texts: dict[str, str] = {}
    for name, table in _named(report.tables, [table.name for table in report.tables]):
        texts[f"{name}.csv"] = as_csv([table])
        texts[f"{name}.md"] = as_markdown([table])
    texts["report.json"] = as_json(report)
    page = folder / "index.html"
    # A name of a file that is no UTF-8 may be among the texts, and must not stop the report.
    contents = {folder / name: _bytes(text) for name, text in texts.items()}
    contents |= {folder / name: data for name, data in _pictures(report.figures).items()}
    contents[page] = _bytes(as_html(report))
    write_files(contents)
    return [page, *(path for path in contents if path != page)]


def _pictures(figures: tuple[Figure, ...]) -> dict[str, bytes]:
    """Draw all figures; without matplotlib there are none, and the page has bars instead."""
    try:
        return {
            f"{name}.{kind}": picture(figure, kind)
            for name, figure in _named(figures, [figure.name for figure in figures])
            for kind in _PICTURES
        }
    except PlotUnavailable:
        return {}


def _named(findings: Sequence[Finding], names: Sequence[str]) -> Iterator[tuple[str, Finding]]:
    """Give each a file name of its own, of letters that any system takes."""
    taken: set[str] = set()
    for finding, name in zip(findings, names, strict=True):
        stem = re.sub("[^a-z0-9_-]+", "-", name.lower()).strip("-")[:_LONGEST_NAME] or "unnamed"
        numbered = (f"{stem}-{number}" for number in range(2, len(findings) + 2))
        free = next(choice for choice in (stem, *numbered) if choice not in taken)
        taken.add(free)
        yield free, finding


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
