"""Writes come from our own pages or from programs, never from somebody else's page.

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
from typing import TYPE_CHECKING

from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

VISITOR = "lpisearch_visitor"
HEADER, FIELD = "X-CSRF-Token", "csrf_token"


def csrf_token(request: HTTPConnection) -> str:
    """Return the token for the forms and scripts of a page, for the visitor who asks for it."""
    visitor: str = request.state.visitor
    return hmac.new(state_of(request).secret, visitor.encode(), hashlib.sha256).hexdigest()
