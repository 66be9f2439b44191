"""Page actions that change the library, refused on read-only servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse

from lpisearch.web.api.table import Asked
from lpisearch.web.problems import Refused
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from lpisearch.web.api.table import Reply

_READ_ONLY = "This library is read-only."


def refuse_read_only(request: Request) -> None:
    """Refuse a write where nothing may be changed.

    Raises
    ------
    Refused
    """
    if state_of(request).read_only:
        raise Refused(403, _READ_ONLY)


def begin(request: Request, call: Callable[[Asked], Reply], body: Any) -> str:
    """Begin a job as the API would, from the same checks; return its id.

    Raises
    ------
    Refused, LpiSearchError
    """
    reply = call(Asked(state_of(request), {}, body))
    return str(reply.value["id"])


def back_to(address: str) -> Response:
    """Show a page again, so that a reload of it does nothing twice."""
    return RedirectResponse(address, status_code=303)
