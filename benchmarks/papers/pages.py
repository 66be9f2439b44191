"""The pages: one for each paper, one over all, and each table as JSON and pictures."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from benchmarks.papers.overview import overview
from lpisearch.evaluation.plots import draw
from lpisearch.index.pipeline import library_versions
from lpisearch.model.report_text import as_json, as_markdown
from lpisearch.model.reports import Report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.papers.tables import Findings, Paper, PaperTable

_MADE = re.compile(r"([\d,]+) of [\d,]+ measurements")
_SECTION = re.compile(r"<!-- (\S+) -->\n(.*?)<!-- end -->\n", re.DOTALL)


def write_table(folder: Path, paper: Paper, table: PaperTable, form: str, found: Findings) -> None:
    """Write one table as JSON and pictures, and put it into the page of its paper."""
    folder.mkdir(parents=True, exist_ok=True)
    report = Report(
        title=f"{paper.name}: {table.title}",
        command=f"python -m benchmarks.papers {table.name} --{form}",
        parameters={
            "form": form,
            "extent": found.extent,
            "measured": found.measured,
            "commits": ", ".join(f"{name}: {' '.join(own)}" for name, own in found.commits.items()),
        },
        versions=library_versions(),
        tables=(*(each.details() for each in found.comparisons), *found.tables),
        figures=found.figures,
    )
    (folder / f"{table.name}.json").write_text(as_json(report), encoding="utf-8")
    for figure in found.figures:
        draw(figure, folder / f"{figure.name}.svg")
    page = folder / f"{paper.name}.md"
    sections = dict(_SECTION.findall(page.read_text(encoding="utf-8"))) if page.exists() else {}
    sections[table.name] = section(table, form, found)
    page.write_text(page_text(paper, sections), encoding="utf-8")


def behind_page(folder: Path, table: PaperTable, form: str, parts: int) -> int:
    """Return how many of the measurements that a form takes the page of a table rests on."""
    path = folder / f"{table.name}.json"
    if not path.exists():
        return 0
    parameters = json.loads(path.read_text(encoding="utf-8"))["parameters"]
    if parameters["form"] != form:
        return 0
    # Pages of before say it in words alone: where they do not, they have all.
    said = _MADE.search(parameters["extent"])
    made = int(said[1].replace(",", "")) if said else parts
    return int(parameters.get("measured", made))


def write_overview(folder: Path, papers: tuple[Paper, ...]) -> None:
    """Write the page over all papers from the tables that are there."""
    (folder / "README.md").write_text(overview(folder, papers), encoding="utf-8")


def page_text(paper: Paper, sections: dict[str, str]) -> str:
    """Return the page of a paper, its tables in order."""
    how = (
        "Written by `make papers`. Every cell of a comparison is *paper / measured ± standard "
        "deviation (draws) / difference*; – marks a missing value. In the row of averages, ± is "
        "the standard error of the average, and the number of draws is the smallest of all rows."
    )
    parts = [f"# {paper.title}", paper.source, how, paper.protocol.strip()]
    parts += [
        f"<!-- {table.name} -->\n{sections[table.name]}<!-- end -->"
        for table in paper.tables
        if table.name in sections
    ]
    return "\n\n".join(parts) + "\n"


def section(table: PaperTable, form: str, found: Findings) -> str:
    """Return one table as Markdown."""
    shown = [each.side_by_side() for each in found.comparisons] + list(found.tables)
    text = as_markdown(shown).replace("\n## ", "\n### ")
    parts = [
        f"## {table.title}",
        f"`python -m benchmarks.papers {table.name} --{form}`. {_form(form)}: {found.extent}",
        _measured_on(found.commits),
        f"#{text}" if text.startswith("## ") else text,
        *(f"![{figure.title}]({figure.name}.svg)" for figure in found.figures),
    ]
    if table.reasons:
        parts += ["**Differences and their causes.**", table.reasons]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n\n"


def _measured_on(commits: Mapping[str, Sequence[str]]) -> str:
    """Say on which commits the methods were measured."""
    by_commit: dict[str, list[str]] = {}
    for method, own in commits.items():
        for commit in own:
            by_commit.setdefault(commit, []).append(f"`{method}`")
    said = [
        f"{commit or 'commits before this was kept'} ({', '.join(methods)})"
        for commit, methods in sorted(by_commit.items())
    ]
    return f"Measured on {', '.join(said)}." if said else ""


def _form(form: str) -> str:
    return "The short form" if form == "short" else "The full form"
