"""The OpenAPI description, and a page that shows it."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from lpisearch import __version__
from lpisearch.model.answers import DimensionReport
from lpisearch.model.codec import json_text, return_type, schema
from lpisearch.model.documents import PredictionReport
from lpisearch.model.reports import IndexReport, Report
from lpisearch.web.api.endpoint import BYTES, FILE, ApiRequest, Endpoint, described
from lpisearch.web.jobs import STATES

PREFIX = "/api/v1"
_ABOUT = (
    "Search and classify documents by meaning, on an ordinary computer. Marks are pairs of "
    "positions, start and end, in the text beside them; they count Unicode code points, or UTF-16 "
    "code units where units=utf16 is requested. start and end of a passage are positions in the "
    "text of its document and always count code points. A page of results has total, the number "
    "of all, and next, the offset of the next page or null."
)
_TAGS = {
    "Search": "Search, similar documents, facets, topics, classification.",
    "Documents": "Documents, their labels and files, and the state of the library.",
    "Jobs": "Uploads, and what takes longer: ingest, index, evaluate.",
}
_CONVERTER = re.compile(r"\{(\w+):\w+\}")


def description(endpoints: tuple[Endpoint, ...]) -> dict[str, Any]:
    """Return the OpenAPI description of endpoints."""
    paths: dict[str, dict[str, Any]] = {}
    components = dict(_COMPOSED)
    for result in (DimensionReport, IndexReport, PredictionReport, Report):  # of jobs
        schema(result, components)
    for endpoint in endpoints:
        if not endpoint.tag:
            continue
        path = PREFIX + _CONVERTER.sub(r"{\1}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, components)
    events = paths[f"{PREFIX}/jobs/{{id}}"]["get"]["parameters"]
    paths[f"{PREFIX}/jobs/{{id}}/events"] = {"get": _events(events)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "lpisearch",
            "version": __version__,
            "description": _ABOUT,
        },
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(endpoint: Endpoint, components: dict[str, Any]) -> dict[str, Any]:
    answer = _answer_schema(endpoint, components)
    success = {
        "description": _phrase(endpoint.status),
        "content": {endpoint.media_type: {"schema": answer}},
    }
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "parameters": [described(param) for param in endpoint.params],
        "responses": {str(endpoint.status): success, "default": _problem()},
    }
    if endpoint.is_cached:
        operation["responses"]["304"] = {"description": _phrase(304)}
    if endpoint.body == FILE:
        content = {"application/octet-stream": {"schema": BYTES}}
        operation["requestBody"] = {"required": True, "content": content}
    elif endpoint.body is not None:
        described_body: dict[str, Any] = {"schema": schema(endpoint.body)}
        described_body |= {} if endpoint.example is None else {"example": endpoint.example}
        content = {"application/json": described_body}
        needed = bool(described_body["schema"].get("required"))
        operation["requestBody"] = {"required": needed, "content": content}
    return operation


def _problem() -> dict[str, Any]:
    return {
        "description": "Problem details (RFC 9457)",
        "content": {"application/problem+json": {"schema": ref("Problem")}},
    }


def _events(parameters: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "operationId": "jobEvents",
        "tags": ["Jobs"],
        "summary": "Follow a job as server-sent events: “progress”, then “end”",
        "parameters": parameters,
        "responses": {
            "200": {
                "description": _phrase(200),
                "content": {"text/event-stream": {"schema": {}}},
            },
            "default": _problem(),
        },
    }


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase


def ref(name: str) -> dict[str, str]:
    """Return a reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


_TEXT, _INTEGER, _BOOLEAN = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_TEXTS = {"type": "array", "items": _TEXT}
_MAYBE_TEXT = {"type": ["string", "null"]}
_ANY_OBJECT = {"type": "object"}


def _object(properties: dict[str, Any], *, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


# Objects that are not written from a record.
_COMPOSED: dict[str, Any] = {
    "Problem": _object(
        {
            "type": _TEXT,
            "title": _TEXT,
            "status": _INTEGER,
            "detail": _TEXT,
            "next": _TEXT,
            "fields": _TEXTS,
            "errors": _list(_object({"field": _TEXT, "reason": _TEXT})),
        },
        optional=("next", "fields", "errors"),
    ),
    "Status": _object(
        {
            "library": _TEXT,
            "documents": _INTEGER,
            "labels": _ANY_OBJECT,
            "predicted": _ANY_OBJECT,
            "splits": _ANY_OBJECT,
            "sources": _INTEGER,
            "unfinished": _TEXTS,
            "language": _MAYBE_TEXT,
            "languages": _ANY_OBJECT,
            "word_rules": {"type": ["integer", "null"]},
            "newest_word_rules": _INTEGER,
            "size_bytes": _INTEGER,
            "schema": _MAYBE_TEXT,
            "indexes": _list(_ANY_OBJECT),
            "version": _TEXT,
            "read_only": _BOOLEAN,
            "writer": _TEXT,
            "job": {"anyOf": [ref("Job"), {"type": "null"}]},
            "state": _TEXT,
        }
    ),
    "Job": _object(
        {
            "id": _TEXT,
            "kind": _TEXT,
            "state": {"type": "string", "enum": list(STATES)},
            "asked": _ANY_OBJECT,
            "asked_at": _TEXT,
            "begun": _TEXT,
            "ended": _TEXT,
            "progress": _ANY_OBJECT,
            "problem": {"type": ["object", "null"]},
            "result": {},
        },
        optional=("result",),
    ),
    "Jobs": _object({"jobs": _list(ref("Job"))}),
}


def _answer_schema(endpoint: Endpoint, components: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a response: of the type that the function returns, if none is given."""
    if endpoint.answer is None:
        return schema(return_type(endpoint.call, ApiRequest=ApiRequest), components)
    return ref(endpoint.answer) if isinstance(endpoint.answer, str) else dict(endpoint.answer)


def page_of(described: dict[str, Any]) -> str:
    """Return an OpenAPI description as an HTML page."""
    from lpisearch.web.pages.templates import environment  # which imports this package

    filters = {"values": _values, "json": lambda form: json_text(form, indent=1)}
    return environment(filters).get_template("api.html").render(described=described)


def _values(form: dict[str, Any]) -> str:
    """Return the type, the range and the default of a parameter."""
    if form["type"] == "array":
        return f"{_values(form['items'])}, repeatable"
    if "enum" in form:
        return ", ".join(form["enum"])
    bounds = [
        f"{words} {form[name]:,}"
        for name, words in (("minimum", "at least"), ("maximum", "at most"))
        if name in form
    ]
    default = [f"default {form['default']!r}"] if form.get("default") not in (None, "") else []
    return ", ".join([form["type"], *bounds, *default])
