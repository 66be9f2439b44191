"""Request limits: concurrency, rate per address and body size."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from lpisearch.settings.serving import is_loopback
from lpisearch.web.problems import Refused, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lpisearch.settings.serving import ServeLimits

UPLOADS = "/api/v1/uploads", "/api/v1/classify/file", "/api/v1/similar/file", "/upload"
"""Where a body may be as large as an upload: there, and below."""
_ADDRESSES = 10_000


class Load:
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


class BodySizes:
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
                raise Refused(413, said)
            return message

        async def noticed(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, counted, noticed)
        except Refused as error:
            if begun:
                raise
            await refusal(path, error.status, error.detail)(scope, receive, send)
