"""Middleware that protects the server: hosts, limits, token, visitors, CSRF, headers.

- Hosts: a request must name `localhost`, a plain address or a configured name. Otherwise a foreign
  page whose name resolves to this machine (DNS rebinding) could run scripts against the server.
- Token: programs send `Authorization: Bearer TOKEN`. A browser sends it once, to `/login`, and then
  has a cookie (HttpOnly, SameSite=Strict) of a session of all servers, which ends after a week or
  at `/logout`. Tokens are compared in constant time, and never written down.
- CSRF: every method but GET, HEAD and OPTIONS writes. A write from another site (`Sec-Fetch-Site`,
  `Origin`) is refused. A write from a browser, which has one of these headers or a cookie, needs
  the token of its visitor: in the header `X-CSRF-Token` (of scripts), or in
  `csrf_token`, the FIRST field of a form, also in `multipart/form-data`. The visitor is a random
  number in the cookie `lpisearch_visitor`, which the first page sets; the token is that number,
  signed with the secret of the servers. A program without cookies and such headers needs none.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import re
import secrets
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response

from lpisearch.errors import LpiSearchError
from lpisearch.options import ServeLimits, is_loopback
from lpisearch.web.jobs import state_file
from lpisearch.web.problems import API, HEALTH, METRICS, PROGRAMS, READY, Refusal, refusal
from lpisearch.web.state import RateTable, WebState, state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Middleware:
    """Handles HTTP requests, answers a `Refusal`, and passes other events of ASGI on."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def sent(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._handle(scope, receive, sent)
        except Refusal as error:
            if started:
                raise
            response = refusal(scope["path"], error.status, error.detail, error.headers)
            await response(scope, receive, send)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an HTTP request: raise a `Refusal`, or pass it on to `app`."""
        raise NotImplementedError


VISITOR = "lpisearch_visitor"
HEADER, FIELD = "X-CSRF-Token", "csrf_token"
_SAFE = {"GET", "HEAD", "OPTIONS"}
_SAME_SITE = {"same-origin", "none"}
_FIRST_BYTES = 8192  # of a form, which contain its first field
_FORM, _PARTS = "application/x-www-form-urlencoded", "multipart/form-data"
_FIRST_PART = re.compile(
    rb'--[^\r\n]{1,200}\r\ncontent-disposition: form-data; name="csrf_token"\r\n\r\n([^\r\n]*)\r\n',
    re.IGNORECASE,
)


def csrf_token(request: HTTPConnection) -> str:
    """Return the token that forms and scripts of a page send for its visitor."""
    return _signed(state_of(request), request.state.visitor)


def _signed(state: WebState, visitor: str) -> str:
    return _hmac(state, f"csrf:{visitor}")


def _hmac(state: WebState, text: str) -> str:
    return hmac.new(state.secret, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


class CsrfMiddleware(Middleware):
    """Refuses requests that pages of other sites make a browser send.

    A link to a page works: it is a navigation, whose response the other site cannot read.
    """

    def __init__(self, app: ASGIApp, state: WebState) -> None:
        super().__init__(app)
        self._state = state

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HTTPConnection(scope)
        if scope.get(_CORS):  # of an origin that the settings allow
            await self.app(scope, receive, send)
            return
        is_safe = scope["method"] in _SAFE
        is_ours = not _is_from_elsewhere(request) if is_safe else _is_same_site(request)
        if not (is_ours or (is_safe and _is_link(request))):
            raise Refusal(403, "Cross-site request refused.")
        if not is_safe and _is_from_browser(request):
            token = request.headers.get(HEADER, "")
            if not token:
                token, receive = await _first_field(request, receive)
            if not self._is_token(request, token):
                detail = f"Changes need the CSRF token of the page: {HEADER}, or {FIELD} in a form."
                raise Refusal(403, detail)
        await self.app(scope, receive, send)

    def _is_token(self, request: HTTPConnection, token: str) -> bool:
        visitor = request.cookies.get(VISITOR, "")
        right = _signed(self._state, visitor).encode()
        return bool(visitor) and hmac.compare_digest(token.encode("utf-8", "replace"), right)


def _is_from_elsewhere(request: HTTPConnection) -> bool:
    return request.headers.get("sec-fetch-site", "none") not in _SAME_SITE


def _is_link(request: HTTPConnection) -> bool:
    """Tell whether a browser opens a page, not data, a frame or an image."""
    path, fetch = request.url.path, request.headers.get
    is_page = not path.startswith((*PROGRAMS, "/map/"))
    return (
        is_page and fetch("sec-fetch-mode") == "navigate" and fetch("sec-fetch-dest") == "document"
    )


def _is_same_site(request: HTTPConnection) -> bool:
    if _is_from_elsewhere(request):
        return False
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    return origin is None or origin.lower() in {f"http://{host}", f"https://{host}"}


def _is_from_browser(request: HTTPConnection) -> bool:
    return any(name in request.headers for name in ("cookie", "origin", "sec-fetch-site"))


async def _first_field(request: HTTPConnection, receive: Receive) -> tuple[str, Receive]:
    """Return the token at the beginning of a form, and a function that receives the form again."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in {_FORM, _PARTS}:
        return "", receive
    messages: list[Message] = []
    body = b""
    while len(body) < _FIRST_BYTES:
        message = await receive()
        messages.append(message)
        body += message.get("body", b"")
        if message["type"] != "http.request" or not message.get("more_body"):
            break

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    return (_token_of_form(body) if kind == _FORM else _token_of_parts(body)), again


