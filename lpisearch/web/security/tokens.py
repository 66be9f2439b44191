"""Token authentication.

Programs show it as `Authorization: Bearer TOKEN`. A browser shows it once, to the page `/login`,
and has a cookie from then on (HttpOnly, SameSite=Strict) that this process alone can make. Tokens
are compared in constant time, and are nowhere written down.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse

from lpisearch.web.problems import API, refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from lpisearch.web.state import WebState

SESSION = "lpisearch_session"
LOGIN = "/login"
_OPEN = (LOGIN, "/static/")
_BEARER = re.compile(r"bearer +(\S+)\s*", re.ASCII | re.IGNORECASE)


class TokenRequired:
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
