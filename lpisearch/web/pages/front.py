"""The first page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.web.pages.rendering import render
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


def front(request: Request) -> Response:
    """Show what the library holds."""
    library = state_of(request).library
    return render(request, "front.html", name=library.path.name)
