"""Login page for the token."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse

from lpisearch.web.pages.rendering import render
from lpisearch.web.security.tokens import SESSION, is_token, session_of
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

# A place of ours: it begins with one slash, so that it names no other server.
_OURS = re.compile(r"/(?![/\\])[^\\\r\n\t]{0,2000}", re.ASCII)
_PAUSE_SECONDS = 0.5


async def login(request: Request) -> Response:
    """Ask for the token, or take it."""
    state = state_of(request)
    wanted = request.query_params.get("next", "/")
    wanted = wanted if _OURS.fullmatch(wanted) else "/"
    if request.method != "POST":
        return render(request, "login.html", wrong=False)
    form = await request.form(max_files=0, max_fields=10)
    shown = form.get("token", "")
    if not (isinstance(shown, str) and state.settings.token and is_token(state, shown)):
        await asyncio.sleep(_PAUSE_SECONDS)
        return render(request, "login.html", wrong=True, status=401)
    answer = RedirectResponse(wanted, 303)
    answer.set_cookie(SESSION, session_of(state), httponly=True, samesite="strict")
    return answer
