"""Runs the server until it is told to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.web.app import create_app

if TYPE_CHECKING:
    from lpisearch.library import Library
    from lpisearch.settings.serving import ServeSettings


def serve(library: Library, settings: ServeSettings) -> None:
    """Serve a library until SIGTERM or Ctrl-C."""
    import uvicorn

    uvicorn.run(
        create_app(library, settings),
        host=settings.host,
        port=settings.port,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        log_level="warning",
    )