def _token_of_form(body: bytes) -> str:
    pairs = parse_qsl(body.split(b"&", 1)[0].decode("ascii", "replace"))
    return pairs[0][1] if pairs and pairs[0][0] == FIELD else ""


def _token_of_parts(body: bytes) -> str:
    match = _FIRST_PART.match(body)
    return match[1].decode("ascii", "replace") if match else ""


_ALLOWED = {
    "default-src": "'none'",
    **dict.fromkeys(
        ("script-src", "style-src", "img-src", "font-src", "connect-src", "manifest-src"), "'self'"
    ),
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
CONTENT_SECURITY_POLICY = "; ".join(f"{kind} {sources}" for kind, sources in _ALLOWED.items())
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With "no-referrer", browsers send "null" as the origin of a form.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


_UNCACHED = "no-store"


class HeaderMiddleware(Middleware):
    """Sets security headers that a response does not set itself.

    Browsers store no responses but files of the look, and, without a token, those with an ETag.
    """

    def __init__(self, app: ASGIApp, state: WebState) -> None:
        super().__init__(app)
        self._is_guarded = bool(state.settings.token)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_look = scope["path"].startswith("/static/")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if not is_look and (self._is_guarded or "cache-control" not in headers):
                    headers["Cache-Control"] = _UNCACHED
            await send(message)

        await self.app(scope, receive, with_headers)


_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]@/\\?#\s]+)(?::\d{1,5})?", re.ASCII)


class HostMiddleware(Middleware):
    """Refuses requests for other hosts than `names`, `localhost` and plain addresses."""

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        super().__init__(app)
        self._names = {"localhost", *(name.lower().rstrip(".") for name in names)}

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_known(Headers(scope=scope).getlist("host")):
            raise Refusal(421, "Unknown host name; allow it with `serve --name NAME`.")
        await self.app(scope, receive, send)

    def _is_known(self, hosts: list[str]) -> bool:
        match = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if match is None:
            return False
        name = match[1].strip("[]").lower().rstrip(".")
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return True


UPLOADS = "/api/v1/uploads", "/api/v1/classify/file", "/api/v1/similar/file", "/upload"
"""Paths at which, and below which, bodies may be as large as uploads."""
_LATER = {"Retry-After": "1"}
_MOST_PROBES = 20  # at a time, however many other requests there are
_PLACE_SECONDS = 2.0


