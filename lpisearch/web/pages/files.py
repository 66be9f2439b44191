"""The file that a document came from: given out as a download, a PDF to be read at its page.

Only plain files below the folders that may be given out, wherever links lead; never as a type
that a browser would run.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import FileResponse

from lpisearch.errors import DocumentNotFound, LpiSearchError
from lpisearch.web.pages.rendering import apology
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from lpisearch.records import Document
    from lpisearch.web.state import WebState

PDF = "application/pdf"
_PLAIN = "application/octet-stream"
_PDF_POLICY = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; img-src data:"


def original(request: Request) -> Response:
    """Give out the file of a document."""
    shared, name = state_of(request), request.query_params.get("id", "")
    try:
        found = shared.library.document(name)
        path = file_of(shared, found)
        if path is None:
            raise DocumentNotFound(name)
    except LpiSearchError as error:
        return apology(request, error)
    is_pdf = found.media_type == PDF and path.suffix.lower() == ".pdf"
    response = FileResponse(
        path,
        media_type=PDF if is_pdf else _PLAIN,
        filename=path.name,
        content_disposition_type="inline" if is_pdf else "attachment",
    )
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "no-store"
    if is_pdf:
        response.headers["Content-Security-Policy"] = _PDF_POLICY
    return response


def is_given_out(shared: WebState, document: Document) -> bool:
    """Tell whether the file of a document is there and may be given out."""
    return file_of(shared, document) is not None


def file_of(shared: WebState, document: Document) -> Path | None:
    """Return the real path of a document's file, if it may be given out."""
    if not document.path or "\0" in document.path:
        return None
    try:
        path = Path(document.path).resolve(strict=True)
        is_plain = stat.S_ISREG(path.stat().st_mode)
        roots = [root.resolve(strict=True) for root in shared.settings.roots if root.exists()]
    except (OSError, RuntimeError, ValueError):
        return None
    return path if is_plain and any(path.is_relative_to(root) for root in roots) else None
