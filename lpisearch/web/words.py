"""Fields and calls in the words of the API: `dims`, `POST /api/v1/jobs/index`."""

from __future__ import annotations

from typing import Any

from lpisearch.messages import Call, Message, Option

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


def spoken(text: str) -> str:
    """Return a text as the API says it."""
    return text.said(_word) if isinstance(text, Message) else text


def spoken_value(value: Any) -> Any:
    """Return a JSON value with every text in it as the API says it."""
    if isinstance(value, str):
        return spoken(value)
    if isinstance(value, dict):
        return {name: spoken_value(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [spoken_value(each) for each in value]
    return value


def _word(part: Option | Call) -> str:
    if isinstance(part, Option) or part.verb not in _CALLS:
        return str(part)
    options = ", ".join(map(str, part.options))
    return f"{_CALLS[part.verb]} ({options})" if options else _CALLS[part.verb]
