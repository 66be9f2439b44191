"""TREC topic files: `<top>` elements, whose fields need not be closed."""

from __future__ import annotations

import html
import re

_FIELD = re.compile(
    r"<(num|title|desc|narr|dom|head|smry|con|fac|def|query|question)>", re.IGNORECASE
)
_PREFIX = re.compile(r"\s{0,9}(?:Number|Topic|Description)\s{0,9}:", re.IGNORECASE)
_QUERY_FIELDS = ("title", "query", "question", "desc")


def are_topics(line: bytes) -> bool:
    """Tell from its first line whether a file is one of topics."""
    return line.lstrip(b"\xef\xbb\xbf \t")[:5].lower() == b"<top>"


def topics(text: str) -> list[tuple[str, str]]:
    """Return number and query of each topic; either is "" where it is not there."""
    parts = re.split(r"<top>", text, flags=re.IGNORECASE)[1:]
    return [_topic(part) for part in parts]


def _topic(part: str) -> tuple[str, str]:
    _, *pieces = _FIELD.split(part)
    fields: dict[str, str] = {}
    # The pattern's group puts names and contents in turn.
    for name, content in zip(pieces[::2], pieces[1::2], strict=True):
        end = content.find("</")
        stated = _PREFIX.sub("", content if end < 0 else content[:end], count=1)
        fields.setdefault(name.lower(), " ".join(html.unescape(stated).split()))
    query = next((fields[name] for name in _QUERY_FIELDS if fields.get(name)), "")
    return fields.get("num", ""), query
