"""CSRF protection: accept changes only from our own pages or from programs.

Every request that is not GET, HEAD or OPTIONS is a write. A browser says where a write comes from
(`Sec-Fetch-Site`, `Origin`): from elsewhere it is refused. A write that a browser sends, which one
tells by these headers or by a cookie, must also have the token of its visitor, in one of these:

- the header `X-CSRF-Token` (scripts, and htmx by `hx-headers` on `<body>`);
- for forms, the field `csrf_token`, which must be the FIRST field of the form, also in
  `multipart/form-data`: `<input type="hidden" name="csrf_token" value="{{ csrf_token }}">`.

A visitor is a random number in the cookie `lpisearch_visitor` (HttpOnly, SameSite=Strict), which
the first page sets; the token is that number signed with the secret of this process. A page asks
for it by `csrf_token(request)`. A program that sends no cookie and no such header needs none.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.requests import HTTPConnection

from lpisearch.web.problems import refusal
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lpisearch.web.state import WebState

VISITOR = "lpisearch_visitor"
HEADER, FIELD = "X-CSRF-Token", "csrf_token"
_SAFE = {"GET", "HEAD", "OPTIONS"}
_FROM_HERE = {"same-origin", "none"}
_LOOKED_AT = 8192  # bytes of a form in which its first field must stand
_FORM, _PARTS = "application/x-www-form-urlencoded", "multipart/form-data"
_FIRST_PART = re.compile(
    rb'--[^\r\n]{1,200}\r\ncontent-disposition: form-data; name="csrf_token"\r\n\r\n([^\r\n]*)\r\n',
    re.IGNORECASE,
)


def csrf_token(request: HTTPConnection) -> str:
    """Return the token for the forms and scripts of a page, for the visitor who asks for it."""
    return _signed(state_of(request), request.state.visitor)


def _signed(state: WebState, visitor: str) -> str:
    said = f"csrf:{visitor}".encode("utf-8", "replace")
    return hmac.new(state.secret, said, hashlib.sha256).hexdigest()


class OwnWrites:
    """Refuses writes that other pages make a browser send."""

    def __init__(self, app: ASGIApp, state: WebState) -> None:
        self.app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it is no write, or one of our own."""
        if scope["type"] != "http" or scope["method"] in _SAFE:
            await self.app(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        if not _is_from_here(asked):
            said = "Cross-site request refused."
            await refusal(scope["path"], 403, said)(scope, receive, send)
            return
        if _is_of_browser(asked):
            shown = asked.headers.get(HEADER, "")
            if not shown:
                shown, receive = await _first_field(asked, receive)
            if not self._is_token(asked, shown):
                said = f"Changes need the CSRF token of the page: {HEADER}, or {FIELD} in a form."
                await refusal(scope["path"], 403, said)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _is_token(self, asked: HTTPConnection, shown: str) -> bool:
        visitor = asked.cookies.get(VISITOR, "")
        right = _signed(self._state, visitor).encode()
        return bool(visitor) and hmac.compare_digest(shown.encode("utf-8", "replace"), right)


def _is_from_here(asked: HTTPConnection) -> bool:
    if asked.headers.get("sec-fetch-site", "none") not in _FROM_HERE:
        return False
    origin, host = asked.headers.get("origin"), asked.headers.get("host", "")
    return origin is None or origin.lower() in {f"http://{host}", f"https://{host}"}


def _is_of_browser(asked: HTTPConnection) -> bool:
    return any(name in asked.headers for name in ("cookie", "origin", "sec-fetch-site"))


async def _first_field(asked: HTTPConnection, receive: Receive) -> tuple[str, Receive]:
    """Return the token that a form begins with, and what gives its body again."""
    kind = asked.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in {_FORM, _PARTS}:
        return "", receive
    kept: list[Message] = []
    body = b""
    while len(body) < _LOOKED_AT:
        message = await receive()
        kept.append(message)
        body += message.get("body", b"")
        if message["type"] != "http.request" or not message.get("more_body"):
            break

    async def again() -> Message:
        return kept.pop(0) if kept else await receive()

    return (_of_form(body) if kind == _FORM else _of_parts(body)), again


def _of_form(body: bytes) -> str:
    first = body.split(b"&", 1)[0].decode("ascii", "replace")
    found = parse_qsl(first)
    return found[0][1] if found and found[0][0] == FIELD else ""


def _of_parts(body: bytes) -> str:
    found = _FIRST_PART.match(body)
    return found[1].decode("ascii", "replace") if found else ""
