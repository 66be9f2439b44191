"""Text files in which some lines are marked as headings: what RST, Org and manual pages share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from lpisearch.errors import ReaderError
from lpisearch.readers.encoding import decode_text
from lpisearch.readers.joining import line_sections
from lpisearch.readers.streams import NO_TEXT, whole
from lpisearch.readers.values import date_of, labels_of
from lpisearch.records import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.records import Problem
    from lpisearch.settings import ReadOptions

Marked: TypeAlias = tuple[list[str], list[tuple[int, str]], dict[str, Any]]
"""Lines without marks; headings, each with the number of its line; and what the file states of
itself, under the names title, date, labels and those of metadata."""


def read_marked(
    source: SourceFile,
    options: ReadOptions,
    media_type: str,
    marked: Callable[[str], Marked],
) -> Iterator[Document | Problem]:
    """Yield the one document of a file, after warnings about its encoding."""
    decoded = decode_text(whole(source, options.max_document_bytes))
    lines, headings, facts = marked(decoded.text)
    joined = "\n".join(lines)
    text = joined.strip()
    if not text:
        raise ReaderError(NO_TEXT)
    yield from decoded.warnings
    skipped = len(joined) - len(joined.lstrip())
    title = facts.pop("title", headings[0][1] if headings else "")
    yield Document(
        title or source.stem,
        text,
        labels=labels_of(facts.pop("labels", ()), "labels"),
        date=date_of(facts.pop("date", "")),
        media_type=media_type,
        metadata={**facts, **decoded.metadata},
        sections=line_sections(lines, headings, skipped=skipped),
    )
