"""The JSON API: routes, validation and the OpenAPI description derive from `ENDPOINTS`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from lpisearch.model.codec import json_text
from lpisearch.web.api import contents, queries, tasks
from lpisearch.web.api.handler import handler_of, job_events
from lpisearch.web.api.openapi import description, page_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from lpisearch.web.api.endpoint import Endpoint

    Handler = Callable[[Request], Awaitable[Response]]


ENDPOINTS: tuple[Endpoint, ...] = (
    *queries.ENDPOINTS,
    *contents.ENDPOINTS,
    *tasks.ENDPOINTS,
    *queries.VECTOR_STORES,
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
    by_path: dict[str, dict[str, Handler]] = {}
    for each in ENDPOINTS:
        by_path.setdefault(each.path, {})[each.method] = handler_of(each)
    # A path without a parameter first, since one with it may match the same.
    paths = sorted(by_path, key=lambda path: "{" in path)
    made += [Route(path, _of_method(by_path[path]), methods=list(by_path[path])) for path in paths]
    return made


def _of_method(handlers: dict[str, Handler]) -> Handler:
    async def handle(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await handlers[method](request)

    return handle


ROUTES: list[BaseRoute] = _routes()
