"""Render templates, with escaping and CSRF tokens."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.templating import Jinja2Templates

from lpisearch import __version__
from lpisearch.errors import DocumentNotFound, LibraryNotFound, LpiSearchError
from lpisearch.web.pages import pieces
from lpisearch.web.pages.drawn import colours
from lpisearch.web.pages.words import spoken
from lpisearch.web.security.csrf import csrf_token
from lpisearch.web.state import state_of
from lpisearch.wording import counted, printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import Response

_ROOM = Path(__file__).parents[1]
_TEMPLATES, _STATIC = _ROOM / "templates", _ROOM / "static"


@cache
def _templates() -> Jinja2Templates:
    return Jinja2Templates(env=_environment())


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"asset": asset, "version": __version__, "counted": counted}
    environment.filters |= {
        "folders": pieces.folders,
        "size": pieces.size,
        "spoken": spoken,
        "number": "{:,}".format,
    }
    return environment


def _shown(value: Any) -> Any:
    """Take out of a text what a browser would obey: marks that turn the order of letters around."""
    return printable(value, lines=True) if type(value) is str else value


@cache
def asset(name: str) -> str:
    """Return the address of a file of the look, with a mark of its content: it may be kept."""
    mark = blake2b((_STATIC / name).read_bytes(), digest_size=6).hexdigest()
    return f"/static/{name}?{mark}"


def render(request: Request, template: str, /, *, status: int = 200, **context: Any) -> Response:
    """Return a page; its template knows `csrf_token`, `read_only` and what is given here."""
    shared = state_of(request)
    known = {
        "csrf_token": csrf_token(request),
        "read_only": shared.read_only,
        "library_name": shared.library.path.name,
        "colour_of": _colours_of(request),
    }
    response = _templates().TemplateResponse(request, template, known | context, status_code=status)
    response.headers["Cache-Control"] = "no-store"
    response.headers["Vary"] = "HX-Request"
    return response


def is_part(request: Request) -> bool:
    """Tell whether a script asks for the part of a page that it will put in its place."""
    headers = request.headers
    restores = headers.get("hx-history-restore-request") == "true"
    return headers.get("hx-request") == "true" and not restores


def apology(request: Request, error: LpiSearchError) -> Response:
    """Return a page that says what is the matter, and what to do about it."""
    missing = isinstance(error, DocumentNotFound | LibraryNotFound)
    template = "apology_part.html" if is_part(request) else "apology.html"
    # To a script it is an answer as any other: htmx puts nothing in place that is an error.
    status = 200 if is_part(request) else 404 if missing else 409
    return render(request, template, status=status, what=error.what, next_step=error.next_step)


def _colours_of(request: Request) -> dict[str, int]:
    try:
        return colours(state_of(request))
    except LpiSearchError:
        return {}
