"""Errors and notes in the words of the pages: what is named as a call becomes what to do here."""

from __future__ import annotations

from typing import Any

from lpisearch.messages import Call, Message, Option

_DEEDS = {
    "index": "build the index (on the page Library)",
    "ingest": "add documents (on the page Library)",
    "examine": "look at the health (on the page Library)",
    "status": "see the page Labels",
    "retokenise": "lpisearch db retokenise, on the command line",
    "entries": "look through the documents on the page Search",
}
_FIELDS = {
    "by": "the way of ranking",
    "label": "the label",
    "predicted": "the predicted label",
    "since": "the first date",
    "until": "the last date",
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
