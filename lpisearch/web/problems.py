"""Errors as problem details (RFC 9457), and messages as the API words them."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, Response

from lpisearch import errors
from lpisearch.messages import Call, Message, Option
from lpisearch.model.codec import json_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, ExceptionHandler, Receive, Scope, Send
    from starlette.types import Message as ASGIMessage

    from lpisearch.errors import LpiSearchError


MEDIA_TYPE = "application/problem+json"
API = "/api/"
MCP = "/mcp"
METRICS, HEALTH, READY = "/metrics", "/health", "/ready"
PROGRAMS = (API, MCP, METRICS)
"""The beginnings of paths that programs request, which no browser shows."""
_KIND = "urn:lpisearch:"
_LONGEST = 2000
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")

# Any other error of the library is a conflict with its state.
_STATUS: Mapping[type[LpiSearchError], int] = {
    errors.BadOption: 422,
    errors.NotUnicode: 422,
    errors.QueryFieldInvalid: 422,
    errors.NothingThere: 422,
    errors.DocumentNotFound: 404,
    errors.IndexNotFound: 404,
    errors.IndexNotHere: 404,
    errors.LibraryNotFound: 404,
    errors.AssistantsUnavailable: 501,
    errors.LibraryUnwritable: 507,
    errors.LibraryTooNew: 503,
    errors.LibraryUnreachable: 503,
    errors.LibraryDamaged: 500,
    errors.DocumentDamaged: 500,
    errors.NotALibrary: 500,
    errors.IndexDamaged: 500,
}
_CONFLICT, _BUSY = 409, 503
_TITLES = {
    400: "Bad request",
    401: "Token required",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict with the state of the library",
    413: "Too large",
    415: "Unsupported media type",
    421: "Unknown host name",
    422: "Invalid value",
    429: "Too many requests",
    500: "Unexpected error",
    501: "Not installed",
    503: "Server busy",
    507: "Cannot write to the library",
}


class Refusal(Exception):
    """A request is refused: `detail` is a sentence, `more` are further members of the problem."""

    def __init__(self, status: int, detail: str, *, headers: Any = None, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers, self.more = status, detail, headers, more


def problem(
    status: int, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """Return a problem as a response."""
    members = {
        "type": more.pop("type", f"{_KIND}{_slug(status)}"),
        "title": more.pop("title", _TITLES.get(status, "Request failed")),
        "status": status,
        "detail": detail[:_LONGEST],
        **more,
    }
    return Response(json_text(members), status, dict(headers or {}), MEDIA_TYPE)


def _slug(status: int) -> str:
    return _TITLES.get(status, "Request failed").lower().replace(" ", "-")


def problem_of(error: LpiSearchError, *, python: bool = False) -> Response:
    """Return an error of the library as a response."""
    status, more = status_of(error), facts_of(error, python=python)
    if status == _BUSY:
        more["title"] = "Library unavailable"
    return problem(status, render_message(error.what, python=python), **more)


def status_of(error: LpiSearchError) -> int:
    """Return the HTTP status of an error of the library."""
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), _CONFLICT)


def problem_facts(error: LpiSearchError, *, python: bool = False) -> dict[str, Any]:
    """Return the status, the text and the facts of an error."""
    detail = render_message(error.what, python=python)
    return {"status": status_of(error), "detail": detail, **facts_of(error, python=python)}


def facts_of(error: LpiSearchError, *, python: bool = False) -> dict[str, Any]:
    """Return the type of an error, the next step, and the fields that it names."""
    slug = _CAPITAL.sub("-", type(error).__name__).lower()
    facts: dict[str, Any] = {"type": f"{_KIND}{slug}"}
    if error.next_step:
        facts["next"] = render_message(error.next_step, python=python)[:_LONGEST]
    named: Sequence[str] = getattr(error, "fields", ())
    return facts | ({"fields": list(named)} if named else {})


def refusal(
    path: str, status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a problem for the API, and plain text for a page."""
    if path.startswith(PROGRAMS):
        return problem(status, detail, headers=headers)
    from lpisearch.web.pages.templates import refusal_page  # which imports this module

    title = _TITLES.get(status, "Request failed")
    return HTMLResponse(refusal_page(title, detail), status, dict(headers or {}))


_LOG = logging.getLogger("lpisearch.web")
_UNEXPECTED = "See the server log and report the error."


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)  # noqa: S101 (as registered)
    if request.url.path.startswith(PROGRAMS):
        return problem(error.status, error.detail, **error.more)
    return refusal(request.url.path, error.status, error.detail)


def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 (as registered)
    return refusal(request.url.path, error.status_code, f"{error.detail}.", error.headers)


HANDLERS: Mapping[type[Exception], ExceptionHandler] = {
    Refusal: _refused,
    HTTPException: _of_http,
}


class ErrorMiddleware:
    """Answers defects of the program with status 500, and logs them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        started = False

        async def sent(message: ASGIMessage) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, sent)
        except ClientDisconnect:
            return  # in the middle of a form; nobody waits for a response
        except Exception:
            if scope["type"] != "http" or started:
                raise
            # Without the query, which is private.
            _LOG.exception("%s %s failed", scope["method"], ascii(scope["path"]))
            await refusal(scope["path"], 500, _UNEXPECTED)(scope, receive, send)


PYTHON = "words=python"
"""The value of the header `Prefer` of a client that shows messages as Python words them."""

_CALLS = {
    "index": "POST /api/v1/jobs/index",
    "ingest": "POST /api/v1/jobs/ingest",
    "entries": "GET /api/v1/documents",
    "status": "GET /api/v1/status",
    "examine": "GET /api/v1/doctor",
    "help": "GET /api/v1/openapi.json",
    "label": "POST /api/v1/labels",
    "evaluate": "POST /api/v1/jobs/evaluate",
}


def wants_python(headers: Mapping[str, str]) -> bool:
    """Tell whether messages are to name calls as Python does, as `RemoteLibrary` requests."""
    return headers.get("prefer", "").strip().lower() == PYTHON


def render_message(text: str, *, python: bool = False) -> str:
    """Return a text with calls as operations of the API, or as Python names them."""
    return text.render(_word) if isinstance(text, Message) and not python else str(text)


def render_messages(value: Any, *, python: bool = False) -> Any:
    """Return a JSON value with every message in it rendered."""
    if isinstance(value, str):
        return render_message(value, python=python)
    if isinstance(value, dict):
        return {name: render_messages(one, python=python) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [render_messages(one, python=python) for one in value]
    return value


def _word(part: Option | Call) -> str:
    if isinstance(part, Option) or part.verb not in _CALLS:
        return str(part)
    options = ", ".join(map(str, part.options))
    return f"{_CALLS[part.verb]} ({options})" if options else _CALLS[part.verb]
