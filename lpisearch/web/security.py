"""Token, CSRF, hosts, limits, headers.

Every request that is not GET, HEAD or OPTIONS is a write. A browser says where a write comes from
(`Sec-Fetch-Site`, `Origin`): from elsewhere it is refused. A write that a browser sends, which one
tells by these headers or by a cookie, must also have the token of its visitor, in one of these:

- the header `X-CSRF-Token` (scripts, and htmx by `hx-headers` on `<body>`);
- for forms, the field `csrf_token`, which must be the FIRST field of the form, also in
  `multipart/form-data`: `<input type="hidden" name="csrf_token" value="{{ csrf_token }}">`.

A visitor is a random number in the cookie `lpisearch_visitor` (HttpOnly, SameSite=Strict), which
the first page sets; the token is that number signed with the secret of this process. A page asks
for it by `csrf_token(request)`. A program that sends no cookie and no such header needs none.

A page of somebody else may let its own name point to this machine (DNS rebinding), and its scripts
would then pass for ours. So a request must name `localhost`, a plain address, or a name that was
given. An address cannot be made to point elsewhere.

Programs show it as `Authorization: Bearer TOKEN`. A browser shows it once, to the page `/login`,
and has a cookie from then on (HttpOnly, SameSite=Strict) that this process alone can make. Tokens
are compared in constant time, and are nowhere written down.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
import time
from collections import OrderedDict
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse

from lpisearch.options import is_loopback
from lpisearch.web.problems import API, Refusal, refusal
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lpisearch.options import ServeLimits
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


class CsrfMiddleware:
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


_ALLOWED = {
    "default-src": "'none'",
    **dict.fromkeys(
        ("script-src", "style-src", "img-src", "font-src", "connect-src", "manifest-src"), "'self'"
    ),
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
CONTENT_SECURITY_POLICY = "; ".join(f"{what} {whence}" for what, whence in _ALLOWED.items())
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": with it a browser says of a form's origin that it is "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class HeaderMiddleware:
    """Sets the headers on every answer that has not set them itself."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back with the headers."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)


_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]@/\\?#\s]+)(?::\d{1,5})?", re.ASCII)


class HostMiddleware:
    """Refuses what is asked of another name.

    Parameters
    ----------
    names
        Those that are ours, beside plain addresses and `localhost`.
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self.app = app
        self._names = {"localhost", *(name.lower().rstrip(".") for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it names us."""
        if scope["type"] == "http" and not self._is_ours(Headers(scope=scope).getlist("host")):
            said = "Unknown host name; allow it with `serve --name NAME`."
            await refusal(scope["path"], 421, said)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _is_ours(self, hosts: list[str]) -> bool:
        found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if found is None:
            return False
        name = found[1].strip("[]").lower().rstrip(".")
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return True


UPLOADS = "/api/v1/uploads", "/api/v1/classify/file", "/api/v1/similar/file", "/upload"
"""Where a body may be as large as an upload: there, and below."""
_ADDRESSES = 10_000


