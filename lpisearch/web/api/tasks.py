"""Uploads, and jobs: ingest, index, predict labels, evaluate, compute dimensions."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lpisearch.files import limited_reading
from lpisearch.messages import Call
from lpisearch.model.codec import ingest_record
from lpisearch.options import (
    MEBIBYTE,
    CategoriesOptions,
    ClassifyOptions,
    ClusterOptions,
    DimensionOptions,
    EvaluateOptions,
    IndexOptions,
    IngestOptions,
    RetrievalOptions,
    SimilarityOptions,
)
from lpisearch.web.api.endpoint import FILE, ApiRequest, Param, Reply, Router
from lpisearch.web.builds import run_apart
from lpisearch.web.problems import Refusal
from lpisearch.web.state import WebState, allowed_folders, allowed_path, save_upload, uploads_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lpisearch.library import Library
    from lpisearch.model.documents import Filter, Progress
    from lpisearch.options import Setting
    from lpisearch.web.jobs import Job, Work


_MOST_DOCUMENT, _MOST_REPEATS, _WAIT_SECONDS = 256 * MEBIBYTE, 1000, 600.0
_MOST_DIMENSIONS = 200
_DUE = ("behind", "rebuild due", "not built here")
_IN_DATABASE = "db"  # in place of a folder
_FIELD = re.compile(r"[\w -]{0,100}")
_LANGUAGES = re.compile(r"[A-Za-z_]*(\+[A-Za-z_]+)*", re.ASCII)
_ID = Param("id", "Job id", in_path=True)
_UPLOADED = Param("name", "File name, optionally with folders", required=True)
_STARTED: dict[str, Any] = {"answer": "Job", "status": 202}
ENDPOINTS = Router("Jobs")


@dataclass(frozen=True, slots=True)
class Upload:
    """A saved file: its path below the folder of uploads, and its size."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """Files and folders below an allowed folder, or the uploads; and how to read them."""

    paths: tuple[str, ...] = ()
    uploads: bool = False
    index: bool = False  # build the index next, if it is missing or out of date
    options: IngestOptions = field(default_factory=IngestOptions)


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """An index to be built."""

    options: IndexOptions = field(default_factory=IndexOptions)


@dataclass(frozen=True, slots=True)
class PredictRequest:
    """Documents to classify, by name or by a filter; all, if neither is given."""

    documents: tuple[str, ...] = ()
    where: Filter | None = None
    labelled: bool = False
    options: ClassifyOptions = field(default_factory=ClassifyOptions)


@dataclass(frozen=True, slots=True)
class EvaluateRequest:
    """An evaluation; at most one of the four kinds of specific options is given."""

    what: str = "all"
    options: EvaluateOptions = field(default_factory=EvaluateOptions)
    categories: CategoriesOptions | None = None
    clusters: ClusterOptions | None = None
    retrieval: RetrievalOptions | None = None
    similarity: SimilarityOptions | None = None
    over: tuple[str, tuple[Setting, ...]] | None = None


@ENDPOINTS.add("POST", "/uploads", (_UPLOADED,), body=FILE, status=201, writes=True)
def upload(request: ApiRequest) -> Upload:
    """Upload a file to ingest later."""
    if request.file is None:
        raise Refusal(400, "No file was sent.")
    with request.file.open("rb") as stream:
        saved = save_upload(request.state, request.values["name"], stream)
    name = saved.relative_to(uploads_folder(request.state)).as_posix()
    return Upload(name, saved.stat().st_size)


@ENDPOINTS.add(
    *("POST", "/jobs/ingest"),
    body=IngestRequest,
    writes=True,
    example={"paths": ["letters"], "index": True},
    **_STARTED,
)
def ingest(request: ApiRequest) -> Reply:
    """Start ingesting files."""
    body: IngestRequest = request.body
    paths = [allowed_path(request.state, path) for path in body.paths]
    if body.uploads:
        paths.append(uploads_folder(request.state))
    if not paths:
        raise Refusal(422, "Give paths or uploads.")
    options = _checked(body.options)
    library = request.library

    def work(job: Job) -> Any:
        def on_progress(seen: Progress) -> None:
            job.report(documents=seen.documents, done=seen.done, total=seen.total)

        _check_again(request.state, body.paths, paths)
        with limited_reading(allowed_folders(request.state)):
            report = library.ingest(*paths, options=options, on_progress=on_progress)
        for due in _due(library) if body.index else ():
            index(replace(request, body=IndexRequest(due)))
        return ingest_record(report, library.path)

    facts = {"paths": [str(path) for path in paths]}
    return _started(request, "ingest", facts, work, writes=True)


def _due(library: Library) -> list[IndexOptions]:
    """Return how to build the indexes that are missing or out of date."""
    facts = library.status()
    if not facts["indexes"]:
        return [IndexOptions()] if facts["documents"] > 1 else []
    parts = (
        part
        for one in facts["indexes"]
        if one["state"] in _DUE
        for part in one["rebuild_command"].parts
        if isinstance(part, Call)
    )
    given = [{option.name: option.value for option in part.options} for part in parts]
    return [IndexOptions(**own) for own in given if "pairs" not in own]


def _check_again(state: WebState, named: Sequence[str], paths: Sequence[Path]) -> None:
    """Refuse names that mean other files or folders than when the job was asked for."""
    if [allowed_path(state, name) for name in named] != list(paths)[: len(named)]:
        raise Refusal(403, "A folder has changed since the job was started.")


def _checked(options: IngestOptions) -> IngestOptions:
    """Refuse options that would read other files than the named ones."""
    read = options.read
    fields = (read.labels, read.split, read.id_field, read.title_field, read.text_field)
    if not all(map(_FIELD.fullmatch, fields)):
        raise Refusal(422, "labels, split and field options must be names, not files.")
    if not _LANGUAGES.fullmatch(read.ocr):
        raise Refusal(422, "ocr must be languages, such as deu+eng.")
    if options.find.follow_links or options.workers or options.cluster:
        raise Refusal(422, "follow_links, workers and clusters are not available over the API.")
    if not 0 < read.max_document_bytes <= _MOST_DOCUMENT:
        raise Refusal(422, f"max_document_bytes must be at most {_MOST_DOCUMENT:,}.")
    if options.batch_documents < 1:
        raise Refusal(422, "batch_documents must be at least 1.")
    return replace(options, wait_seconds=min(options.wait_seconds, _WAIT_SECONDS))


@ENDPOINTS.add(
    *("POST", "/jobs/index"),
    body=IndexRequest,
    writes=True,
    example={"options": {"method": "rlpi"}},
    **_STARTED,
)
def index(request: ApiRequest) -> Reply:
    """Start building an index."""
    options: IndexOptions = request.body.options
    options = replace(options, wait_seconds=min(options.wait_seconds, _WAIT_SECONDS))
    if options.cluster or options.workers:
        raise Refusal(422, "Workers and clusters can only be set on the server.")
    if options.index_store not in {"", _IN_DATABASE}:
        folder = allowed_path(request.state, options.index_store)
        options = replace(options, index_store=str(folder))

    from lpisearch.web.pages.templates import begin_map  # which imports this package

    path = request.library.path

    def work(job: Job) -> Any:
        report = run_apart(job, path, "index", options)
        with suppress(Refusal):  # too many jobs wait
            begin_map(request.state)
        return report

    facts = {"name": options.name, "method": options.method}
    return _started(request, "index", facts, work, writes=True)


@ENDPOINTS.add("POST", "/jobs/predict", body=PredictRequest, writes=True, **_STARTED)
def predict(request: ApiRequest) -> Reply:
    """Start predicting labels."""
    body: PredictRequest = request.body

    def work(job: Job) -> Any:
        return request.library.predict_labels(
            *body.documents,
            where=body.where,
            labelled=body.labelled,
            options=body.options,
            on_progress=lambda done, total: job.report(done=done, total=total),
        )

    return _started(request, "predict", {"documents": len(body.documents)}, work, writes=True)


@ENDPOINTS.add("POST", "/jobs/evaluate", body=EvaluateRequest, **_STARTED)
def evaluate(request: ApiRequest) -> Reply:
    """Start an evaluation."""
    body: EvaluateRequest = request.body
    kinds = (body.categories, body.clusters, body.retrieval, body.similarity)
    chosen = [one for one in kinds if one is not None]
    if len(chosen) > 1:
        raise Refusal(422, "At most one of categories, clusters, retrieval and similarity.")
    if body.options.matrix is not None:
        raise Refusal(422, "Matrices cannot be evaluated over the API.")
    specific: Any = chosen[0] if chosen else None
    if isinstance(specific, RetrievalOptions):
        files = [
            allowed_path(request.state, str(one)) for one in (specific.queries, specific.qrels)
        ]
        specific = replace(specific, queries=files[0], qrels=files[1])
    many = (getattr(specific, "repeats", 1), getattr(specific, "draws", 1))
    if max(many) > _MOST_REPEATS:
        raise Refusal(422, f"At most {_MOST_REPEATS:,} repeats or draws.")

    state = request.state

    def work(job: Job) -> Any:
        return run_apart(job, state.library.path, "evaluate", body, allowed_folders(state))

    return _started(request, "evaluate", {"what": body.what}, work, writes=False)


@ENDPOINTS.add("POST", "/jobs/dimensions", body=DimensionOptions, **_STARTED)
def dimensions(request: ApiRequest) -> Reply:
    """Start computing the dimensions of a sparse model."""
    options: DimensionOptions = request.body
    if not 0 < options.dims <= _MOST_DIMENSIONS:
        raise Refusal(422, f"dims must be between 1 and {_MOST_DIMENSIONS}.")

    path = request.library.path

    def work(job: Job) -> Any:
        return run_apart(job, path, "dimensions", options)

    return _started(request, "dimensions", {"method": options.method}, work, writes=False)


def _started(
    request: ApiRequest, kind: str, facts: dict[str, Any], work: Work, *, writes: bool
) -> Reply:
    job = request.state.jobs.start(kind, facts, work, writes=writes, python=request.python)
    return Reply(job.record(), 202, {"Location": f"/api/v1/jobs/{job.id}"})


@ENDPOINTS.add("GET", "/jobs", answer="Jobs")
def jobs(request: ApiRequest) -> dict[str, Any]:
    """List jobs, newest first."""
    return {"jobs": [job.record(brief=True) for job in request.state.jobs.all()]}


@ENDPOINTS.add("GET", "/jobs/{id}", (_ID,), answer="Job")
def job(request: ApiRequest) -> dict[str, Any]:
    """Show a job."""
    return request.state.jobs.get(request.values["id"]).record()


@ENDPOINTS.add("DELETE", "/jobs/{id}", (_ID,), answer="Job")
def stop_job(request: ApiRequest) -> dict[str, Any]:
    """Stop a job."""
    return request.state.jobs.stop(request.values["id"]).record()
