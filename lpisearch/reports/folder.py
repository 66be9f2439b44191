"""Write a report folder: an HTML page and one file per result."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, TypeVar

from lpisearch.errors import PlotUnavailable, ReportUnwritable
from lpisearch.files import ANYONE, refuse_others
from lpisearch.reports.csv_text import as_csv
from lpisearch.reports.files import make_folder, write_files
from lpisearch.reports.json_text import as_json
from lpisearch.reports.markdown_text import as_markdown
from lpisearch.reports.page import as_html, is_page
from lpisearch.reports.plots import picture

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from lpisearch.records import Figure, Report

Finding = TypeVar("Finding")
_PICTURES = ("svg", "png")
_LONGEST_NAME = 80


_PAGE = "index.html"


def check_folder(folder: Path, *, force: bool = False) -> None:
    """Find out before a long run whether a report could be written to a folder.

    Raises
    ------
    ReportUnwritable
    FileInTheWay
        The page there is none of ours; `force` replaces it.
    """
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise ReportUnwritable(folder, f"{existing} is a file")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise ReportUnwritable(folder, f"{existing} cannot be written to")
    if not force:
        refuse_others(folder / _PAGE, "a report", is_page)


def write_report(
    report: Report, folder: Path, *, force: bool = False, mode: int = ANYONE
) -> list[Path]:
    """Write a report: files of its tables and figures, `report.json`, and at last `index.html`.

    All is worked out and written beside its place before the first file is moved in: a run that
    is interrupted, or a disk that is full, leaves the report that was there. Files of others,
    and of findings that this report no longer has, stay. A folder without a report may have
    files of the same names: they are replaced with `force` alone. `mode` is that of new files,
    before the user's umask.

    Returns
    -------
    list of pathlib.Path
        The files, the page first.

    Raises
    ------
    ReportUnwritable, FileInTheWay
    """
    make_folder(folder, mode)
    texts: dict[str, str] = {}
    for name, table in _named(report.tables, [table.name for table in report.tables]):
        texts[f"{name}.csv"] = as_csv([table])
        texts[f"{name}.md"] = as_markdown([table])
    texts["report.json"] = as_json(report)
    page = folder / _PAGE
    # A name of a file that is no UTF-8 may be among the texts, and must not stop the report.
    contents = {folder / name: _bytes(text) for name, text in texts.items()}
    contents |= {folder / name: data for name, data in _pictures(report.figures).items()}
    contents[page] = _bytes(as_html(report))
    if not force:
        _refuse_others(page, contents)
    write_files(contents, mode)
    return [page, *(path for path in contents if path != page)]


def _refuse_others(page: Path, contents: Iterable[Path]) -> None:
    """Replace the files of a report alone: those beside a page of ours."""
    refuse_others(page, "a report", is_page)
    if not page.exists():
        for path in contents:
            refuse_others(path, "part of a report", lambda _beginning: False)


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
