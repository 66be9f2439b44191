"""Limits on one file: document size and number of bad records.

In goes what any reader yields, out comes the same within the limits. It is the only place where
they are counted, whether the reader runs in a worker or not.
"""

from __future__ import annotations

import json
import re
from operator import add
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.limits import MOST_DIFFERENT_WORDS, MOST_PROBLEMS, MOST_REMARKS
from lpisearch.readers.streams import over_limit
from lpisearch.records import Document, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lpisearch.readers.base import Reader
    from lpisearch.settings import ReadOptions

_BLOCK = 1_000_000
_WORD = re.compile(r"[^\s!-/:-@\[-`{-~]+")


def within_budget(
    items: Iterable[Document | Problem], reader: Reader, options: ReadOptions
) -> Iterator[Document | Problem]:
    """Pass on what a reader yields; a document that is too large becomes a problem.

    Raises
    ------
    ReaderError
        Far more records of the file are bad than good, or its one document is too large.
    """
    documents = problems = remarks = 0
    for item in items:
        if isinstance(item, Problem):
            problems += not item.warning
            remarks += item.warning
            if not item.warning or remarks < MOST_REMARKS:
                yield item
            elif remarks == MOST_REMARKS:
                yield Problem("further warnings are not shown", warning=True)
            if problems > MOST_PROBLEMS and problems > documents:
                raise ReaderError(f"gave up {_place(item)}: {problems:,} records could not be read")
            continue
        documents += 1
        reason = _refusal(item, options)
        if not reason:
            yield item
            continue
        if not reader.many:
            raise ReaderError(reason)
        yield Problem(reason, f"document {documents}")


def _refusal(document: Document, options: ReadOptions) -> str:
    """Return why a document is too much to be stored, or ""."""
    size = document_bytes(document)
    if size > options.max_document_bytes:
        return over_limit(options.max_document_bytes, size)
    if len(document.text) > MOST_DIFFERENT_WORDS and has_too_many_words(document.text):
        return f"has more than {MOST_DIFFERENT_WORDS:,} different words, so it is probably not text"
    return ""


def has_too_many_words(text: str, most: int = MOST_DIFFERENT_WORDS) -> bool:
    """Tell whether more than so many words, or pairs of characters, of a text are different."""
    words: set[str] = set()
    pairs: set[str] = set()
    only_words = text.isascii()
    for start in range(0, len(text), _BLOCK):
        block = text[start : start + _BLOCK]
        words.update(_WORD.findall(block))
        if not only_words:
            pairs.update(map(add, block, block[1:]))
        if max(len(words), len(pairs)) > most:
            return True
    return False


def document_bytes(document: Document) -> int:
    """Return what a document takes as UTF-8, with all that goes with it."""
    size = _utf8_bytes(document.title) + _utf8_bytes(document.text)
    if document.metadata:
        size += len(json.dumps(document.metadata, ensure_ascii=False))
    return size


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _place(problem: Problem) -> str:
    return f"at {problem.where}" if problem.where else "half-way"
