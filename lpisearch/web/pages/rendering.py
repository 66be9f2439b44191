"""Templates become pages: everything is escaped, and each knows the token of its forms."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.templating import Jinja2Templates

from lpisearch.web.security.csrf import csrf_token
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import Response

_TEMPLATES = Path(__file__).parents[1] / "templates"


@cache
def _templates() -> Jinja2Templates:
    return Jinja2Templates(env=_environment())


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined
    )


def render(request: Request, template: str, /, *, status: int = 200, **context: Any) -> Response:
    """Return a page; its template knows `csrf_token`, `read_only` and what is given here."""
    known = {"csrf_token": csrf_token(request), "read_only": state_of(request).read_only}
    return _templates().TemplateResponse(request, template, known | context, status_code=status)
