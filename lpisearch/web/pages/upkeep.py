"""Library page: contents, health, uploads, index and jobs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from lpisearch.errors import LibraryNotFound, LpiSearchError
from lpisearch.settings import IndexOptions, IngestOptions, ReadOptions
from lpisearch.web.api.working import ToIndex, ToIngest
from lpisearch.web.api.working import index as begin_index
from lpisearch.web.api.working import ingest as begin_ingest
from lpisearch.web.files import save_upload
from lpisearch.web.pages.rendering import apology, render
from lpisearch.web.pages.writing import back_to, begin, refuse_read_only
from lpisearch.web.problems import Refused
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from lpisearch.web.jobs.job import Job
    from lpisearch.web.state import WebState

_SHOWN_JOBS = 12
_PIECE = 1 << 18
_HERE = "/library"
_METHODS = ("rlpi", "olpi", "lpi", "lsi")
_VERBS = {
    "ingest": "Add documents",
    "index": "Build the index",
    "evaluate": "Evaluate",
    "predict": "Predict labels",
}


@dataclass(frozen=True, slots=True)
class ShownJob:
    """A job as the page shows it.

    Attributes
    ----------
    job
        As it is.
    name
        What it does.
    said
        How far it has come, or how it ended.
    share
        How much is done, from 0 to 1; None where that is not known.
    """

    job: Job
    name: str
    said: str
    share: float | None


def library_page(request: Request) -> Response:
    """Show what the library holds, and what can be done with it."""
    shared = state_of(request)
    try:
        status = shared.library.status()
        writer = shared.library.writer()
    except LibraryNotFound:
        status, writer = {}, ""
    except LpiSearchError as error:
        return apology(request, error)
    return render(
        request,
        "library.html",
        held=status,
        writer=writer,
        jobs=shown_jobs(shared),
        roots=shared.settings.roots,
        methods=_METHODS,
    )


def health(request: Request) -> Response:
    """Examine the library, and show what was found."""
    try:
        findings = state_of(request).library.examine()
    except LpiSearchError as error:
        return apology(request, error)
    return render(request, "health.html", findings=findings)


def jobs_part(request: Request) -> Response:
    """Show the jobs as they are, as part of a page."""
    shared = state_of(request)
    return render(request, "jobs.html", jobs=shown_jobs(shared), writer=shared.library.writer())


def shown_jobs(shared: WebState) -> list[ShownJob]:
    """Return the newest jobs, the newest first."""
    return [
        ShownJob(job, _VERBS.get(job.kind, job.kind), *_far(job))
        for job in shared.jobs.all()[:_SHOWN_JOBS]
    ]


def _far(job: Job) -> tuple[str, float | None]:
    """Say how far a job has come, or how it ended."""
    if job.problem:
        return str(job.problem.get("detail", "")), None
    if job.result is not None:
        return _outcome(job.kind, job.result), 1.0
    progress = job.progress
    total, done = progress.get("total") or 0, progress.get("done") or 0
    said = str(progress.get("stage") or progress.get("part") or "")
    if progress.get("documents"):
        said = f"{progress['documents']:,} documents"
    return said, done / total if total else None


def _outcome(kind: str, result: Mapping[str, Any]) -> str:
    if kind == "ingest":
        names = ("added", "updated", "unchanged", "removed", "failed")
        return ", ".join(f"{result[name]:,} {name}" for name in names if result.get(name)) or "done"
    if kind == "index":
        return f"{result['documents']:,} documents, {result['dims']} dimensions"
    return "done"


async def ingest(request: Request) -> Response:
    """Begin to bring in a folder that was named."""
    refuse_read_only(request)
    async with request.form() as form:
        path, labels = str(form.get("path", "")).strip(), str(form.get("labels", ""))
    await run_in_threadpool(_begin_ingest, request, labels, (path,), uploads=False)
    return back_to(f"{_HERE}#jobs")


async def upload(request: Request) -> Response:
    """Keep files that were dropped, and begin to bring them in."""
    refuse_read_only(request)
    shared = state_of(request)
    async with request.form(max_files=shared.settings.limits.upload_files) as form:
        labels = str(form.get("labels", ""))
        sent = [each for each in form.getlist("files") if isinstance(each, UploadFile)]
        named = [each for each in sent if each.filename]
        if not named:
            raise Refused(422, "No file was chosen.")
        await run_in_threadpool(_save, shared, named)
    await run_in_threadpool(_begin_ingest, request, labels, (), uploads=True)
    return back_to(f"{_HERE}#jobs")


def _save(shared: WebState, sent: list[UploadFile]) -> None:
    for each in sent:
        save_upload(shared, each.filename or "", iter(partial(each.file.read, _PIECE), b""))


def _begin_ingest(request: Request, labels: str, paths: tuple[str, ...], *, uploads: bool) -> None:
    read = ReadOptions(labels="folder" if labels == "folder" else ReadOptions().labels)
    body = ToIngest(paths, uploads, IngestOptions(read=read))
    begin(request, begin_ingest, body)


async def index(request: Request) -> Response:
    """Begin to build the index."""
    refuse_read_only(request)
    async with request.form() as form:
        method, labels = str(form.get("method", "")), str(form.get("labels", ""))
    options = IndexOptions(
        method=method if method in _METHODS else IndexOptions().method,
        labels="use" if labels == "use" else "ignore",
    )
    await run_in_threadpool(begin, request, begin_index, ToIndex(options))
    return back_to(f"{_HERE}#jobs")


async def stop(request: Request) -> Response:
    """Let a job end."""
    refuse_read_only(request)
    async with request.form() as form:
        state_of(request).jobs.stop(str(form.get("job", "")))
    return back_to(f"{_HERE}#jobs")
