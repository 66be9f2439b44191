"""Turn exceptions into responses."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

from lpisearch.errors import LpiSearchError
from lpisearch.web.problems import API, Refused, problem, problem_of, refusal, status_of
from lpisearch.web.words import spoken, wants_python

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, ExceptionHandler, Message, Receive, Scope, Send

_LOG = logging.getLogger("lpisearch.web")
_UNEXPECTED = "See the server log and report the error."


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)  # noqa: S101 (as it was registered)
    if request.url.path.startswith(API):
        return problem(error.status, error.detail, **error.more)
    return refusal(request.url.path, error.status, error.detail)


def _of_library(request: Request, error: Exception) -> Response:
    assert isinstance(error, LpiSearchError)  # noqa: S101 (as it was registered)
    if request.url.path.startswith(API):
        return problem_of(error, python=wants_python(request.headers))
    return refusal(request.url.path, status_of(error), spoken(error.message))


def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 (as it was registered)
    return refusal(request.url.path, error.status_code, f"{error.detail}.", error.headers)


HANDLERS: Mapping[type[Exception], ExceptionHandler] = {
    Refused: _refused,
    LpiSearchError: _of_library,
    HTTPException: _of_http,
}


class Unexpected:
    """Answers a defect of the program with 500, says nothing of it, and writes it to the log."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        begun = False

        async def noticed(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, noticed)
        except Exception:
            if scope["type"] != "http" or begun:
                raise
            # The path alone: what was asked for is nobody else's business.
            _LOG.exception("%s %s failed", scope["method"], ascii(scope["path"]))
            await refusal(scope["path"], 500, _UNEXPECTED)(scope, receive, send)
