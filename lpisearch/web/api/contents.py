"""Documents, labels, and the state of the library."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.responses import StreamingResponse

from lpisearch import __version__
from lpisearch.errors import BadOption
from lpisearch.model.codec import Findings, json_text, to_json
from lpisearch.model.documents import Document, Entry, Filter, LabelReport, PredictedLabel, Traits
from lpisearch.options import IndexOptions
from lpisearch.web.api.endpoint import (
    BYTES,
    FILTER,
    INDEX,
    LISTING,
    ApiRequest,
    Param,
    Router,
    filter_of,
)
from lpisearch.web.problems import Refusal
from lpisearch.web.state import chunks, open_original

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from lpisearch.model.reports import IndexPlan


_ID = Param("id", "Document id or path", in_path=True)
_IDS = Param("id", "Document id or path; all are removed or none", many=True)
_PDF = "application/pdf"
_PDF_ENDING = ".pdf"
# What a PDF may do where a browser shows it: nothing but be shown.
_PDF_POLICY = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'"
_KINDS = ("label", "index", "document")
_PAGE = 200
_TEXT = {"type": "string"}
ENDPOINTS = Router("Documents")


@dataclass(frozen=True, slots=True)
class LabelRequest:
    """Documents, by name or by a filter, and the labels to add and to remove."""

    documents: tuple[str, ...] = ()
    where: Filter | None = None
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectionRequest:
    """Documents, by name or by a filter; all, if neither is given."""

    documents: tuple[str, ...] = ()
    where: Filter | None = None


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """An index to be built."""

    options: IndexOptions = field(default_factory=IndexOptions)


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of documents, and the number of all."""

    documents: list[Entry]
    total: int


