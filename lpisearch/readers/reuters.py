"""Reuters-21578: SGML files of `<REUTERS>` elements.

Title and body become the text, topics the labels, LEWISSPLIT the split, NEWID the id; places,
people and the rest become metadata. The files are not well-formed, so they are read by
pattern, element by element. Bytes that are no UTF-8 are Latin-1, as the collection has them.
"""

from __future__ import annotations

import html
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lpisearch.errors import ReaderError
from lpisearch.readers.base import Reader
from lpisearch.readers.elements import between, decode_element, elements
from lpisearch.readers.encoding import clean
from lpisearch.readers.fields import asked_fields
from lpisearch.readers.streams import over_limit
from lpisearch.records import Document, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.settings import ReadOptions


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a document for each element; a problem for one without title and text."""
    found = False
    limit = options.max_document_bytes
    for number, element in enumerate(elements(source, b"<REUTERS", b"</REUTERS>", limit), 1):
        found = True
        if element is None:
            yield Problem(over_limit(limit), f"element {number}")
        else:
            yield _document(decode_element(element), options, f"element {number}")
    if not found:
        raise ReaderError("has no <REUTERS> element")


def sniff(head: bytes) -> bool:
    """Tell whether bytes begin as the files of the collection do."""
    return bool(_BEGINNING.match(head))


READER = Reader("reuters", (".sgm", ".sgml"), read, sniff, many=True)

_BEGINNING = re.compile(rb"\s*(?:<!DOCTYPE lewis\b|<REUTERS\b)", re.IGNORECASE)
_TAG = re.compile(r"<REUTERS\b([^>]*)>")
_ATTRIBUTE = re.compile(r'\b(\w++)\s*+=\s*+"([^"]*+)"')
_LISTED = re.compile(r"<D>([^<]*)</D>")
_LISTS = ("topics", "places", "people", "orgs", "exchanges", "companies")
_ANY_TAG = re.compile(r"</?[A-Z]+\b[^<>]*>")
_SPLITS = {
    "train": "train", "test": "test", "not-used": "unused",
    "training-set": "train", "published-testset": "test",
}  # fmt: skip
_DATE = re.compile(r"(\d{1,2}-[A-Z]{3}-\d{4})(?: +(\d\d?:\d\d:\d\d))?", re.IGNORECASE)


def _document(element: str, options: ReadOptions, where: str) -> Document | Problem:
    tag = _TAG.match(element)
    attributes = {name.lower(): value for name, value in _ATTRIBUTE.findall(tag[1] if tag else "")}
    title = " ".join(_content(element, "TITLE").split())
    text = _content(element, "BODY") or _unprocessed(element)
    if not title and not text:
        return Problem("has neither title nor text", where)
    lists = {name: _listed(element, name.upper()) for name in _LISTS}
    asked = asked_fields(options)
    label_field = asked.get("labels", "topics" if options.labels == "auto" else "").lower()
    split_field = asked.get("split", "lewissplit" if options.split == "auto" else "").lower()
    stated = attributes.get(split_field, "").lower()
    date = _content(element, "DATE")
    metadata: dict[str, Any] = {
        "author": " ".join(_content(element, "AUTHOR").split()),
        "dateline": " ".join(_content(element, "DATELINE").split()),
        "date": "" if _iso(date) else date,
        **{name: list(names) for name, names in lists.items() if name != label_field},
    }
    return Document(
        title,
        text,
        id=attributes.get(asked.get("id", "newid").lower()) or None,
        labels=lists.get(label_field, ()),
        split=_SPLITS.get(stated, stated),
        date=_iso(date),
        metadata={name: value for name, value in metadata.items() if value},
    )


def _content(element: str, tag: str) -> str:
    return _plain(between(element, tag))


def _unprocessed(element: str) -> str:
    """Return what stands in <TEXT> itself, for the stories that were never taken apart."""
    start = element.find("<TEXT")
    end = element.find("</TEXT>", start)
    body = element[start:end] if 0 <= start < end else ""
    for tag in ("TITLE", "AUTHOR", "DATELINE"):
        body = body.replace(f"<{tag}>{between(body, tag)}</{tag}>", "")
    return _plain(_ANY_TAG.sub("", body))


def _listed(element: str, tag: str) -> tuple[str, ...]:
    names = (_plain(name) for name in _LISTED.findall(between(element, tag)))
    return tuple(dict.fromkeys(name for name in names if name))


def _plain(text: str) -> str:
    # &#3; and its like mark ends of transmission; unescape drops them.
    return clean(html.unescape(text)).strip()


def _iso(date: str) -> str:
    found = _DATE.search(date)
    if not found:
        return ""
    for text, pattern in ((found[0], "%d-%b-%Y %H:%M:%S"), (found[1], "%d-%b-%Y")):
        try:
            moment = datetime.strptime(" ".join(text.split()), pattern)  # noqa: DTZ007 - no zone is stated
        except ValueError:
            continue
        return moment.isoformat() if "%H" in pattern else moment.date().isoformat()
    return ""
