"""The HTML page of a report, and the folder of its files."""

from __future__ import annotations

import math
import os
import re
from html import escape
from typing import TYPE_CHECKING, TypeVar

from lpisearch.errors import PlotUnavailable, ReportUnwritable
from lpisearch.evaluation.plots import picture, svg_text
from lpisearch.files import ANYONE, make_folder, refuse_others, write_files
from lpisearch.messages import printable
from lpisearch.model.report_text import (
    SPREAD,
    as_bars,
    as_csv,
    as_json,
    as_markdown,
    full_title,
    higher_is_better,
    is_number,
    is_numeric,
    own_columns,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lpisearch.model.reports import Cell, Figure, Report, Table


_BAR_COLUMNS = 72
# Nothing is loaded or run, even if a text was not escaped.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_CSS = """
:root { color-scheme: light dark; --ink: #1d2127; --paper: #fff; --quiet: #5c6570;
  --line: #d5dae0; --wash: #f4f6f8; --best: #0b5c8a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --paper: #16191d;
  --quiet: #9aa4af; --line: #363c44; --wash: #1e2227; --best: #7cc4ee; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 64rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { margin: 0 0 .75rem; font-size: 1.7rem; line-height: 1.2; }
h2 { margin: 2.5rem 0 .75rem; font-size: 1.2rem; }
pre { margin: 0; padding: .75rem 1rem; overflow-x: auto; background: var(--wash);
  border: 1px solid var(--line); border-radius: 6px; font: .85rem/1.45 ui-monospace, monospace; }
pre.command { white-space: pre-wrap; }
.wide { overflow-x: auto; margin: 1rem 0 .5rem; background:
  linear-gradient(to right, var(--paper) 40%, transparent) 0 / 2.5rem 100% no-repeat local,
  linear-gradient(to left, var(--paper) 40%, transparent) 100% / 2.5rem 100% no-repeat local,
  linear-gradient(to right, var(--line), transparent) 0 / .8rem 100% no-repeat scroll,
  linear-gradient(to left, var(--line), transparent) 100% / .8rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: .925rem; font-variant-numeric: tabular-nums; }
caption { padding: 0 0 .5rem; text-align: left; font-weight: 600; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
thead th { border-bottom: 2px solid var(--quiet); color: var(--quiet); font-weight: 600;
  vertical-align: bottom; overflow-wrap: normal; }
tbody th { font-weight: 400; }
tbody tr:hover { background: var(--wash); }
.number { text-align: right; white-space: nowrap; }
td b { color: var(--best); font-weight: 700; }
.notes { margin: 0 0 1.5rem; padding-left: 1.25rem; color: var(--quiet); font-size: .9rem; }
figure { margin: 1.5rem 0; }
figcaption { margin-bottom: .5rem; font-weight: 600; }
figure svg { display: block; width: 100%; max-width: 44rem; height: auto; }
svg text { font-family: system-ui, sans-serif !important; }
details { margin-top: .5rem; }
summary { color: var(--quiet); cursor: pointer; font-size: .9rem; }
@media (max-width: 48rem) { body { padding: 1.25rem .75rem 3rem; }
  table { font-size: .75rem; } th, td { padding: .2rem .25rem; } }
@media print {
  :root { color-scheme: light; --ink: #000; --paper: #fff; --quiet: #444; --line: #bbb;
    --wash: #fff; --best: #000; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  .wide { overflow: visible; }
  thead { display: table-header-group; }
  tr, figure { break-inside: avoid; }
  h2, caption, figcaption { break-after: avoid; }
  details:not([open]) { display: none; }
}
"""


def as_html(report: Report) -> str:
    """Return a page with the tables, figures, parameters and versions of a report.

    The best value of each measure is bold, compared as shown. Without matplotlib, figures are bars
    of text. The page contains nothing else, such as a date, so that equal reports are equal bytes.
    """
    figures = (_figure(figure, at) for at, figure in enumerate(report.figures, 1))
    body = [
        f"<h1>{_text(report.title)}</h1>",
        f'<pre class="command"><code>{_text(report.command)}</code></pre>' * bool(report.command),
        *_section("Tables", map(_table, report.tables)),
        *_section("Figures", figures),
        *_section("Parameters", _pairs("parameter", report.parameters)),
        *_section("Versions", _pairs("library", report.versions)),
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="generator" content="lpisearch">',
            f"<title>{_text(report.title)}</title>",
            f"<style>{_CSS}</style>",
            "</head>",
            "<body>",
            "<main>",
            *body,
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def is_page(beginning: bytes) -> bool:
    """Return whether a file is a page of a report, by its beginning."""
    return beginning.startswith(b"<!DOCTYPE html>") and _POLICY.encode() in beginning


def _section(title: str, parts: Iterable[str]) -> list[str]:
    content = list(parts)
    return ["<section>", f"<h2>{title}</h2>", *content, "</section>"] if content else []


def _table(table: Table) -> str:
    title = _text(full_title(table) or table.name)
    numeric = {name for name in table.columns if is_numeric(table, name)}
    breakable = ((name, re.sub(r"_(?=\w\w)", "_<wbr>", _text(name))) for name in own_columns(table))
    heads = (_cell("th", head, name in numeric, "col") for name, head in breakable)
    best = {name: _best(table, name) for name in numeric if higher_is_better(name)}
    rows = "\n".join(f"<tr>{_row(table, row, numeric, best)}</tr>" for row in table.rows)
    notes = "".join(f"<li>{_text(note)}</li>" for note in table.notes)
    parts = [
        f'<div class="wide" role="region" tabindex="0" aria-label="{title}">',
        f"<table><caption>{title}</caption>",
        f"<thead><tr>{''.join(heads)}</tr></thead>",
        f"<tbody>\n{rows}\n</tbody></table></div>",
        f'<ul class="notes">{notes}</ul>' if notes else "",
    ]
    return "\n".join(filter(None, parts))


def _row(table: Table, row: Mapping[str, Cell], numeric: set[str], best: Mapping[str, str]) -> str:
    cells = []
    for at, name in enumerate(own_columns(table)):
        text = shown(name, row.get(name))
        content = f"<b>{escape(text)}</b>" if text and best.get(name) == text else escape(text)
        if text and row.get(name + SPREAD) is not None:
            content += f" ± {escape(shown(name, row[name + SPREAD]))}"
        heads_row = at == 0 and name not in numeric
        cells.append(
            _cell("th" if heads_row else "td", content, name in numeric, "row" * heads_row)
        )
    return "".join(cells)


def _best(table: Table, name: str) -> str:
    """Return the largest value as shown; "" if all are shown alike."""
    values = [value for row in table.rows if is_number(value := row.get(name))]
    ranked = [value for value in values if not math.isnan(value)]
    texts = {shown(name, value) for value in ranked}
    return shown(name, max(ranked)) if len(texts) > 1 else ""


def _cell(tag: str, content: str, numeric: bool, scope: str) -> str:  # noqa: FBT001 (an attribute)
    attributes = f' scope="{scope}"' * bool(scope) + ' class="number"' * numeric
    return f"<{tag}{attributes}>{content}</{tag}>"


def _figure(figure: Figure, at: int) -> str:
    lines = "\n".join(map(_text, as_bars(figure, _BAR_COLUMNS).split("\n")))
    bars = f"<pre>{lines}</pre>"
    try:
        content = svg_text(figure, f"figure-{at}-")
    except PlotUnavailable:
        content = bars
    else:
        content += f"\n<details><summary>Values</summary>\n{bars}\n</details>"
    return f"<figure>\n<figcaption>{_text(figure.title)}</figcaption>\n{content}\n</figure>"


def _pairs(head: str, pairs: Mapping[str, Cell] | Mapping[str, str]) -> list[str]:
    rows = [
        f'<tr><th scope="row">{_text(name)}</th><td>{escape(shown(name, value))}</td></tr>'
        for name, value in pairs.items()
    ]
    columns = f'<tr><th scope="col">{head}</th><th scope="col">value</th></tr>'
    lines = "\n".join(rows)
    table = f"<table><thead>{columns}</thead>\n<tbody>\n{lines}\n</tbody></table>"
    return [f'<div class="wide">{table}</div>'] if rows else []


def _text(text: str) -> str:
    return escape(printable(text))


Finding = TypeVar("Finding")
_PICTURES = ("svg", "png")
_LONGEST_NAME = 80

_PAGE = "index.html"


def check_folder(folder: Path, *, force: bool = False) -> None:
    """Raise ReportUnwritable or FileInTheWay if a report cannot be written to a folder."""
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
    """Write a report to a folder and return its files, `index.html` first.

    Everything is written to temporary files before the first one is moved into place: an
    interruption or a full disk leaves the earlier report. Other files stay. Files of the same names
    in a folder without a report are replaced only with `force`. `mode` applies before the umask.
    """
    make_folder(folder, mode)
    texts: dict[str, str] = {}
    for name, table in _named(report.tables, [table.name for table in report.tables]):
        texts[f"{name}.csv"] = as_csv([table])
        texts[f"{name}.md"] = as_markdown([table])
    texts["report.json"] = as_json(report)
    page = folder / _PAGE
    # Texts may contain file names that are not valid UTF-8.
    contents = {folder / name: _bytes(text) for name, text in texts.items()}
    contents |= {folder / name: data for name, data in _pictures(report.figures).items()}
    contents[page] = _bytes(as_html(report))
    if not force:
        _refuse_others(page, contents)
    write_files(contents, mode)
    return [page, *(path for path in contents if path != page)]


def _refuse_others(page: Path, contents: Iterable[Path]) -> None:
    """Raise FileInTheWay for files that do not belong to a report."""
    refuse_others(page, "a report", is_page)
    if not page.exists():
        for path in contents:
            refuse_others(path, "part of a report", lambda _beginning: False)


def _pictures(figures: tuple[Figure, ...]) -> dict[str, bytes]:
    """Draw all figures; none without matplotlib, when the page has bars instead."""
    try:
        return {
            f"{name}.{kind}": picture(figure, kind)
            for name, figure in _named(figures, [figure.name for figure in figures])
            for kind in _PICTURES
        }
    except PlotUnavailable:
        return {}


def _named(findings: Sequence[Finding], names: Sequence[str]) -> Iterator[tuple[str, Finding]]:
    """Give each finding a unique and portable file name."""
    taken: set[str] = set()
    for finding, name in zip(findings, names, strict=True):
        stem = re.sub("[^a-z0-9_-]+", "-", name.lower()).strip("-")[:_LONGEST_NAME] or "unnamed"
        numbered = (f"{stem}-{number}" for number in range(2, len(findings) + 2))
        free = next(choice for choice in (stem, *numbered) if choice not in taken)
        taken.add(free)
        yield free, finding


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
