"""JSON values in, documents out: what JSON Lines and JSON arrays share."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lpisearch.readers.fields import FieldRoles, asked_fields, document_from_fields, find_roles
from lpisearch.records import Document, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.settings import ReadOptions

DECODER = json.JSONDecoder(parse_constant=lambda _: None)
"""Takes NaN and Infinity, which are no JSON but are written, for null."""

PLAIN = Document("", "")


class Records:
    """Turns JSON objects into documents; remembers what is the same from one to the next."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._layouts: dict[tuple[str, ...], FieldRoles] = {}
        self._unmet = asked_fields(options)

    def document(self, record: Any, base: Document, where: str) -> Document | Problem:
        """Make a document of one JSON value."""
        if not isinstance(record, dict):
            return Problem("not a JSON object", where)
        found = self._document(record, base)
        return found if isinstance(found, Document) else replace(found, where=where)

    def fields_never_met(self) -> Iterator[Problem]:
        """Warn of each field that the options name and no record has: it may be misspelt."""
        for name in self._unmet.values():
            yield Problem(f"no record has a field “{name}”", warning=True)

    def _document(self, record: dict[str, Any], base: Document) -> Document | Problem:
        names = tuple(record)
        parts = self._layouts.get(names)
        if parts is None:
            parts = self._parts(names)
        for part in ("id", "text"):
            if part in parts.missing:
                return Problem(f"has no field “{parts.missing[part]}”")
        return document_from_fields(record, parts, base)

    def _parts(self, names: tuple[str, ...]) -> FieldRoles:
        parts = find_roles(names, self._options)
        self._unmet = {part: name for part, name in self._unmet.items() if part in parts.missing}
        # Records with keys of their own (words as keys) must not fill the memory.
        if len(self._layouts) < _MOST_LAYOUTS and len(names) <= _WIDEST_LAYOUT:
            self._layouts[names] = parts
        return parts


def parse(text: str) -> Any:
    """Parse exactly one JSON value, with nothing but white space around it."""
    start = len(text) - len(text.lstrip()) if text[:1].isspace() else 0
    record, end = DECODER.raw_decode(text, start)
    if end != len(text) and not text[end:].isspace():
        raise json.JSONDecodeError("Extra data", text, end)
    return record


def not_valid(error: ValueError | RecursionError) -> str:
    """Say why a text is no JSON."""
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON: {error.msg} at column {error.colno}"
    nested = isinstance(error, RecursionError)
    return f"not valid JSON: {'nested too deeply' if nested else error}"


_MOST_LAYOUTS = 1000
_WIDEST_LAYOUT = 1000