@dataclass(frozen=True, slots=True)
class Removal:
    """The number of removed documents, and notes on labels given by hand to them."""

    removed: int
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of documents for each label, predicted label and split."""

    labels: dict[str, int]
    predicted: dict[str, int]
    splits: dict[str, int]


@dataclass(frozen=True, slots=True)
class Selection:
    """The number of documents concerned."""

    documents: int


@dataclass(frozen=True, slots=True)
class Vectors:
    """A page of vectors, and the number of all."""

    ids: list[str]
    vectors: list[list[float]]
    total: int


@ENDPOINTS.add("GET", "/documents", LISTING, is_cached=True)
def documents(request: ApiRequest) -> Listing:
    """List documents."""
    values = request.values
    page = {"limit": values["limit"], "offset": values["offset"], "sort": values["sort"]}
    return Listing(*request.library.listing(filter_of(values), **page))


@ENDPOINTS.add("DELETE", "/documents", (_IDS, *FILTER), writes=True)
def delete_documents(request: ApiRequest) -> Removal:
    """Remove documents, by ids and paths or by filters."""
    values, notes = request.values, list[str]()
    where = filter_of(values)
    if not values["id"] and where == Filter():
        raise BadOption("id", "give document ids, paths or filters")
    return Removal(request.library.delete(*values["id"], where=where, on_note=notes.append), notes)


@ENDPOINTS.add("GET", "/documents/{id:path}", (_ID,), is_cached=True)
def document(request: ApiRequest) -> Document:
    """Show a document."""
    return request.library.document(request.values["id"])


@ENDPOINTS.add("DELETE", "/documents/{id:path}", (_ID,), writes=True)
def delete_document(request: ApiRequest) -> Removal:
    """Remove a document."""
    notes: list[str] = []
    number = request.library.delete(request.values["id"], on_note=notes.append)
    return Removal(number, notes)


@ENDPOINTS.add("GET", "/export", FILTER, answer=_TEXT, media_type="application/jsonl")
def export(request: ApiRequest) -> StreamingResponse:
    """Export documents as JSON Lines."""
    chosen = filter_of(request.values)
    request.library.listing(chosen, limit=0)  # an invalid filter is refused before the first line
    return StreamingResponse(_in_turns(request, chosen), media_type="application/jsonl")


async def _in_turns(request: ApiRequest, chosen: Filter) -> AsyncIterator[bytes]:
    """Yield the lines, so that any number of exports computes one line at a time."""
    lines = _lines(request, chosen)
    while line := await request.state.in_turn(lambda: next(lines, b"")):
        yield line


def _lines(request: ApiRequest, chosen: Filter) -> Iterator[bytes]:
    """Yield documents page by page, so that no reader keeps one state of the library for long."""
    offset = 0
    while True:
        page, _ = request.library.listing(chosen, limit=_PAGE, offset=offset, sort="added")
        for entry in page:
            line = json_text(to_json(request.library.document(entry.id)))
            yield f"{line}\n".encode()
        offset += _PAGE
        if len(page) < _PAGE:
            return


@ENDPOINTS.add(
    *("GET", "/originals/{id:path}", (_ID,)), answer=BYTES, media_type="application/octet-stream"
)
def original(request: ApiRequest) -> StreamingResponse:
    """Download the original file of a document."""
    shown = request.library.document(request.values["id"])
    stream = open_original(request.state, shown.path)
    name = shown.path.rsplit("/", 1)[-1]
    # A PDF is shown; every other file is saved.
    is_pdf = name.lower().endswith(_PDF_ENDING) and shown.media_type == _PDF
    disposition = "inline" if is_pdf else "attachment"
    headers = {
        "Content-Disposition": f"{disposition}; filename*=UTF-8''{quote(name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": _PDF_POLICY if is_pdf else "sandbox; default-src 'none'",
    }
    kind = _PDF if is_pdf else "application/octet-stream"
    return StreamingResponse(chunks(stream), headers=headers, media_type=kind)


@ENDPOINTS.add("GET", "/labels", is_cached=True)
def labels(request: ApiRequest) -> Counts:
    """Count labels and splits."""
    status = request.library.status()
    return Counts(status["labels"], status["predicted"], status["splits"])


@ENDPOINTS.add(
    *("POST", "/labels"),
    body=LabelRequest,
    writes=True,
    example={"documents": ["letters/first.txt"], "add": ["read"]},
)
def label(request: ApiRequest) -> LabelReport:
    """Add and remove labels."""
    body: LabelRequest = request.body
    if not body.documents and body.where is None:
        raise Refusal(422, "Give documents, or a filter in where.")
    changes = {"add": body.add, "remove": body.remove}
    return request.library.label(*body.documents, where=body.where, **changes)


@ENDPOINTS.add("GET", "/predicted/{id:path}", (_ID,), is_cached=True)
def predicted(request: ApiRequest) -> tuple[PredictedLabel, ...]:
    """Show the predicted labels of a document."""
    return request.library.predicted(request.values["id"])


@ENDPOINTS.add("GET", "/traits/{id:path}", (_ID,), is_cached=True, tag="")
def traits(request: ApiRequest) -> Traits:
    """Show the language and the kind of a document."""
    return request.library.traits(request.values["id"])


@ENDPOINTS.add("POST", "/predicted/forget", body=SelectionRequest, writes=True)
def forget_predicted(request: ApiRequest) -> Selection:
    """Remove predicted labels."""
    body: SelectionRequest = request.body
    return Selection(request.library.forget_predicted(*body.documents, where=body.where))


@ENDPOINTS.add(
    *("GET", "/names"),
    (
        Param("kind", "Kind of name", required=True, choices=_KINDS),
        Param("beginning", "Prefix", default=""),
        Param("limit", "Number to return", "integer", 100, least=0, most=1000, older="most"),
    ),
    is_cached=True,
    tag="",
)
def names(request: ApiRequest) -> list[str]:
    """Complete the name of a label, index or document."""
    values = request.values
    return request.library.names(values["kind"], values["beginning"], values["limit"])


@ENDPOINTS.add(
    *("GET", "/vectors"),
    (
        INDEX,
        Param("limit", "Number to return", "integer", 100, least=0, most=1000),
        Param("offset", "Number to skip", "integer", 0, least=0),
    ),
)
def vectors(request: ApiRequest) -> Vectors:
    """Return the vectors of an index."""
    ids, rows = request.library.vectors(request.values["index"])
    first = request.values["offset"]
    page = slice(first, first + request.values["limit"])
    return Vectors(ids[page], rows[page].tolist(), len(ids))


@ENDPOINTS.add("GET", "/status", answer="Status")
def status(request: ApiRequest) -> dict[str, Any]:
    """Show the contents and state of the library."""
    state = request.state
    job = state.jobs.writing()
    return request.library.status() | {
        "version": __version__,
        "read_only": state.read_only,
        "writer": request.library.writer(),
        "job": None if job is None else job.record(brief=True),
        "state": request.library.state(),
    }


@ENDPOINTS.add("GET", "/doctor")
def doctor(request: ApiRequest) -> Findings:
    """Check for damage."""
    return Findings.of(request.library.examine())


@ENDPOINTS.add("POST", "/plan", body=PlanRequest)
def plan(request: ApiRequest) -> IndexPlan:
    """Estimate the cost of building an index."""
    return request.library.plan(replace(request.body.options, wait_seconds=0.0))
