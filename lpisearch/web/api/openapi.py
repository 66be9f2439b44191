"""OpenAPI, schemas, reading page."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from lpisearch import __version__
from lpisearch.model import answers, documents, reports
from lpisearch.model.codec import json_text, schema
from lpisearch.web.api.endpoint import described
from lpisearch.web.jobs import STATES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.web.api.endpoint import Endpoint


PREFIX = "/api/v1"
_CONVERTER = re.compile(r"\{(\w+):\w+\}")
_FILE = "file"


def description(endpoints: tuple[Endpoint, ...]) -> dict[str, Any]:
    """Return the OpenAPI description of endpoints."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = PREFIX + _CONVERTER.sub(r"{\1}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint)
    events = paths[f"{PREFIX}/jobs/{{id}}"]["get"]["parameters"]
    paths[f"{PREFIX}/jobs/{{id}}/events"] = {"get": _events(events)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "lpisearch",
            "version": __version__,
            "description": "Search and classify documents by meaning, on an ordinary computer.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    form = endpoint.answer
    answer = ref(form) if isinstance(form, str) else dict(form)
    found = {"description": _phrase(endpoint.status), "content": _content(endpoint, answer)}
    said: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.means,
        "parameters": [described(param) for param in endpoint.params],
        "responses": {str(endpoint.status): found, "default": _problem()},
    }
    if endpoint.lasts:
        said["responses"]["304"] = {"description": _phrase(304)}
    if endpoint.body == _FILE:
        said["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    elif endpoint.body is not None:
        content = {"application/json": {"schema": schema(endpoint.body)}}
        said["requestBody"] = {"required": True, "content": content}
    return said


def _content(endpoint: Endpoint, answer: dict[str, Any]) -> dict[str, Any]:
    return {endpoint.media_type: {"schema": answer}}


def _problem() -> dict[str, Any]:
    return {
        "description": "Problem details (RFC 9457)",
        "content": {"application/problem+json": {"schema": ref("Problem")}},
    }


def _events(parameters: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "operationId": "jobEvents",
        "summary": "Follow a job as server-sent events: “progress”, then “end”",
        "parameters": parameters,
        "responses": {
            "200": {
                "description": _phrase(200),
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            },
            "default": _problem(),
        },
    }


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase


_TEXT, _NUMBER, _INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}
_TEXTS = {"type": "array", "items": _TEXT}
_MAYBE_TEXT, _MAYBE_NUMBER = {"type": ["string", "null"]}, {"type": ["number", "null"]}
_ANY_OBJECT = {"type": "object"}
_MARKS = {
    "type": "array",
    "items": {"type": "array", "items": _INTEGER, "minItems": 2, "maxItems": 2},
}
# What is written field by field.
_BY_RECORD = (
    answers.TopicReport,
    answers.DimensionReport,
    documents.LabelReport,
    documents.PredictionReport,
    reports.IndexPlan,
    answers.Facets,
    documents.PredictedLabel,
)


