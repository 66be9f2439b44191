"""Markdown and front matter.

Marks are removed, so that snippets read well: headings, emphasis, links and images (their words
stay), lists, quotes, tables, fences, comments. Code keeps its text. The title is that of the front
matter, then the first heading, then the name of the file.

Patterns line by line, not the tree of markdown-it-py: it takes two to five times as long, 500
bytes of memory per byte of a list (1.6 GB for 3 MB, and a document may have 64 MiB), and drops
text below twenty levels of quotes or lists.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem, Section
from lpisearch.readers.base import NO_TEXT, Reader, SourceFile, line_sections, whole
from lpisearch.readers.encoding import decode_text, unescape
from lpisearch.readers.records import FRONT_MATTER, document_from_fields, find_roles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.options import ReadOptions


MEDIA_TYPE = "text/markdown"


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield warnings about encoding and front matter, then the one document."""
    decoded = decode_text(whole(source, options.max_document_bytes))
    yield from decoded.warnings
    fields, body, warnings = split_front_matter(decoded.text)
    yield from warnings
    text, sections = markdown_to_text(body)
    if not text and not fields:
        raise ReaderError(NO_TEXT)
    base = Document(
        sections[0].name if sections else source.stem,
        text,
        media_type=MEDIA_TYPE,
        metadata=decoded.metadata,
        sections=sections,
    )
    # The text is what follows the front matter, whatever field options name for it elsewhere.
    parts = find_roles(fields, replace(options, text_field=""), FRONT_MATTER)
    document = document_from_fields(fields, parts, base, separators=",;|")
    if isinstance(document, Problem):
        yield replace(document, reason=f"front matter ignored: {document.reason}", warning=True)
        document = base
    yield document


def markdown_to_text(source: str) -> tuple[str, tuple[Section, ...]]:
    """Return the text without marks, and its headings."""
    headings: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = ""
    for line in _without_comments(source).split("\n"):
        mark = _FENCE.match(line) if "`" in line or "~" in line else None
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
            else:
                lines.append(line)
        elif mark:
            fence = mark[1]
        elif not line or line.isspace():
            lines.append("")
        elif _UNDERLINE.match(line):
            if lines and lines[-1]:
                headings.append((len(lines) - 1, lines[-1]))
        elif not _LINK_TARGET.match(line) and not _is_rule(line):
            plain = _plain_line(line)
            if _HEADING.match(line):
                headings.append((len(lines), plain))
            lines.append(plain)
    text = "\n".join(lines)
    skipped = len(text) - len(text.lstrip())
    return text.strip(), line_sections(lines, headings, skipped=skipped)


READER = Reader("markdown", (".md", ".markdown", ".mdown", ".mkd", ".mkdn"), read)

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_UNDERLINE = re.compile(r" {0,3}(=+|--+)\s*$")
_LINK_TARGET = re.compile(r" {0,3}\[[^\[\]]+\]:\s*\S")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_LINE_START = re.compile(r"\s*(?:>\s?)*\s*(?:#{1,6}(?:\s+|$)|[-*+]\s+(?:\[[ xX]\]\s+)?)?")
_LINE_END = re.compile(r"(?<=\s)#+\s*$")
_INLINE_CODE = re.compile(r"((?<!`)`++[^`]+`++)")
_LINK = re.compile(
    r"!?\[([^\[\]]*)\](?:\((?:[^()\s]|\([^()\s]*\))*(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)|\[[^\[\]]*\])"
)
_FOOTNOTE = re.compile(r"\[\^[^\[\]]+\]")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_AUTOLINK = re.compile(r"<((?:https?|mailto|ftp):[^<>\s]+)>")
_EMPHASIS = re.compile(
    r"(?<![\w*\\])\*{1,3}(?=[^\s*])|(?<=[^\s*\\])\*{1,3}(?![\w*])"
    r"|(?<![\w\\])_{1,3}(?=[^\s_])|(?<=[^\s_\\])_{1,3}(?!\w)|~~"
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def _without_comments(text: str) -> str:
    # By hand: a pattern would look to the end of the file for each comment that is not closed.
    pieces = []
    position = 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start)) >= 0:
        pieces.append(text[position:start])
        position = end + len("-->")
    return "".join([*pieces, text[position:]])


def _is_rule(line: str) -> bool:
    """Tell a horizontal rule, or the line between head and body of a table."""
    if not line.lstrip().startswith(("-", "*", "_", "|", ":")):
        return False
    marks = "".join(line.split())
    kinds = set(marks)
    is_break = len(marks) > len("--") and len(kinds) == 1 and kinds <= set("-*_")
    return is_break or {"|", "-"} <= kinds <= {"|", "-", ":"}


def _plain_line(line: str) -> str:
    if "#" in line and _HEADING.match(line):
        line = _LINE_END.sub("", line)
    line = line[_LINE_START.match(line).end() :]  # type: ignore[union-attr]  # it matches ""
    if line.startswith("|"):
        line = " ".join(line.strip("| \t").replace("|", " ").split())
    pieces = _INLINE_CODE.split(line)
    pieces[::2] = map(_plain_words, pieces[::2])
    pieces[1::2] = [code.strip("`") for code in pieces[1::2]]
    return "".join(pieces).rstrip()


def _plain_words(text: str) -> str:
    # Twice for a link around an image.
    text = _LINK.sub(r"\1", _LINK.sub(r"\1", _FOOTNOTE.sub("", text)))
    text = _TAG.sub("", _AUTOLINK.sub(r"\1", text))
    return unescape(_ESCAPED.sub(r"\1", _EMPHASIS.sub("", text)))


MAX_CHARACTERS = 64 * 1024  # a longer block is not front matter


def split_front_matter(text: str) -> tuple[dict[str, Any], str, list[Problem]]:
    """Return the fields, the text after them, and warnings.

    A block that is not valid YAML gives a warning and stays in the text. A valid block that is not
    a mapping is ordinary text between two rules.
    """
    opening = _OPENING.match(text)
    if not opening:
        return {}, text, []
    closing = _CLOSING.search(text, opening.end(), opening.end() + MAX_CHARACTERS)
    if not closing:
        too_long = _CLOSING.search(text, opening.end() + MAX_CHARACTERS)
        reason = f"front matter over {MAX_CHARACTERS // 1024} KiB is read as text"
        return {}, text, [Problem(reason, warning=True)] if too_long else []
    try:
        fields = _parse(text[opening.end() : closing.start()])
    except _FAULTS as error:
        reason = f"front matter is read as text: {_first_line(error)}"
        return {}, text, [Problem(reason, warning=True)]
    if not isinstance(fields, dict):
        return {}, text, []
    return {str(name): value for name, value in fields.items()}, text[closing.end() :], []


_MOST_BRACKETS = 1000
_LONGEST_REASON = 200
_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
# PyYAML lets these through for values such as “!!int ''” or 2024-13-45; its own error is a
# ValueError here, see _parse.
_FAULTS = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)


def _parse(block: str) -> Any:
    import yaml

    if block.count("[") + block.count("{") > _MOST_BRACKETS:
        # PyYAML takes quadratic time for brackets within brackets.
        raise ValueError("too many brackets")
    try:
        # By aliases a few lines may expand to a billion values.
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(block)):
            raise ValueError("YAML aliases are not allowed")
        return yaml.safe_load(block)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 2}" if mark else ""
        raise ValueError(f"not valid YAML{where}: {getattr(error, 'problem', error)}") from error


def _first_line(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error).split("\n")[0][:_LONGEST_REASON]
