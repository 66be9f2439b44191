"""YAML: the text as it is, comments and all; a section for each key of the outermost level.

The title is the value of `title` or `name` on that level, else the name of the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lpisearch.readers.base import Reader
from lpisearch.readers.marked_lines import read_marked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.readers.marked_lines import Marked
    from lpisearch.records import Document, Problem
    from lpisearch.settings import ReadOptions

_KEY = re.compile(r"([\w][\w ./-]{0,80}|\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'):(?:[ \t]+(.*))?$")
_TITLES = ("title", "name")


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one document, after warnings about its encoding."""
    yield from read_marked(source, options, "application/yaml", _marked)


def _marked(text: str) -> Marked:
    """Give the lines, which of them have keys, and the title."""
    lines = [line for line in text.split("\n") if line.rstrip() not in {"---", "..."}]
    headings: list[tuple[int, str]] = []
    stated: dict[str, str] = {}
    for number, line in enumerate(lines):
        if (found := _KEY.match(line)) is not None:
            name = found[1].strip("\"'")
            headings.append((number, name))
            value = (found[2] or "").strip().strip("\"'")
            if name.lower() in _TITLES and value[:1] not in {"", "|", ">", "&", "*", "{", "["}:
                stated.setdefault(name.lower(), value)
    title = next((stated[name] for name in _TITLES if name in stated), "")
    return lines, headings, {"title": title}


READER = Reader("yaml", (".yaml", ".yml"), read)
