"""Puts the server together: what it shares, its routes, and what every request passes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from lpisearch.settings.serving import ServeSettings
from lpisearch.web import api, pages
from lpisearch.web.security.headers import SafeHeaders
from lpisearch.web.security.visitors import Visitors
from lpisearch.web.state import WebState

if TYPE_CHECKING:
    from lpisearch.library import Library

_STATIC = Path(__file__).parent / "static"


def create_app(library: Library, settings: ServeSettings | None = None) -> Starlette:
    """Return the server of a library, as an ASGI application.

    Parameters
    ----------
    library
        Open; whoever opened it closes it.
    settings
        How it is to be served.
    """
    app = Starlette(
        routes=[
            *pages.ROUTES,
            Mount("/static", StaticFiles(directory=_STATIC), name="static"),
            Mount("/api/v1", routes=api.ROUTES, name="api"),
        ],
        middleware=[Middleware(SafeHeaders), Middleware(Visitors)],
    )
    app.state.lpisearch = WebState(library, settings or ServeSettings())
    return app