class RateLimitMiddleware:
    """Tells who asks too often, or when too many ask at once, to come again.

    Whoever is on this machine may ask as often as he likes: a limit would hit the owner alone.
    """

    def __init__(
        self, app: ASGIApp, limits: ServeLimits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.app = app
        self._limits, self._clock = limits, clock
        self._under_way = 0
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, if there is room for it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self._under_way >= self._limits.at_once:
            said = "Too many requests at once."
            await refusal(scope["path"], 503, said, {"Retry-After": "1"})(scope, receive, send)
            return
        if not self._may((scope.get("client") or ("", 0))[0]):
            said = f"At most {self._limits.requests_per_second:g} requests per second."
            await refusal(scope["path"], 429, said, {"Retry-After": "1"})(scope, receive, send)
            return
        self._under_way += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._under_way -= 1

    def _may(self, address: str) -> bool:
        """Take one of the requests that an address may make; more come with time."""
        rate, now = self._limits.requests_per_second, self._clock()
        if not rate or is_loopback(address):
            return True
        left, then = self._left.pop(address, (float(self._limits.burst), now))
        left = min(left + (now - then) * rate, float(self._limits.burst))
        self._left[address] = (left - 1 if left >= 1 else left), now
        if len(self._left) > _ADDRESSES:
            self._left.popitem(last=False)
        return left >= 1


class BodyLimitMiddleware:
    """Refuses bodies that are too large, by what they say of themselves and by what comes."""

    def __init__(self, app: ASGIApp, limits: ServeLimits) -> None:
        self.app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its body as far as it is allowed."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path: str = scope["path"]
        large = any(path == each or path.startswith(f"{each}/") for each in UPLOADS)
        most = self._limits.upload_bytes if large else self._limits.body_bytes
        said = f"The request body is limited to {most:,} bytes."
        stated = Headers(scope=scope).get("content-length", "0")
        if not stated.isdecimal() or int(stated[:20]) > most:
            await refusal(path, 413, said)(scope, receive, send)
            return
        taken, begun = 0, False

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise Refusal(413, said)
            return message

        async def noticed(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, counted, noticed)
        except Refusal as error:
            if begun:
                raise
            await refusal(path, error.status, error.detail)(scope, receive, send)


SESSION = "lpisearch_session"
LOGIN = "/login"
_OPEN = (LOGIN, "/static/")
_BEARER = re.compile(r"bearer +(\S+)\s*", re.ASCII | re.IGNORECASE)


class TokenMiddleware:
    """Refuses what shows no token, where one is set."""

    def __init__(self, app: ASGIApp, state: WebState) -> None:
        self.app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it may ask."""
        if scope["type"] != "http" or not self._state.settings.token or self._may(scope):
            await self.app(scope, receive, send)
            return
        path: str = scope["path"]
        if path.startswith(API) or scope["method"] not in {"GET", "HEAD"}:
            said = "Send the token as Authorization: Bearer TOKEN, or log in at /login."
            answer = refusal(path, 401, said, {"WWW-Authenticate": 'Bearer realm="lpisearch"'})
        else:
            query = scope["query_string"].decode("ascii", "replace")
            wanted = f"{path}?{query}" if query else path
            answer = RedirectResponse(f"{LOGIN}?next={quote(wanted, safe='')}", 303)
        await answer(scope, receive, send)

    def _may(self, scope: Scope) -> bool:
        path: str = scope["path"]
        if path == LOGIN or path.startswith("/static/"):
            return True
        asked = HTTPConnection(scope)
        shown = _BEARER.fullmatch(asked.headers.get("authorization", ""))
        if shown is not None:
            return is_token(self._state, shown[1])
        return is_session(self._state, asked.cookies.get(SESSION, ""))


def is_token(state: WebState, shown: str) -> bool:
    """Tell whether a text is the token, in a time that says nothing of how much of it is."""
    digests = (
        hashlib.sha256(text.encode("utf-8", "replace")).digest()
        for text in (shown, state.settings.token)
    )
    return hmac.compare_digest(*digests)


def session_of(state: WebState) -> str:
    """Return what the cookie of a browser holds that has shown the token."""
    said = f"session:{state.settings.token}".encode("utf-8", "replace")
    return hmac.new(state.secret, said, hashlib.sha256).hexdigest()


def is_session(state: WebState, shown: str) -> bool:
    """Tell whether a cookie is one of ours."""
    return hmac.compare_digest(shown.encode("utf-8", "replace"), session_of(state).encode())


_NUMBER = re.compile(r"[0-9a-f]{32}")


class VisitorMiddleware:
    """Sets `request.state.visitor`, and the cookie where a page asked for it is HTML."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        known = HTTPConnection(scope).cookies.get(VISITOR, "")
        is_new = not _NUMBER.fullmatch(known)
        visitor = secrets.token_hex(16) if is_new else known
        scope.setdefault("state", {})["visitor"] = visitor

        async def with_cookie(message: Message) -> None:
            if is_new and message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    cookie = f"{VISITOR}={visitor}; Path=/; HttpOnly; SameSite=Strict"
                    headers.append("Set-Cookie", cookie)
            await send(message)

        await self.app(scope, receive, with_cookie)
