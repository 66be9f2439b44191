"""The description of the API (OpenAPI 3.1), made from the table of endpoints."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from lpisearch import __version__
from lpisearch.records.forms import schema
from lpisearch.web.api.params import described
from lpisearch.web.api.schemas import ref, schemas

if TYPE_CHECKING:
    from lpisearch.web.api.table import Endpoint

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
