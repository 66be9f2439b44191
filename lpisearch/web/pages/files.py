"""Serve the original file of a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.web.api.holding import original as give_out
from lpisearch.web.api.table import Asked
from lpisearch.web.files import open_original
from lpisearch.web.problems import Refused
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from lpisearch.records import Document
    from lpisearch.web.state import WebState

PDF = "application/pdf"


def original(request: Request) -> Response:
    """Give out the file of a document, by the checks of the API."""
    name = request.query_params.get("id", "")
    return give_out(Asked(state_of(request), {"id": name}))


def is_given_out(shared: WebState, document: Document) -> bool:
    """Tell whether the file of a document is there and may be given out."""
    if not document.path:
        return False
    try:
        open_original(shared, document.path).close()
    except Refused:
        return False
    return True
