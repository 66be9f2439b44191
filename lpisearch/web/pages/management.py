"""Pages of the library, its jobs and evaluations, and the login."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse, Response

from lpisearch.config import read_preferences
from lpisearch.errors import LibraryNotFound, LpiSearchError
from lpisearch.model.report_text import (
    SPREAD,
    as_bars,
    higher_is_better,
    is_number,
    is_numeric,
    own_columns,
    shown,
)
from lpisearch.model.reports import Figure, IndexReport, Report, Table
from lpisearch.options import IndexOptions, IngestOptions, ReadOptions
from lpisearch.web.api.tasks import EvaluateRequest, IndexRequest, IngestRequest
from lpisearch.web.api.tasks import evaluate as begin_evaluate
from lpisearch.web.api.tasks import index as begin_index
from lpisearch.web.api.tasks import ingest as begin_ingest
from lpisearch.web.jobs import DONE, WRITERS, Job
from lpisearch.web.pages.templates import back_to, begin, refuse_read_only, render
from lpisearch.web.problems import Refusal
from lpisearch.web.security import (
    SESSION_SECONDS,
    begin_session,
    end_session,
    is_token,
    session_cookie,
)
from lpisearch.web.state import LONGEST_NAME, WebState, save_upload, state_of, subfolders
from lpisearch.web.watches import watches_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request


_SHOWN_JOBS, _MOST_SKIPPED = 12, 200
_HERE = "/library"
_INVALID = 422
_MIXED = "auto"
_METHODS = ("rlpi", "olpi", "lpi", "lsi")
_VERBS = {
    "ingest": "Add documents",
    "index": "Build the index",
    "evaluate": "Evaluate",
    "predict": "Predict labels",
    "retokenise": "Read texts again",
    "map": "Draw the map",
    "topics": "Find topics",
}


@dataclass(frozen=True, slots=True)
class ShownJob:
    """A job as a page shows it."""

    job: Job
    name: str
    text: str  # its progress or its outcome
    share: float | None  # that is done, from 0 to 1, if known
    skipped: list[tuple[str, str]] = field(default_factory=list)  # files, and why


def library_page(request: Request) -> Response:
    """Show the contents of the library, and forms to change it."""
    shared = state_of(request)
    try:
        status = shared.library.status()
        writer = shared.library.writer()
    except LibraryNotFound:
        status, writer = {}, ""
    return render(
        request,
        "library.html",
        held=status,
        writer=writer,
        jobs=shown_jobs(shared),
        watches=watches_of(shared).all(),
        **chooser(request),
    )


def chooser(request: Request) -> dict[str, Any]:
    """Return what the form that chooses a folder shows."""
    shared, named = state_of(request), request.query_params.get("folder", "")
    roots = list(map(str, shared.roots))
    chosen: dict[str, Any] = {"roots": roots, "home": "", "folder": "", "folders": [], "files": 0}
    if shared.can_allow_home:
        return chosen | {"home": str(Path.home())}
    if roots and not shared.read_only:
        folder, inside, files = subfolders(shared, named or roots[0])
        above = str(folder.parent) if str(folder) not in roots else ""
        chosen |= {"folder": str(folder), "folders": inside, "files": files, "above": above}
    return chosen


async def allow_home(request: Request) -> Response:
    """Allow the home folder of the person at this machine, who was asked for it."""
    refuse_read_only(request)
    shared = state_of(request)
    async with request.form() as form:
        if not shared.can_allow_home or form.get("allow") != "home":
            raise Refusal(403, "The home folder can only be allowed on the server’s own machine.")
    await run_in_threadpool(shared.allow, Path.home())
    return back_to(f"{_HERE}#folder")


def advanced_page(request: Request) -> Response:
    """Show what few need: methods, evaluation, classification, health."""
    return render(request, "advanced.html", methods=_METHODS)


def settings_page(request: Request) -> Response:
    """Show the settings of the browser, the library and the server."""
    shared = state_of(request)
    try:
        status = shared.library.status()
        languages = shared.library.facets().languages
    except LibraryNotFound:
        status, languages = {}, ()
    try:
        chosen = read_preferences(shared.library.path).values
    except LpiSearchError:  # of a file that the user is writing
        chosen = {}
    rows = [(key, str(one.value), one.origin) for key, own in chosen.items() for one in own[-1:]]
    return render(
        request,
        "settings.html",
        language=status.get("language") or "",
        mixed=bool(status.get("languages")),
        languages=languages,
        roots=list(map(str, shared.roots)),
        path=str(shared.library.path),
        preferences=rows if shared.settings.is_local else [],
    )


async def set_language(request: Request) -> Response:
    """Read the texts of all documents again in another language, and build the index anew."""
    refuse_read_only(request)
    async with request.form() as form:
        language = str(form.get("language", _MIXED))
    shared = state_of(request)
    known = {one.value for one in (await run_in_threadpool(shared.library.facets)).languages}
    if language not in {_MIXED, *known}:
        raise Refusal(_INVALID, "Choose a language of the library.")

    def work(_job: Job) -> int:
        read = shared.library.retokenise(language)
        begin(request, begin_index, IndexRequest(IndexOptions()))
        return read

    shared.jobs.start("retokenise", {"language": language}, work, writes=True)
    return back_to(f"{_HERE}#jobs")


def health(request: Request) -> Response:
    """Check the library, and show the findings."""
    return render(request, "health.html", findings=state_of(request).library.examine())


def jobs_part(request: Request) -> Response:
    """Show the jobs, as part of a page."""
    shared = state_of(request)
    return render(request, "jobs.html", jobs=shown_jobs(shared), writer=shared.library.writer())


def shown_jobs(shared: WebState) -> list[ShownJob]:
    """Return the newest jobs, newest first."""
    newest = [
        shared.jobs.get(job.id) if job.state == DONE and job.kind in WRITERS else job
        for job in shared.jobs.all()[:_SHOWN_JOBS]
    ]
    return [
        ShownJob(job, _VERBS.get(job.kind, job.kind), *_progress(job), _skipped(job))
        for job in newest
    ]


def _progress(job: Job) -> tuple[str, float | None]:
    """Return the progress or the outcome of a job, and the share that is done."""
    if job.problem:
        return str(job.problem.get("detail", "")), None
    if job.result is not None:
        return _outcome(job.kind, job.result), 1.0
    progress = job.progress
    total, done = progress.get("total") or 0, progress.get("done") or 0
    text = str(progress.get("stage") or progress.get("part") or "")
    if progress.get("documents"):
        text = f"{progress['documents']:,} documents"
    return text, done / total if total else None


def _skipped(job: Job) -> list[tuple[str, str]]:
    """Return the files that an ingest did not add, and why."""
    skipped = [(str(name), str(why)) for name, why in job.asked.get("skipped", ())]
    if job.kind == "ingest" and isinstance(job.result, dict):
        skipped += [
            (str(one["path"]), str(one["reason"])) for one in job.result.get("failures", ())
        ]
        skipped += [
            (f"*{kind}: {count:,}", "unsupported format")
            for kind, count in (job.result.get("skipped") or {}).items()
        ]
    return skipped[:_MOST_SKIPPED]


def _outcome(kind: str, result: Any) -> str:
    if isinstance(result, IndexReport):
        return f"{result.documents:,} documents, {result.dims} dimensions"
    if kind == "ingest":
        names = ("added", "updated", "unchanged", "removed", "failed")
        return ", ".join(f"{result[name]:,} {name}" for name in names if result.get(name)) or "done"
    return "done"


async def ingest(request: Request) -> Response:
    """Start ingesting a folder of the server."""
    refuse_read_only(request)
    async with request.form() as form:
        path, labels = str(form.get("path", "")).strip(), str(form.get("labels", ""))
        watched = form.get("watch") == "yes"
    await run_in_threadpool(_begin_ingest, request, labels, (path,), uploads=False)
    if watched:
        await run_in_threadpool(watches_of(state_of(request)).add, path)
    return back_to(f"{_HERE}#jobs")


async def unwatch(request: Request) -> Response:
    """Watch a folder no longer."""
    refuse_read_only(request)
    async with request.form() as form:
        folder = str(form.get("folder", ""))
    await run_in_threadpool(watches_of(state_of(request)).remove, folder)
    return back_to(f"{_HERE}#folder")


async def upload(request: Request) -> Response:
    """Save files that were dropped, and start ingesting them."""
    refuse_read_only(request)
    shared = state_of(request)
    async with request.form(max_files=shared.settings.limits.upload_files) as form:
        labels = str(form.get("labels", ""))
        sent = [one for one in form.getlist("files") if isinstance(one, UploadFile)]
        named = [one for one in sent if one.filename]
        if not named:
            raise Refusal(422, "No file was chosen.")
        skipped = await run_in_threadpool(_save, shared, named)
    if len(skipped) == len(named):
        raise Refusal(422, f"No file was added: {skipped[0][0]}: {skipped[0][1]}")
    job = await run_in_threadpool(_begin_ingest, request, labels, (), uploads=True)
    shared.jobs.get(job).asked["skipped"] = skipped
    return back_to(f"{_HERE}#jobs")


def _save(shared: WebState, sent: list[UploadFile]) -> list[tuple[str, str]]:
    """Save the files that can be; return the others, and why they cannot."""
    skipped = []
    for one in sent:
        try:
            save_upload(shared, one.filename or "", one.file)
        except Refusal as error:
            name = one.filename or ""
            long = len(name.encode()) > LONGEST_NAME
            why = "The name is too long." if error.status == _INVALID and long else error.detail
            skipped.append((name[:LONGEST_NAME], why))
    return skipped


def _begin_ingest(request: Request, labels: str, paths: tuple[str, ...], *, uploads: bool) -> str:
    read = ReadOptions(labels="folder" if labels == "folder" else ReadOptions().labels)
    body = IngestRequest(paths, uploads, index=True, options=IngestOptions(read=read))
    return begin(request, begin_ingest, body)


async def index(request: Request) -> Response:
    """Start building the index."""
    refuse_read_only(request)
    async with request.form() as form:
        method, labels = str(form.get("method", "")), str(form.get("labels", ""))
    options = IndexOptions(
        method=method if method in _METHODS else IndexOptions().method,
        labels="use" if labels == "use" else "ignore",
    )
    await run_in_threadpool(begin, request, begin_index, IndexRequest(options))
    return back_to(f"{_HERE}#jobs")


async def stop(request: Request) -> Response:
    """Stop a job."""
    refuse_read_only(request)
    async with request.form() as form:
        job = str(form.get("job", ""))
    await run_in_threadpool(state_of(request).jobs.stop, job)
    return back_to(f"{_HERE}#jobs")


_KINDS = ("all", "similarity", "classify", "cluster")
_COLUMNS = 72
_NONE = "\0"


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table as a page shows it: heads, and cells as (text, is a number, is the best)."""

    title: str
    heads: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[tuple[str, bool, bool], ...], ...]
    notes: tuple[str, ...]


