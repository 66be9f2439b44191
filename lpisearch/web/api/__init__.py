"""The JSON API: routes, validation and the OpenAPI description derive from `ENDPOINTS`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from lpisearch.model.codec import json_text
from lpisearch.web.api import contents, queries, tasks, vector_stores
from lpisearch.web.api.handler import handler_of, job_events
from lpisearch.web.api.openapi import description, page_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from lpisearch.web.api.endpoint import Endpoint


ENDPOINTS: tuple[Endpoint, ...] = (
    *queries.ENDPOINTS,
    *contents.ENDPOINTS,
    *tasks.ENDPOINTS,
    *vector_stores.ENDPOINTS,
)


@cache
def described() -> dict[str, Any]:
    """Return the OpenAPI description."""
    return description(ENDPOINTS)


def _openapi(_request: Request) -> Response:
    return Response(json_text(described(), indent=1), media_type="application/json")


def _page(_request: Request) -> Response:
    return HTMLResponse(page_of(described()))


def _routes() -> list[BaseRoute]:
    made: list[BaseRoute] = [
        Route("/", _page, name="description"),
        Route("/openapi.json", _openapi, name="openapi"),
        Route("/jobs/{id}/events", job_events, name="jobEvents"),
    ]
    made += [
        Route(each.path, handler_of(each), methods=[each.method], name=each.name)
        for each in ENDPOINTS
    ]
    return made


ROUTES: list[BaseRoute] = _routes()
