"""Error responses: RFC 9457 problem JSON for programs, text for people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from starlette.responses import PlainTextResponse, Response

from lpisearch import errors
from lpisearch.records.wire import json_text
from lpisearch.web.words import spoken

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.errors import LpiSearchError

MEDIA_TYPE = "application/problem+json"
API = "/api/"
_KIND = "urn:lpisearch:"
_LONGEST = 2000
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")

# Where none is said, what the library refuses is a conflict with the state that it is in.
_STATUS: Mapping[type[LpiSearchError], int] = {
    errors.BadOption: 422,
    errors.NotUnicode: 422,
    errors.NothingThere: 422,
    errors.DocumentNotFound: 404,
    errors.IndexNotFound: 404,
    errors.LibraryNotFound: 404,
    errors.LibraryUnwritable: 507,
    errors.LibraryDamaged: 500,
    errors.DocumentDamaged: 500,
    errors.NotALibrary: 500,
    errors.IndexDamaged: 500,
}
_CONFLICT = 409
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
    503: "Server busy",
    507: "Cannot write to the library",
}


class Refused(Exception):
    """A request is answered by a problem.

    Parameters
    ----------
    status
        Of HTTP.
    detail
        What is wrong with this one, a sentence.
    more
        Further members of the problem.
    """

    def __init__(self, status: int, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.more = status, detail, more


def problem(
    status: int, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """Return a problem; its type is what it was called, or none."""
    said = {
        "type": more.pop("type", "about:blank"),
        "title": more.pop("title", _TITLES.get(status, "Request failed")),
        "status": status,
        "detail": detail[:_LONGEST],
        **more,
    }
    return Response(json_text(said), status, dict(headers or {}), MEDIA_TYPE)


def problem_of(error: LpiSearchError, *, python: bool = False) -> Response:
    """Return what the library refused, with what to do next."""
    more = facts_of(error, python=python)
    return problem(status_of(error), spoken(error.what, python=python), **more)


def status_of(error: LpiSearchError) -> int:
    """Return the status of HTTP for an error of the library."""
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), _CONFLICT)


def facts_of(error: LpiSearchError, *, python: bool = False) -> dict[str, Any]:
    """Return the type of an error, the fields that it names, and what to do next."""
    slug = _CAPITAL.sub("-", type(error).__name__).lower()
    facts: dict[str, Any] = {"type": f"{_KIND}{slug}"}
    if error.next_step:
        facts["next"] = spoken(error.next_step, python=python)[:_LONGEST]
    named: Sequence[str] = getattr(error, "fields", ())
    return facts | ({"fields": list(named)} if named else {})


def refusal(
    path: str, status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a problem for a program, and plain text for a person."""
    if path.startswith(API):
        return problem(status, detail, headers=headers)
    title = _TITLES.get(status, "Request failed")
    return PlainTextResponse(f"{title}: {detail}\n", status, dict(headers or {}))