def evaluation_page(request: Request) -> Response:
    """Show the latest report, and the form that starts an evaluation."""
    shared = state_of(request)
    jobs = [one for one in shown_jobs(shared) if one.job.kind == "evaluate"]
    done = next((one.job for one in jobs if one.job.state == DONE), None)
    done = None if done is None else shared.jobs.get(done.id)  # with its result
    report: Report | None = None if done is None else done.result
    return render(
        request,
        "evaluation.html",
        report=report,
        job=done,
        tables=[_table(table) for table in report.tables] if report else [],
        figures=[_figure(figure) for figure in report.figures] if report else [],
        jobs=[one for one in jobs if one.job is not done],
        kinds=_KINDS,
        writer="",
    )


async def evaluate(request: Request) -> Response:
    """Start an evaluation."""
    async with request.form() as form:
        what = str(form.get("what", ""))
    body = EvaluateRequest(what if what in _KINDS else _KINDS[0])
    await run_in_threadpool(begin, request, begin_evaluate, body)
    return back_to("/evaluation#jobs")


def _table(table: Table) -> ShownTable:
    columns = own_columns(table)
    numeric = {name for name in columns if is_numeric(table, name)}
    best = {name: _best(table, name) for name in numeric if higher_is_better(name)}
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
    """Return the largest value as text, or one that no cell has if all are alike."""
    values = [value for row in table.rows if is_number(value := row.get(name))]
    texts = {shown(name, value) for value in values}
    return shown(name, max(values)) if len(texts) > 1 else _NONE


