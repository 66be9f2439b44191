"""Visitor cookie, which CSRF tokens are bound to."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection

from lpisearch.web.security.csrf import VISITOR

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_NUMBER = re.compile(r"[0-9a-f]{32}")


class Visitors:
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
