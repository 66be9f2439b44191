"""Render messages for the API: `dims`, `POST /api/v1/jobs/index`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lpisearch.messages import Call, Message, Option

if TYPE_CHECKING:
    from collections.abc import Mapping

PYTHON = "words=python"
"""The value of the header `Prefer` by which a client asks for the words of Python."""

_CALLS = {
    "index": "POST /api/v1/jobs/index",
    "ingest": "POST /api/v1/jobs/ingest",
    "entries": "GET /api/v1/documents",
    "status": "GET /api/v1/status",
    "examine": "GET /api/v1/doctor",
    "help": "GET /api/v1/openapi.json",
    "label": "POST /api/v1/labels",
    "evaluate": "POST /api/v1/jobs/evaluate",
}


def wants_python(headers: Mapping[str, str]) -> bool:
    """Tell whether calls are to be said as Python has them: our own client asks so."""
    return headers.get("prefer", "").strip().lower() == PYTHON


def spoken(text: str, *, python: bool = False) -> str:
    """Return a text as the API says it, or as Python does."""
    return text.said(_word) if isinstance(text, Message) and not python else str(text)


def spoken_value(value: Any, *, python: bool = False) -> Any:
    """Return a JSON value with every text in it said so."""
    if isinstance(value, str):
        return spoken(value, python=python)
    if isinstance(value, dict):
        return {name: spoken_value(each, python=python) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [spoken_value(each, python=python) for each in value]
    return value


def _word(part: Option | Call) -> str:
    if isinstance(part, Option) or part.verb not in _CALLS:
        return str(part)
    options = ", ".join(map(str, part.options))
    return f"{_CALLS[part.verb]} ({options})" if options else _CALLS[part.verb]
