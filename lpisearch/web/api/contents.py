"""Documents, labels, state."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.responses import StreamingResponse

from lpisearch import __version__
from lpisearch.model.codec import (
    document_record,
    entry_record,
    findings_record,
    json_text,
    label_record,
    plan_record,
    status_record,
)
from lpisearch.options import IndexOptions
from lpisearch.web.api.endpoint import FILTER, INDEX, LISTING, Endpoint, Param, filter_of
from lpisearch.web.problems import Refusal
from lpisearch.web.uploads import open_original, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.model.documents import Filter
    from lpisearch.web.api.endpoint import ApiRequest


_ID = Param("id", "Document id or path", in_path=True)
_IDS = Param("id", "Document id or path; all are removed or none", many=True, required=True)
_PDF = "application/pdf"
_PDF_ENDING = ".pdf"
# What a PDF may do where a browser shows it: nothing but be shown.
_PDF_POLICY = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class LabelRequest:
    """Documents, by name or by a filter, and what labels to give them and to take away."""

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
    """What is to be built."""

    options: IndexOptions = field(default_factory=IndexOptions)


def documents(request: ApiRequest) -> dict[str, Any]:
    """List documents."""
    values = request.values
    page = {"limit": values["limit"], "offset": values["offset"], "sort": values["sort"]}
    found, total = request.library.listing(filter_of(values), **page)
    return {"documents": [entry_record(entry) for entry in found], "total": total}


def document(request: ApiRequest) -> dict[str, Any]:
    """Show one document."""
    return document_record(request.library.document(request.values["id"]))


def delete_document(request: ApiRequest) -> dict[str, Any]:
    """Remove one document."""
    return {"removed": request.library.delete(request.values["id"])}


def delete_documents(request: ApiRequest) -> dict[str, Any]:
    """Remove documents."""
    return {"removed": request.library.delete(*request.values["id"])}


def export(request: ApiRequest) -> StreamingResponse:
    """Give whole documents, a line of JSON each."""
    wanted = filter_of(request.values)
    request.library.listing(wanted, limit=0)  # a filter that cannot work is said before it begins
    return StreamingResponse(_lines(request, wanted), media_type="application/jsonl")


def _lines(request: ApiRequest, wanted: Filter) -> Iterator[bytes]:
    """Yield documents page by page, so that no reader keeps one state of the library for long."""
    size, offset = 200, 0
    while True:
        found, _ = request.library.listing(wanted, limit=size, offset=offset, sort="added")
        for entry in found:
            yield f"{json_text(document_record(request.library.document(entry.id)))}\n".encode()
        offset += size
        if len(found) < size:
            return


def original(request: ApiRequest) -> StreamingResponse:
    """Give the file that a document came from: a PDF to be shown, all others to be kept."""
    found = request.library.document(request.values["id"])
    stream = open_original(request.state, found.path)
    name = found.path.rsplit("/", 1)[-1]
    is_pdf = name.lower().endswith(_PDF_ENDING) and found.media_type == _PDF
    how = "inline" if is_pdf else "attachment"
    headers = {
        "Content-Disposition": f"{how}; filename*=UTF-8''{quote(name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": _PDF_POLICY if is_pdf else "sandbox; default-src 'none'",
    }
    kind = _PDF if is_pdf else "application/octet-stream"
    return StreamingResponse(pieces(stream), headers=headers, media_type=kind)


def labels(request: ApiRequest) -> dict[str, Any]:
    """Count labels."""
    found = request.library.status()
    return {name: found[name] for name in ("labels", "predicted", "splits")}


def label(request: ApiRequest) -> dict[str, Any]:
    """Give and take labels."""
    body: LabelRequest = request.body
    if not body.documents and body.where is None:
        raise Refusal(422, "Give documents, or a filter in where.")
    given = {"add": body.add, "remove": body.remove}
    return label_record(request.library.label(*body.documents, where=body.where, **given))


def predicted(request: ApiRequest) -> list[dict[str, Any]]:
    """Give what was predicted for a document."""
    return [each._asdict() for each in request.library.predicted(request.values["id"])]


def forget_predicted(request: ApiRequest) -> dict[str, Any]:
    """Remove predicted labels."""
    body: SelectionRequest = request.body
    return {"documents": request.library.forget_predicted(*body.documents, where=body.where)}


def names(request: ApiRequest) -> list[str]:
    """Complete a name."""
    values = request.values
    return request.library.names(values["kind"], values["beginning"], values["most"])


def vectors(request: ApiRequest) -> dict[str, Any]:
    """Give the vectors of an index, a page at a time."""
    ids, rows = request.library.vectors(request.values["index"])
    first = request.values["offset"]
    part = slice(first, first + request.values["limit"])
    return {"ids": ids[part], "vectors": rows[part].tolist(), "total": len(ids)}


def status(request: ApiRequest) -> dict[str, Any]:
    """Say what the library holds, who writes to it, and how it is served."""
    state = request.state
    job = state.jobs.writing()
    return status_record(request.library.status()) | {
        "version": __version__,
        "read_only": state.read_only,
        "writer": request.library.writer(),
        "job": None if job is None else job.record(brief=True),
        "state": request.library.state(),
    }


def doctor(request: ApiRequest) -> dict[str, Any]:
    """Look for damage."""
    return findings_record(request.library.examine())


def plan(request: ApiRequest) -> dict[str, Any]:
    """Say what building an index will take."""
    return plan_record(request.library.plan(replace(request.body.options, wait_seconds=0.0)))


_COUNT = {"type": "object", "additionalProperties": {"type": "integer"}}
_KINDS = ("label", "index", "document")
_REMOVED = {
    "type": "object",
    "required": ["removed"],
    "properties": {"removed": {"type": "integer"}},
}
ENDPOINTS = (
    Endpoint(
        *("GET", "/documents", "documents", documents, "List documents", "Listing", LISTING),
        lasts=True,
    ),
    Endpoint(
        *("DELETE", "/documents", "deleteDocuments", delete_documents, "Remove documents"),
        *(_REMOVED, (_IDS,)),
        writes=True,
    ),
    Endpoint(
        *("GET", "/documents/{id:path}", "document", document, "Show a document"),
        *("Document", (_ID,)),
        lasts=True,
    ),
    Endpoint(
        *("DELETE", "/documents/{id:path}", "deleteDocument", delete_document),
        *("Remove a document", _REMOVED, (_ID,)),
        writes=True,
    ),
    Endpoint(
        *("GET", "/export", "export", export, "Export documents as JSON Lines"),
        *({"type": "string"}, FILTER),
        media_type="application/jsonl",
    ),
    Endpoint(
        *("GET", "/originals/{id:path}", "original", original),
        *("Download the original file of a document", {"type": "string"}, (_ID,)),
        media_type="application/octet-stream",
    ),
    Endpoint(
        *("GET", "/labels", "labels", labels, "Count labels and splits"),
        {
            "type": "object",
            "properties": {"labels": _COUNT, "predicted": _COUNT, "splits": _COUNT},
        },
        lasts=True,
    ),
    Endpoint(
        *("POST", "/labels", "label", label, "Add and remove labels"),
        *("LabelReport", (), LabelRequest),
        writes=True,
    ),
    Endpoint(
        *("GET", "/predicted/{id:path}", "predicted", predicted),
        "Show the predicted labels of a document",
        *({"type": "array", "items": {"$ref": "#/components/schemas/PredictedLabel"}}, (_ID,)),
        lasts=True,
    ),
    Endpoint(
        *("POST", "/predicted/forget", "forgetPredicted", forget_predicted),
        "Remove predicted labels",
        {"type": "object", "properties": {"documents": {"type": "integer"}}},
        *((), SelectionRequest),
        writes=True,
    ),
    Endpoint(
        *("GET", "/names", "names", names, "Complete the name of a label, index or document"),
        {"type": "array", "items": {"type": "string"}},
        (
            Param("kind", "Kind of name", required=True, choices=_KINDS),
            Param("beginning", "Prefix", default=""),
            Param("most", "Number to return", "integer", 100, least=0, most=1000),
        ),
        lasts=True,
    ),
    Endpoint(
        *("GET", "/vectors", "vectors", vectors, "Return the vectors of an index"),
        "Vectors",
        (
            INDEX,
            Param("limit", "Number to return", "integer", 100, least=0, most=1000),
            Param("offset", "Number to skip", "integer", 0, least=0),
        ),
    ),
    Endpoint(
        "GET", "/status", "status", status, "Show the contents and state of the library", "Status"
    ),
    Endpoint("GET", "/doctor", "doctor", doctor, "Check for damage", "Findings"),
    Endpoint(
        *("POST", "/plan", "plan", plan, "Estimate the cost of building an index"),
        *("IndexPlan", (), PlanRequest),
    ),
)
