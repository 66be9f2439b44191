"""The report of an evaluation as a page: tables with the best values, figures as bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from lpisearch.records import Figure, Series, Table
from lpisearch.reports.bars import as_bars
from lpisearch.reports.cells import SPREAD, is_number, is_numeric, more_is_better, shown
from lpisearch.reports.common import own_columns
from lpisearch.web.api.working import ToEvaluate
from lpisearch.web.api.working import evaluate as begin_evaluate
from lpisearch.web.jobs.job import DONE
from lpisearch.web.pages.rendering import render
from lpisearch.web.pages.upkeep import shown_jobs
from lpisearch.web.pages.writing import back_to, begin
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

_KINDS = ("all", "similarity", "classify", "cluster")
_COLUMNS = 72
_NONE = "\0"


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table as the page shows it: cells as texts, the best of each measure told."""

    title: str
    heads: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[tuple[str, bool, bool], ...], ...]
    notes: tuple[str, ...]


def evaluation_page(request: Request) -> Response:
    """Show the newest report there is, and the form that begins another."""
    shared = state_of(request)
    jobs = [each for each in shown_jobs(shared) if each.job.kind == "evaluate"]
    done = next((each.job for each in jobs if each.job.state == DONE), None)
    report: Mapping[str, Any] = done.result if done is not None and done.result else {}
    return render(
        request,
        "evaluation.html",
        report=report,
        job=done,
        tables=[_table(each) for each in report.get("tables", ())],
        figures=[_figure(each) for each in report.get("figures", ())],
        jobs=[each for each in jobs if each.job is not done],
        kinds=_KINDS,
        writer="",
    )


async def evaluate(request: Request) -> Response:
    """Begin to measure; it changes nothing, and is one of the jobs that read."""
    async with request.form() as form:
        what = str(form.get("what", ""))
    body = ToEvaluate(what if what in _KINDS else _KINDS[0])
    await run_in_threadpool(begin, request, begin_evaluate, body)
    return back_to("/evaluation#jobs")


def _table(said: Mapping[str, Any]) -> ShownTable:
    table = Table(said["name"], said["title"], tuple(said["rows"]), tuple(said["notes"]))
    columns = own_columns(table)
    numeric = {name for name in columns if is_numeric(table, name)}
    best = {name: _best(table, name) for name in numeric if more_is_better(name)}
    rows = tuple(
        tuple(
            (
                _cell(row, name),
                name in numeric,
                best.get(name, _NONE) == shown(name, row.get(name)),
            )
            for name in columns
        )
        for row in table.rows
    )
    heads = tuple((name.replace("_", " "), name in numeric) for name in columns)
    return ShownTable(table.title or table.name, heads, rows, table.notes)


def _cell(row: Mapping[str, Any], name: str) -> str:
    text = shown(name, row.get(name))
    spread = row.get(name + SPREAD)
    return f"{text} ± {shown(name, spread)}" if text and spread is not None else text


def _best(table: Table, name: str) -> str:
    """Return the largest value as it is shown; one that none is, where they are all alike."""
    values = [value for row in table.rows if is_number(value := row.get(name))]
    texts = {shown(name, value) for value in values}
    return shown(name, max(values)) if len(texts) > 1 else _NONE


def _figure(said: Mapping[str, Any]) -> tuple[str, str]:
    series = tuple(
        Series(
            each["name"],
            tuple(each["x"]),
            tuple(each["y"]),
            None if each["spread"] is None else tuple(each["spread"]),
        )
        for each in said["series"]
    )
    names = {name: str(said[name]) for name in ("name", "title", "x_label", "y_label")}
    figure = Figure(**names, series=series, log_x=bool(said["log_x"]), groups=tuple(said["groups"]))
    # The title stands above the bars already.
    return figure.title, as_bars(figure, _COLUMNS).removeprefix(f"{figure.title}\n")