class RateLimitMiddleware(Middleware):
    """Limits the requests of an address per second.

    Loopback clients are not limited: they are the owner, unless there is a proxy.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: ServeLimits,
        clock: Callable[[], float] = time.monotonic,
        *,
        rates: RateTable | None = None,
        spares_owner: bool = True,
    ) -> None:
        super().__init__(app)
        self._limits, self._clock, self._spares_owner = limits, clock, spares_owner
        self._rates = rates or RateTable()

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._may(_address(scope)):
            detail = f"At most {self._limits.requests_per_second:g} requests per second."
            raise Refusal(429, detail, headers=_LATER)
        await self.app(scope, receive, send)

    def _may(self, address: str) -> bool:
        rate = self._limits.requests_per_second
        if not rate or (self._spares_owner and is_loopback(address)):
            return True
        return self._rates.take(address, rate, float(self._limits.burst), self._clock())


def _address(scope: Scope) -> str:
    return (scope.get("client") or ("", 0))[0]


class LoadMiddleware(Middleware):
    """Limits the requests at a time; one address may have half of them.

    Streams of events, which stay open, are counted apart. So are requests without the token, which
    may have a quarter: those who have it are kept a place. A request waits a moment for its place,
    so that a burst is served a little later.
    """

    def __init__(self, app: ASGIApp, limits: ServeLimits, *, is_guarded: bool = False) -> None:
        super().__init__(app)
        self._is_guarded = is_guarded
        self._most = {"": limits.at_once, "guest": limits.at_once // 4, "stream": limits.streams}
        self._most["probe"] = _MOST_PROBES
        self._active: Counter[tuple[str, str]] = Counter()
        self._freed, self._waiting = asyncio.Condition(), 0

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = self._kind(scope["path"])
        in_all, own = (kind, ""), (kind, _address(scope) or "unknown")
        if not await self._admitted(in_all, own):
            raise Refusal(503, "Too many requests at once.", headers=_LATER)
        self._active.update((in_all, own))
        try:
            await self.app(scope, receive, send)
        finally:
            self._active.subtract((in_all, own))
            if not self._active[own]:
                del self._active[own]
            if self._waiting:
                async with self._freed:
                    self._freed.notify_all()

    async def _admitted(self, in_all: tuple[str, str], own: tuple[str, str]) -> bool:
        """Wait for a place, if there is none and few wait already; streams do not wait."""
        most = self._most[in_all[0]]

        def is_free() -> bool:
            return self._active[in_all] < most and self._active[own] < (most + 1) // 2

        if is_free() or in_all[0] == "stream" or self._waiting >= most:
            return is_free()
        self._waiting += 1
        try:
            async with asyncio.timeout(_PLACE_SECONDS), self._freed:
                await self._freed.wait_for(is_free)
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True

    def _kind(self, path: str) -> str:
        if path.startswith(f"{API}v1/jobs/") and path.endswith("/events"):
            return "stream"
        if path in {HEALTH, READY, METRICS}:
            return "probe"
        return "guest" if self._is_guarded and is_open(path) else ""


class BodyLimitMiddleware(Middleware):
    """Refuses bodies that are too large, by their stated and by their actual length."""

    def __init__(self, app: ASGIApp, limits: ServeLimits) -> None:
        super().__init__(app)
        self._limits = limits

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        large = any(path == one or path.startswith(f"{one}/") for one in UPLOADS)
        most = self._limits.upload_bytes if large else self._limits.body_bytes
        detail = f"The request body is limited to {most:,} bytes."
        stated = Headers(scope=scope).get("content-length", "0")
        if not stated.isdecimal() or int(stated[:20]) > most:
            raise Refusal(413, detail)
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > most:
                raise Refusal(413, detail)
            return message

        await self.app(scope, counted, send)


def session_cookie(state: WebState) -> str:
    """Return the name of the cookie: of several libraries on one host each has its own."""
    name = state_file(state.library.path, "servers").name
    return f"lpisearch_session_{name[:8]}" if state.shelf else "lpisearch_session"


LOGIN = "/login"
_BEARER = re.compile(r"bearer +(\S+)\s*", re.ASCII | re.IGNORECASE)


_CORS_HEADERS = {
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": "Authorization, Content-Type, If-None-Match, Prefer",
    "access-control-max-age": "600",
}
_CORS = "lpisearch.cors"


class CorsMiddleware(Middleware):
    """Lets pages of the chosen origins use the API, without the cookies of a browser."""

    def __init__(self, app: ASGIApp, origins: Collection[str]) -> None:
        super().__init__(app)
        self._origins = {origin.lower().rstrip("/") for origin in origins}

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = HTTPConnection(scope).headers.get("origin", "")
        if origin.lower() not in self._origins or not scope["path"].startswith(API):
            await self.app(scope, receive, send)
            return
        own = {"access-control-allow-origin": origin, "vary": "Origin"}
        if scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=own | _CORS_HEADERS)(scope, receive, send)
            return
        own["access-control-expose-headers"] = "ETag, Location, Retry-After"

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in own.items():
                    headers.append(name, value)
            await send(message)

        headers = [pair for pair in scope["headers"] if pair[0] != b"cookie"]
        await self.app({**scope, "headers": headers, _CORS: True}, receive, sent)


class TokenMiddleware(Middleware):
    """Requires the token of the settings, if there is one."""

    def __init__(self, app: ASGIApp, state: WebState) -> None:
        super().__init__(app)
        self._state = state

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        try:
            may = not self._state.settings.token or await self._may(scope)
        except LpiSearchError as error:  # the database that has the sessions is away
            raise Refusal(503, error.what, headers=_LATER) from None
        if may:
            await self.app(scope, receive, send)
            return
        if self._may_read(scope):
            if scope["method"] not in _SAFE and not path.startswith(PROGRAMS):
                raise Refusal(403, "This token may only read.")
            await self.app({**scope, READS_ONLY: True}, receive, send)
            return
        if path.startswith(PROGRAMS) or scope["method"] not in {"GET", "HEAD"}:
            detail = "Send the token as Authorization: Bearer TOKEN, or log in at /login."
            raise Refusal(401, detail, headers={"WWW-Authenticate": 'Bearer realm="lpisearch"'})
        query = scope["query_string"].decode("ascii", "replace")
        address = quote(f"{path}?{query}" if query else path, safe="")
        await RedirectResponse(f"{LOGIN}?next={address}", 303)(scope, receive, send)

    async def _may(self, scope: Scope) -> bool:
        if is_open(scope["path"]):
            return True
        request = HTTPConnection(scope)
        bearer = _BEARER.fullmatch(request.headers.get("authorization", ""))
        if bearer is not None:
            return is_token(bearer[1], self._state.settings.token)
        cookie = request.cookies.get(session_cookie(self._state), "")
        if not _COOKIE.fullmatch(cookie):
            return False
        return await self._state.recorded(partial(is_session, self._state, cookie))

    def _may_read(self, scope: Scope) -> bool:
        bearer = _BEARER.fullmatch(HTTPConnection(scope).headers.get("authorization", ""))
        right = self._state.settings.read_token
        return bool(right) and bearer is not None and is_token(bearer[1], right)


READS_ONLY = "lpisearch.reads_only"
"""The key of a scope whose token may only read."""


def is_open(path: str) -> bool:
    """Tell whether a path needs no token."""
    return path in {LOGIN, HEALTH, READY} or path.startswith("/static/")


def is_token(text: str, token: str) -> bool:
    """Compare a text with a token, in constant time."""
    digests = (hashlib.sha256(one.encode("utf-8", "replace")).digest() for one in (text, token))
    return hmac.compare_digest(*digests)


SESSION_SECONDS = 7 * 24 * 3600
_MOST_SESSIONS = 1000
_SESSIONS = "session:"
_COOKIE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


def begin_session(state: WebState) -> str:
    """Begin a session of a browser; return its cookie, of which only a digest is kept."""
    cookie = secrets.token_urlsafe(32)
    state.records.set_value(_session(state, cookie), "", SESSION_SECONDS)
    state.records.keep_values(_SESSIONS, _MOST_SESSIONS)
    return cookie


def end_session(state: WebState, cookie: str) -> None:
    """End a session, so that its cookie opens nothing any more."""
    state.records.remove_value(_session(state, cookie))


def is_session(state: WebState, cookie: str) -> bool:
    """Tell whether a cookie is that of a session; what is looked up is a keyed digest of it."""
    return state.records.value(_session(state, cookie)) is not None


def _session(state: WebState, cookie: str) -> str:
    return _SESSIONS + _hmac(state, f"session:{cookie}")


_NUMBER = re.compile(r"[0-9a-f]{32}")


class VisitorMiddleware(Middleware):
    """Sets `request.state.visitor`, and its cookie on HTML pages."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        known = HTTPConnection(scope).cookies.get(VISITOR, "")
        is_new = not _NUMBER.fullmatch(known)
        visitor = secrets.token_hex(16) if is_new else known
        scope.setdefault("state", {})["visitor"] = visitor

        async def with_cookie(message: Message) -> None:
            if is_new and message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    cookie = f"{VISITOR}={visitor}; Path=/; HttpOnly; SameSite=Strict"
                    cookie += "; Secure" if scope["scheme"] == "https" else ""
                    headers.append("Set-Cookie", cookie)
            await send(message)

        await self.app(scope, receive, with_cookie)
