"""Render messages for web pages: calls become instructions."""

from __future__ import annotations

from typing import Any

from lpisearch.messages import Call, Message, Option

_DEEDS = {
    "index": "build the index (on the Library page)",
    "ingest": "add documents (on the Library page)",
    "examine": "run a health check (on the Library page)",
    "status": "see the Labels page",
    "retokenise": "lpisearch db retokenise, on the command line",
    "entries": "browse the documents on the Search page",
}
_FIELDS = {
    "by": "the ranking mode",
    "label": "the label",
    "predicted": "the predicted label",
    "since": "the start date",
    "until": "the end date",
    "text": "the text",
    "number": "the number",
    "name": "the index",
}


def spoken(text: Any) -> str:
    """Return a text as the pages say it."""
    return text.said(_word) if isinstance(text, Message) else str(text)


def _word(part: Option | Call) -> str:
    if isinstance(part, Option):
        name = _FIELDS.get(part.name, part.name.replace("_", " "))
        return name if part.value is None else f"{name} {part.value}"
    return _DEEDS.get(part.verb, str(part))
