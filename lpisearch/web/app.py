"""Assemble the server: shared state, routes and middleware."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from lpisearch.settings.serving import ServeSettings
from lpisearch.web import api, pages
from lpisearch.web.failures import HANDLERS, Unexpected
from lpisearch.web.security.csrf import OwnWrites
from lpisearch.web.security.headers import SafeHeaders
from lpisearch.web.security.hosts import KnownHosts
from lpisearch.web.security.limits import BodySizes, Load
from lpisearch.web.security.tokens import TokenRequired
from lpisearch.web.security.visitors import Visitors
from lpisearch.web.state import WebState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Scope

    from lpisearch.library import Library

_STATIC = Path(__file__).parent / "static"
_PATIENCE_SECONDS = 10.0


def create_app(library: Library, settings: ServeSettings | None = None) -> Starlette:
    """Return the server of a library, as an ASGI application.

    Parameters
    ----------
    library
        Open; whoever opened it closes it.
    settings
        How it is to be served.
    """
    chosen = settings or ServeSettings()
    state = WebState(library, chosen)
    app = Starlette(
        routes=[
            *pages.ROUTES,
            Route("/favicon.ico", _icon),  # asked for where no page of ours names one: beside a PDF
            Mount("/static", _Assets(directory=_STATIC), name="static"),
            Mount("/api/v1", routes=api.ROUTES, name="api"),
        ],
        middleware=_passed(state),
        exception_handlers=HANDLERS,
        lifespan=_life,
    )
    app.state.lpisearch = state
    return app


class _Assets(StaticFiles):
    """Files of the pages: one that is asked for by the mark of its content never changes."""

    def file_response(
        self, full_path: Any, stat_result: Any, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return a file; browsers keep it where its mark is in the address."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        if scope["query_string"]:
            response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
        return response


def _icon(_request: Request) -> Response:
    return RedirectResponse("/static/icon.svg", 308)


def _passed(state: WebState) -> list[Middleware]:
    """Return what every request passes, the first first."""
    names, limits = (*state.settings.names, state.settings.host), state.settings.limits
    return [
        Middleware(SafeHeaders),
        Middleware(Unexpected),
        Middleware(KnownHosts, names=names),
        Middleware(Load, limits=limits),
        Middleware(TokenRequired, state=state),
        Middleware(BodySizes, limits=limits),
        Middleware(Visitors),
        Middleware(OwnWrites, state=state),
    ]


@asynccontextmanager
async def _life(app: Starlette) -> AsyncIterator[None]:
    """Begin with the jobs that are known; at the end let what runs finish, or be named later."""
    state: WebState = app.state.lpisearch
    jobs = state.jobs
    yield
    await state.in_thread(lambda: jobs.close(_PATIENCE_SECONDS))
