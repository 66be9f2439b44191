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
from lpisearch.web.problems import Refused
from lpisearch.web.uploads import open_original, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.model.documents import Filter
    from lpisearch.web.api.endpoint import Asked


_ID = Param("id", "Document id or path", in_path=True)
_IDS = Param("id", "Document id or path; all are removed or none", many=True, required=True)
_PDF = "application/pdf"
_PDF_ENDING = ".pdf"
# What a PDF may do where a browser shows it: nothing but be shown.
_PDF_POLICY = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class ToLabel:
    """Documents, by name or by a filter, and what labels to give them and to take away."""

    documents: tuple[str, ...] = ()
    where: Filter | None = None
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chosen:
    """Documents, by name or by a filter; all, if neither is given."""

    documents: tuple[str, ...] = ()
    where: Filter | None = None


@dataclass(frozen=True, slots=True)
class ToPlan:
    """What is to be built."""

    options: IndexOptions = field(default_factory=IndexOptions)


def documents(asked: Asked) -> dict[str, Any]:
    """List documents."""
    values = asked.values
    page = {"limit": values["limit"], "offset": values["offset"], "sort": values["sort"]}
    found, total = asked.library.listing(filter_of(values), **page)
    return {"documents": [entry_record(entry) for entry in found], "total": total}


def document(asked: Asked) -> dict[str, Any]:
    """Show one document."""
    return document_record(asked.library.document(asked.values["id"]))


def delete_document(asked: Asked) -> dict[str, Any]:
    """Remove one document."""
    return {"removed": asked.library.delete(asked.values["id"])}


def delete_documents(asked: Asked) -> dict[str, Any]:
    """Remove documents."""
    return {"removed": asked.library.delete(*asked.values["id"])}


def export(asked: Asked) -> StreamingResponse:
    """Give whole documents, a line of JSON each."""
    wanted = filter_of(asked.values)
    asked.library.listing(wanted, limit=0)  # a filter that cannot work is said before it begins
    return StreamingResponse(_lines(asked, wanted), media_type="application/jsonl")


def _lines(asked: Asked, wanted: Filter) -> Iterator[bytes]:
    """Yield documents page by page, so that no reader keeps one state of the library for long."""
    size, offset = 200, 0
    while True:
        found, _ = asked.library.listing(wanted, limit=size, offset=offset, sort="added")
        for entry in found:
            yield f"{json_text(document_record(asked.library.document(entry.id)))}\n".encode()
        offset += size
        if len(found) < size:
            return


def original(asked: Asked) -> StreamingResponse:
    """Give the file that a document came from: a PDF to be shown, all others to be kept."""
    found = asked.library.document(asked.values["id"])
    stream = open_original(asked.state, found.path)
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


def labels(asked: Asked) -> dict[str, Any]:
    """Count labels."""
    found = asked.library.status()
    return {name: found[name] for name in ("labels", "predicted", "splits")}


def label(asked: Asked) -> dict[str, Any]:
    """Give and take labels."""
    body: ToLabel = asked.body
    if not body.documents and body.where is None:
        raise Refused(422, "Give documents, or a filter in where.")
    given = {"add": body.add, "remove": body.remove}
    return label_record(asked.library.label(*body.documents, where=body.where, **given))


def predicted(asked: Asked) -> list[dict[str, Any]]:
    """Give what was predicted for a document."""
    return [each._asdict() for each in asked.library.predicted(asked.values["id"])]


def forget_predicted(asked: Asked) -> dict[str, Any]:
    """Remove predicted labels."""
    body: Chosen = asked.body
    return {"documents": asked.library.forget_predicted(*body.documents, where=body.where)}


def names(asked: Asked) -> list[str]:
    """Complete a name."""
    values = asked.values
    return asked.library.names(values["kind"], values["beginning"], values["most"])


def vectors(asked: Asked) -> dict[str, Any]:
    """Give the vectors of an index, a page at a time."""
    ids, rows = asked.library.vectors(asked.values["index"])
    first = asked.values["offset"]
    part = slice(first, first + asked.values["limit"])
    return {"ids": ids[part], "vectors": rows[part].tolist(), "total": len(ids)}


def status(asked: Asked) -> dict[str, Any]:
    """Say what the library holds, who writes to it, and how it is served."""
    state = asked.state
    job = state.jobs.writing()
    return status_record(asked.library.status()) | {
        "version": __version__,
        "read_only": state.read_only,
        "writer": asked.library.writer(),
        "job": None if job is None else job.record(brief=True),
        "state": asked.library.state(),
    }


def doctor(asked: Asked) -> dict[str, Any]:
    """Look for damage."""
    return findings_record(asked.library.examine())


def plan(asked: Asked) -> dict[str, Any]:
    """Say what building an index will take."""
    return plan_record(asked.library.plan(replace(asked.body.options, wait_seconds=0.0)))


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
        *("LabelReport", (), ToLabel),
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
        *((), Chosen),
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
        *("IndexPlan", (), ToPlan),
    ),
)