def _figure(figure: Figure) -> tuple[str, str]:
    """Return the title of a figure, and its bars without it."""
    return figure.title, as_bars(figure, _COLUMNS).removeprefix(f"{figure.title}\n")


# A local address: it begins with one slash, and thus names no other server.
_LOCAL = re.compile(r"/(?![/\\])[^\\\r\n\t]{0,2000}", re.ASCII)
_PAUSE_SECONDS = 0.5


async def login(request: Request) -> Response:
    """Show the form for the token, or check it."""
    state = state_of(request)
    address = request.query_params.get("next", "/")
    address = address if _LOCAL.fullmatch(address) else "/"
    if request.method != "POST":
        return render(request, "login.html", wrong=False)
    form = await request.form(max_files=0, max_fields=10)
    token, right = form.get("token", ""), state.settings.token
    if not (isinstance(token, str) and right and is_token(token, right)):
        await asyncio.sleep(_PAUSE_SECONDS)
        return render(request, "login.html", wrong=True, status=401)
    response = RedirectResponse(address, 303)
    response.set_cookie(
        *(
            session_cookie(state),
            await state.recorded(partial(begin_session, state)),
            SESSION_SECONDS,
        ),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


async def logout(request: Request) -> Response:
    """End the session of a browser."""
    state, cookie = state_of(request), request.cookies.get(session_cookie(state_of(request)), "")
    await state.recorded(partial(end_session, state, cookie))
    response = RedirectResponse("/login", 303)
    response.delete_cookie(session_cookie(state), httponly=True, samesite="strict")
    return response
