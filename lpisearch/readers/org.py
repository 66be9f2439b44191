"""Org files of Emacs: headings, links as their words, blocks as text; properties are left out.

The title is that of `#+TITLE`, else the first heading, else the name of the file. `#+FILETAGS`
are labels.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lpisearch.readers.base import Reader
from lpisearch.readers.marked_lines import read_marked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.readers.marked_lines import Marked
    from lpisearch.records import Document, Problem
    from lpisearch.settings import ReadOptions

_HEADING = re.compile(r"\*+ +(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED) +)?(?:\[#[A-Z0-9]\] +)?(.*)")
_TAGS = re.compile(r"[ \t]:[\w@#%:]{1,400}:$")
_KEYWORD = re.compile(r"\s*#\+([\w-]{1,80}):\s?(.*)")
_MARK = re.compile(r"\s*(?:#\+|# |#$)")
_DRAWER_BEGINS = re.compile(r"\s*:(?:PROPERTIES|LOGBOOK):$", re.IGNORECASE)
_DRAWER_ENDS = re.compile(r"\s*:END:$", re.IGNORECASE)
_LINK = re.compile(r"\[\[([^][\n]{1,2000})\](?:\[([^][\n]{1,2000})\])?\]")
_EMPHASIS = re.compile(r"(?<![\w*/=~+])([*/=~+_])([^*/=~+\n]{1,400})\1(?![\w*/=~+])")
_STATED = {"author": "author", "description": "description", "keywords": "keywords"}


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one document, after warnings about its encoding."""
    yield from read_marked(source, options, "text/x-org", _marked)


def _marked(text: str) -> Marked:
    """Give the lines of the text, and which of them are headings."""
    lines: list[str] = []
    headings: list[tuple[int, str]] = []
    facts: dict[str, Any] = {}
    in_drawer = False
    for line in text.split("\n"):
        if in_drawer or _DRAWER_BEGINS.match(line):
            in_drawer = not _DRAWER_ENDS.match(line)
        elif (found := _KEYWORD.match(line)) is not None:
            _state(facts, found[1].lower(), found[2].strip())
        elif (found := _HEADING.match(line)) is not None:
            name = _plain(_TAGS.sub("", found[1].rstrip())).strip()
            headings.append((len(lines), name))
            lines.append(name)
        elif not _MARK.match(line):
            lines.append(_plain(line))
    return lines, headings, facts


def _state(facts: dict[str, Any], name: str, value: str) -> None:
    """Note what a file says of itself in a line such as `#+TITLE: …`."""
    if name == "title":
        facts["title"] = f"{facts.get('title', '')} {_plain(value)}".strip()
    elif name == "filetags":
        facts["labels"] = [tag for tag in value.replace(":", " ").split() if tag]
    elif name == "date":
        facts["date"] = value.strip("<>[]").split(" ")[0]
    elif name in _STATED and value:
        facts[_STATED[name]] = value


def _plain(line: str) -> str:
    if "[[" in line:
        line = _LINK.sub(lambda link: link[2] or link[1], line)
    return _EMPHASIS.sub(r"\2", line)


READER = Reader("org", (".org",), read)
