"""reStructuredText: headings, with their adornment taken off; roles, links and directives as text.

The title is the first heading, else the name of the file. The text of a directive stays, its name
and its options do not; comments are left out.
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

_ADORNMENT = re.compile(r"([=\-`:.'\"~^_*+#<>])\1+\s*$")
_DIRECTIVE = re.compile(r"\s*\.\. (?:\|[^|\n]*\| )?([\w:+.-]{1,80})::\s?(.*)")
_TARGET = re.compile(r"\s*(?:\.\. _|__ )")
_COMMENT = re.compile(r"(\s*)\.\.(?: |$)")
_OPTION = re.compile(r"\s+:[\w -]{1,80}:")
_WITHOUT_TEXT = {"image", "contents", "toctree", "include", "literalinclude", "raw", "highlight"}
_ROLE = re.compile(r"(?::[\w:+.-]{1,60}:)?`([^`<\n]*)(?:<[^`\n]*>)?`(?:_{1,2}|:[\w:+.-]{1,60}:)?")
_LITERAL = re.compile(r"``([^`\n]*)``")
_EMPHASIS = re.compile(r"(?<![\w*])\*{1,2}([^*\n]{1,400})\*{1,2}(?![\w*])")


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one document, after warnings about its encoding."""
    yield from read_marked(source, options, "text/x-rst", _marked)


def _marked(text: str) -> Marked:
    """Give the lines of the text, and which of them are headings."""
    lines: list[str] = []
    headings: list[tuple[int, str]] = []
    skipped = -1  # the indentation of a comment, whose further lines are indented deeper
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        if skipped >= 0 and (not line.strip() or indent > skipped):
            continue
        said = _said(line)
        skipped = indent if said is None else -1
        if _ADORNMENT.match(line):
            if lines and (name := lines[-1].strip()) and not _is_listed(headings, lines):
                headings.append((len(lines) - 1, name))
        elif said is not None and (said or not line.strip()):
            lines.append(said)
    return lines, headings, {}


def _said(line: str) -> str | None:
    """Return a line without marks, "" for one that is a mark; None where a comment begins."""
    if (found := _DIRECTIVE.match(line)) is not None:
        return None if found[1] in _WITHOUT_TEXT else _plain(found[2])
    if _TARGET.match(line) or _OPTION.match(line):
        return ""
    return None if _COMMENT.match(line) else _plain(line)


def _is_listed(headings: list[tuple[int, str]], lines: list[str]) -> bool:
    """Tell whether the last line is a heading already: adornment may stand above and below."""
    return bool(headings) and headings[-1][0] == len(lines) - 1


def _plain(line: str) -> str:
    if "`" in line:
        line = _ROLE.sub(r"\1", _LITERAL.sub(r"\1", line))
    return _EMPHASIS.sub(r"\1", line) if "*" in line else line


READER = Reader("rst", (".rst", ".rest"), read)
