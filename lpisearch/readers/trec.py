"""TREC collections: files of `<DOC>` elements with a `<DOCNO>` each.

The text is that of the `<TEXT>` elements, or where there are none all that is no heading; the title
is the headline. Bytes that are no UTF-8 are Latin-1, as the collections have them.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.base import Reader
from lpisearch.readers.elements import between, decode_element, elements
from lpisearch.readers.encoding import clean
from lpisearch.readers.streams import over_limit
from lpisearch.readers.values import date_of
from lpisearch.records import Document, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.settings import ReadOptions

_BEGINNING = re.compile(rb"\s{0,1000}(?:<\?xml[^>]{0,200}>\s{0,100})?<DOC>\s{0,100}<DOCNO>")
_TAG = re.compile(r"<[/!?]?[A-Za-z][^<>\n]{0,400}>")
_TITLES = ("HEADLINE", "TITLE", "HL", "HEAD", "TI", "TTL", "H3")
_OTHERS = ("DOCNO", "DOCID", "FILEID", "DATE", "DATE1", "DATE_TIME", "DOCTYPE", "DOCHDR", *_TITLES)
_METADATA = {"author": "BYLINE", "source": "SOURCE", "dateline": "DATELINE", "section": "SECTION"}


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a document for each element; a problem for one without title and text."""
    number = 0
    limit = options.max_document_bytes
    for number, element in enumerate(elements(source, b"<DOC>", b"</DOC>", limit), 1):
        where = f"element {number}"
        if element is None:
            yield Problem(over_limit(limit), where)
        else:
            yield _document(decode_element(element), where)
    if not number:
        raise ReaderError("has no <DOC> element")


def sniff(head: bytes) -> bool:
    """Tell whether bytes begin as the files of TREC collections do."""
    return bool(_BEGINNING.match(head))


def _document(element: str, where: str) -> Document | Problem:
    title = next((text for tag in _TITLES if (text := _line(between(element, tag)))), "")
    text = "\n\n".join(filter(None, map(_plain, _texts(element)))) or _rest(element)
    if not title and not text:
        return Problem("has neither title nor text", where)
    date = _line(between(element, "DATE_TIME") or between(element, "DATE"))
    stated = {name: _line(between(element, tag)) for name, tag in _METADATA.items()}
    if date and not date_of(date):
        stated["date"] = date
    return Document(
        title,
        text,
        id=_line(between(element, "DOCNO")) or None,
        date=date_of(date),
        metadata={name: value for name, value in stated.items() if value},
    )


def _texts(element: str) -> Iterator[str]:
    """Yield what is in each <TEXT>."""
    end = 0
    while (start := element.find("<TEXT>", end)) >= 0:
        end = element.find("</TEXT>", start)
        end = len(element) if end < 0 else end
        yield element[start + len("<TEXT>") : end]


def _rest(element: str) -> str:
    """Return the text of an element without those that say what it is."""
    for tag in _OTHERS:
        element = element.replace(f"<{tag}>{between(element, tag)}</{tag}>", "")
    return _plain(element)


def _plain(text: str) -> str:
    return clean(html.unescape(_TAG.sub("", text))).strip()


def _line(text: str) -> str:
    return " ".join(_plain(text).split())


READER = Reader("trec", (".trec", ".trectext"), read, sniff, many=True)