def ref(name: str) -> dict[str, str]:
    """Return a reference to one of the forms."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: dict[str, Any], *, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_PASSAGE = _object(
    {
        "text": _TEXT,
        "marks": _MARKS,
        "start": _INTEGER,
        "end": _INTEGER,
        "section": {"type": ["object", "null"]},
        "page": _MAYBE_TEXT,
    }
)
_HIT = _object(
    {
        "rank": _INTEGER,
        "id": _TEXT,
        "title": _TEXT,
        "score": _NUMBER,
        "cosine": _MAYBE_NUMBER,
        "bm25": _MAYBE_NUMBER,
        "cosine_rank": {"type": ["integer", "null"]},
        "bm25_rank": {"type": ["integer", "null"]},
        "labels": _TEXTS,
        "predicted": _list(ref("PredictedLabel")),
        "path": _TEXT,
        "date": _TEXT,
        "snippet": _TEXT,
        "marks": _MARKS,
        "passages": _list(ref("Passage")),
        "explanation": _ANY_OBJECT,
    },
    optional=("explanation",),
)
_ENTRY = {
    "id": _TEXT,
    "title": _TEXT,
    "labels": _TEXTS,
    "split": _TEXT,
    "date": _TEXT,
    "path": _TEXT,
    "media_type": _TEXT,
}
_SHARE = _object({"label": _TEXT, "share": _NUMBER})
_WRITTEN: dict[str, Any] = {
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
    "Passage": _PASSAGE,
    "Hit": _HIT,
    "Answer": _object(
        {
            "by": _TEXT,
            "hits": _list(ref("Hit")),
            "notes": _TEXTS,
            "suggestions": _list(_object({"word": _TEXT, "nearest": _TEXTS})),
            "facets": ref("Facets"),
        },
        optional=("facets",),
    ),
    "Reason": _object(
        {
            "id": _TEXT,
            "by": _TEXT,
            "score": _NUMBER,
            "legs": _list(_ANY_OBJECT),
            "explanation": {"type": ["object", "null"]},
        }
    ),
    "Marks": _object({"marks": _list(_list(_ANY_OBJECT))}),
    "DocumentMap": _object(
        {
            "ids": _TEXTS,
            "titles": _TEXTS,
            "label_names": _TEXTS,
            "projection": _TEXT,
            "rule": _TEXT,
            "unplaced": _INTEGER,
            "places": _list(_list(_NUMBER)),
            "topics": _list(_INTEGER),
            "labels": _list(_INTEGER),
            "report": ref("TopicReport"),
        }
    ),
    "Runs": _object(
        {
            "runs": _list(
                _object(
                    {
                        "query": _TEXT,
                        "hits": _list(_object({"rank": _INTEGER, "id": _TEXT, "score": _NUMBER})),
                    }
                )
            ),
            "notes": _TEXTS,
        }
    ),
    "Entry": _object(_ENTRY | {"predicted": _list(ref("PredictedLabel"))}),
    "Listing": _object({"documents": _list(ref("Entry")), "total": _INTEGER}),
    "Document": _object(
        _ENTRY | {"text": _TEXT, "metadata": _ANY_OBJECT, "sections": _list(_ANY_OBJECT)},
        optional=("sections",),
    ),
    "Classification": _object(
        {
            "input": _TEXT,
            "labels": _list(_SHARE),
            "decided": _TEXTS,
            "note": _TEXT,
            "none_of_these": {"type": "boolean"},
        },
        optional=("note", "none_of_these"),
    ),
    "Vectors": _object({"ids": _TEXTS, "vectors": _list(_list(_NUMBER)), "total": _INTEGER}),
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
            "size_bytes": _INTEGER,
            "schema": _MAYBE_TEXT,
            "indexes": _list(_ANY_OBJECT),
            "version": _TEXT,
            "read_only": {"type": "boolean"},
            "writer": _TEXT,
            "job": {"anyOf": [ref("Job"), {"type": "null"}]},
            "state": _TEXT,
        }
    ),
    "Findings": _object(
        {
            "ok": {"type": "boolean"},
            "findings": _list(
                _object(
                    {"check": _TEXT, "ok": {"type": "boolean"}, "detail": _TEXT, "next_step": _TEXT}
                )
            ),
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
}


@cache
def schemas() -> dict[str, Any]:
    """Return all forms by name."""
    by_record = {kind.__name__: _always(schema(kind)) for kind in _BY_RECORD}
    return dict(sorted((_WRITTEN | by_record).items()))


def _always(form: dict[str, Any]) -> dict[str, Any]:
    """Return the form of a record that is written whole: no field of it is missing."""
    return form | {"required": list(form["properties"])}


_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API – lpisearch</title>
<link rel="stylesheet" href="/static/style.css">
</head>
<body class="api">
<main>
"""
_END = "</main>\n</body>\n</html>\n"


def page_of(described: dict[str, Any]) -> str:
    """Return the page of an OpenAPI description."""
    return "".join([_HEAD, *_lines(described), _END])


def _lines(described: dict[str, Any]) -> Iterator[str]:
    info = described["info"]
    yield f"<h1>{escape(info['title'])} {escape(info['version'])}: the API</h1>\n"
    yield f"<p>{escape(info['description'])} For programs: "
    yield '<a href="openapi.json">openapi.json</a>.</p>\n'
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            yield from _html_operation(method.upper(), path, operation)
    yield "<h2>Forms</h2>\n"
    for name, form in described["components"]["schemas"].items():
        yield f'<details id="{escape(name)}"><summary>{escape(name)}</summary>\n'
        yield f"<pre>{escape(json_text(form, indent=1))}</pre></details>\n"


def _html_operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    name = operation["operationId"]
    yield f'<section id="{escape(name)}">\n<h2><code>{method} {escape(path)}</code></h2>\n'
    yield f"<p>{escape(operation['summary'])}.</p>\n"
    if operation["parameters"]:
        yield "<table><thead><tr><th>Parameter<th>Description<th>Values</thead><tbody>\n"
        for param in operation["parameters"]:
            must = " (required)" if param["required"] else ""
            yield f"<tr><td><code>{escape(param['name'])}</code>{must}"
            yield f"<td>{escape(param['description'])}<td>{escape(_values(param['schema']))}\n"
        yield "</tbody></table>\n"
    if "requestBody" in operation:
        for kind, body in operation["requestBody"]["content"].items():
            yield f"<p>Body: <code>{escape(kind)}</code></p>\n"
            if body:
                yield f"<details><summary>Schema</summary><pre>{escape(json_text(body, indent=1))}"
                yield "</pre></details>\n"
    yield from _answers(operation["responses"])
    yield "</section>\n"


def _answers(responses: dict[str, Any]) -> Iterator[str]:
    for status, response in responses.items():
        for kind, body in response.get("content", {}).items():
            form = body.get("schema", {}).get("$ref", "").rsplit("/", 1)[-1]
            link = f' <a href="#{escape(form)}">{escape(form)}</a>' if form else ""
            yield f"<p>{escape(status)}: <code>{escape(kind)}</code>{link}</p>\n"


def _values(form: dict[str, Any]) -> str:
    if form["type"] == "array":
        return f"{_values(form['items'])}, repeatable"
    if "enum" in form:
        return ", ".join(form["enum"])
    bounds = [
        f"{said} {form[name]:,}"
        for name, said in (("minimum", "at least"), ("maximum", "at most"))
        if name in form
    ]
    default = [f"default {form['default']!r}"] if form.get("default") not in (None, "") else []
    return ", ".join([form["type"], *bounds, *default])
