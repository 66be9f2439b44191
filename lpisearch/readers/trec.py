"""Collections of retrieval research: TREC, Reuters-21578, SMART, and those of ir_datasets.

The files are not well-formed, so they are read by pattern, element by element; bytes that are not
UTF-8 are Latin-1. TREC: the text is that of the `<TEXT>` elements, or without any everything but
headings; the title is the headline. Reuters: topics are labels, LEWISSPLIT is the split, NEWID the
id; places, people and the rest are metadata.

ir_datasets provides documents, queries and judgements by `irds:NAME`; it downloads a collection
when it is first used, to a folder of its own. Documents are written to a temporary file of JSON
Lines, which is read like any other: so an ingest of a million of them needs no more memory than one
of a file, and an unchanged collection is not read again.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from lpisearch.errors import LibraryUnwritable, LpiSearchError, PackageMissing, ReaderError
from lpisearch.messages import nearest, printable
from lpisearch.model.documents import Document, Problem
from lpisearch.readers.base import EMPTY, Reader, SourceFile, lines, over_limit
from lpisearch.readers.encoding import clean, decode, unescape, utf8_chunks
from lpisearch.readers.records import date_of, named_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lpisearch.options import ReadOptions


_BEGINNING = re.compile(rb"\s{0,1000}(?:<\?xml[^>]{0,200}>\s{0,100})?<DOC>\s{0,100}<DOCNO>")
_TAG = re.compile(r"<[/!?]?[A-Za-z][^<>\n]{0,400}>")
_TITLES = ("HEADLINE", "TITLE", "HL", "HEAD", "TI", "TTL", "H3")
_OTHERS = ("DOCNO", "DOCID", "FILEID", "DATE", "DATE1", "DATE_TIME", "DOCTYPE", "DOCHDR", *_TITLES)
_METADATA = {"author": "BYLINE", "source": "SOURCE", "dateline": "DATELINE", "section": "SECTION"}


def read_trec(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a document for each element; a problem for one without title and text."""
    yield from _read_elements(source, options.max_document_bytes, "DOC", _document)


def _read_elements(
    source: SourceFile, limit: int, name: str, document_of: Callable[[str], Document | None]
) -> Iterator[Document | Problem]:
    number = 0
    tags = (f"<{name}>" if name == "DOC" else f"<{name}").encode(), f"</{name}>".encode()
    for number, element in enumerate(elements(source, *tags, limit), 1):
        document = None if element is None else document_of(decode_element(element))
        reason = over_limit(limit) if element is None else "has neither title nor text"
        yield document or Problem(reason, f"element {number}")
    if not number:
        raise ReaderError(f"has no <{name}> element")


def sniff_trec(head: bytes) -> bool:
    """Tell whether bytes begin as TREC collections do."""
    return bool(_BEGINNING.match(head))


def _document(element: str) -> Document | None:
    title = next((text for tag in _TITLES if (text := _line(between(element, tag)))), "")
    text = "\n\n".join(filter(None, map(_plain, _texts(element)))) or _rest(element)
    if not title and not text:
        return None
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
    """Yield the content of each <TEXT>."""
    end = 0
    while (start := element.find("<TEXT>", end)) >= 0:
        end = element.find("</TEXT>", start)
        end = len(element) if end < 0 else end
        yield element[start + len("<TEXT>") : end]


def _rest(element: str) -> str:
    """Return the text of an element without its metadata elements."""
    for tag in _OTHERS:
        element = element.replace(f"<{tag}>{between(element, tag)}</{tag}>", "")
    return _plain(element)


def _plain(text: str) -> str:
    return clean(unescape(_TAG.sub("", text))).strip()


def _line(text: str) -> str:
    return " ".join(_plain(text).split())


TREC_READER = Reader("trec", (".trec", ".trectext"), read_trec, sniff_trec, many=True)


def elements(
    source: SourceFile, start_tag: bytes, end_tag: bytes, limit: int
) -> Iterator[bytes | None]:
    """Yield the bytes from each start tag to its end tag; None for an element over the limit.

    Raises ReaderError if the file is empty or its last element has no end.
    """
    held = b""
    nothing = True
    over = False
    for chunk in utf8_chunks(source):
        nothing = nothing and not chunk
        # Neither what was searched before, nor what was yielded, is gone through again.
        searched = max(0, len(held) - len(end_tag))
        held += chunk
        begun = 0
        while (end := held.find(end_tag, max(begun, searched))) >= 0:
            start = held.find(start_tag, begun, end)
            if over or start >= 0:
                yield None if over or end - start > limit else held[start:end]
            over = False
            begun = end + len(end_tag)
        held = held[begun:]
        if len(held) > limit:
            # What began is too large; what did not begin is of no use. A tag may be cut.
            over = over or start_tag in held
            held = held[-len(end_tag) :]
    if nothing:
        raise ReaderError(EMPTY)
    if over or start_tag in held:
        name = start_tag.strip(b"<>").decode()
        raise ReaderError(f"is damaged: its last <{name}> element has no end")


def decode_element(element: bytes) -> str:
    """Return the text of an element; bytes that are not UTF-8 are Latin-1."""
    try:
        return clean(element.decode())
    except UnicodeDecodeError:
        return clean(element.decode("latin-1"))


def between(element: str, tag: str, begin: int = 0) -> str:
    """Return the content between the tags of an inner element, or ""."""
    # By hand: a pattern would look to the end of the element for each tag that is not closed.
    start = element.find(f"<{tag}>", begin)
    end = element.find(f"</{tag}>", start)
    return element[start + len(tag) + 2 : end] if 0 <= start < end else ""


def read_reuters(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a document for each element; a problem for one without title and text."""
    make = partial(_reuters_document, options=options)
    yield from _read_elements(source, options.max_document_bytes, "REUTERS", make)


def sniff_reuters(head: bytes) -> bool:
    """Tell whether bytes begin as Reuters-21578 does."""
    return bool(_REUTERS_BEGINNING.match(head))


REUTERS_READER = Reader("reuters", (".sgm", ".sgml"), read_reuters, sniff_reuters, many=True)

_REUTERS_BEGINNING = re.compile(rb"\s*(?:<!DOCTYPE lewis\b|<REUTERS\b)", re.IGNORECASE)
_REUTERS_TAG = re.compile(r"<REUTERS\b([^>]*)>")
_ATTRIBUTE = re.compile(r'\b(\w++)\s*+=\s*+"([^"]*+)"')
_LISTED = re.compile(r"<D>([^<]*)</D>")
_LISTS = ("topics", "places", "people", "orgs", "exchanges", "companies")
_ANY_TAG = re.compile(r"</?[A-Z]+\b[^<>]*>")
_SPLITS = {
    "train": "train", "test": "test", "not-used": "unused",
    "training-set": "train", "published-testset": "test",
}  # fmt: skip
_DATE = re.compile(r"(\d{1,2}-[A-Z]{3}-\d{4})(?: +(\d\d?:\d\d:\d\d))?", re.IGNORECASE)


def _reuters_document(element: str, options: ReadOptions) -> Document | None:
    tag = _REUTERS_TAG.match(element)
    attributes = {name.lower(): value for name, value in _ATTRIBUTE.findall(tag[1] if tag else "")}
    title = " ".join(_content(element, "TITLE").split())
    text = _content(element, "BODY") or _unprocessed(element)
    if not title and not text:
        return None
    lists = {name: _listed(element, name.upper()) for name in _LISTS}
    named = named_fields(options)
    label_field = named.get("labels", "topics" if options.labels == "auto" else "").lower()
    split_field = named.get("split", "lewissplit" if options.split == "auto" else "").lower()
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
        id=attributes.get(named.get("id", "newid").lower()) or None,
        labels=lists.get(label_field, ()),
        split=_SPLITS.get(stated, stated),
        date=_iso(date),
        metadata={name: value for name, value in metadata.items() if value},
    )


def _content(element: str, tag: str) -> str:
    return _reuters_plain(between(element, tag))


def _unprocessed(element: str) -> str:
    """Return the content of <TEXT> itself, for stories that were never split."""
    start = element.find("<TEXT")
    end = element.find("</TEXT>", start)
    body = element[start:end] if 0 <= start < end else ""
    for tag in ("TITLE", "AUTHOR", "DATELINE"):
        body = body.replace(f"<{tag}>{between(body, tag)}</{tag}>", "")
    return _reuters_plain(_ANY_TAG.sub("", body))


def _listed(element: str, tag: str) -> tuple[str, ...]:
    names = (_reuters_plain(name) for name in _LISTED.findall(between(element, tag)))
    return tuple(dict.fromkeys(name for name in names if name))


def _reuters_plain(text: str) -> str:
    # &#3; and its like mark ends of transmission; unescape drops them.
    return clean(unescape(text)).strip()


def _iso(date: str) -> str:
    match = _DATE.search(date)
    if not match:
        return ""
    for text, pattern in ((match[0], "%d-%b-%Y %H:%M:%S"), (match[1], "%d-%b-%Y")):
        try:
            moment = datetime.strptime(" ".join(text.split()), pattern)  # noqa: DTZ007 - no zone is stated
        except ValueError:
            continue
        return moment.isoformat() if "%H" in pattern else moment.date().isoformat()
    return ""


def read_smart(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a document for each `.I` line; a problem for one without title and text."""
    warned = False
    for number, data in _records(source, options.max_document_bytes):
        where = f"line {number}"
        if data is None:
            yield Problem(over_limit(options.max_document_bytes), where)
            continue
        decoded = decode(data)
        if decoded.warnings and not warned:
            warned = True
            yield from (replace(warning, where=where) for warning in decoded.warnings)
        yield _smart_document(decoded.text, decoded.metadata, where)


def sniff_smart(head: bytes) -> bool:
    """Tell whether the first line is `.I` and a number."""
    return bool(_FIRST.match(head))


SMART_READER = Reader("smart", (".all",), read_smart, sniff_smart, many=True)

_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\.I[ \t]+\d+[ \t]*\r?\n")
_RECORD = re.compile(rb"\.I[ \t]+\S")
_FIELD = re.compile(r"^\.([A-Z])[ \t]*$", re.MULTILINE)
_SMART_METADATA = {"A": "author", "B": "source", "K": "keywords", "N": "entered", "C": "categories"}


def _records(source: SourceFile, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield each record with the line it begins on; None for one over the limit."""
    begun = 0
    held: list[bytes] = []
    size = 0
    nothing = True
    for number, line in lines(utf8_chunks(source), limit):
        nothing = False
        if line is not None and _RECORD.match(line):
            if begun:
                yield begun, b"\n".join(held) if size <= limit else None
            begun, held, size = number, [], 0
        elif not begun and (line is None or line.strip()):
            break
        size = limit + 1 if line is None else size + len(line) + 1
        if size <= limit and line is not None:
            held.append(line)
        else:
            held.clear()
    if not begun:
        raise ReaderError(
            EMPTY if nothing else "is not a SMART collection: it does not start with an “.I” line"
        )
    yield begun, b"\n".join(held) if size <= limit else None


def _smart_document(text: str, metadata: dict[str, str], where: str) -> Document | Problem:
    head, *pieces = _FIELD.split(text)
    gathered: dict[str, list[str]] = {}
    # Letters and contents alternate. A repeated field continues.
    for letter, content in zip(pieces[::2], pieces[1::2], strict=True):
        if stripped := content.strip():
            gathered.setdefault(letter, []).append(stripped)
    fields = {letter: "\n".join(contents) for letter, contents in gathered.items()}
    title = " ".join(fields.get("T", "").split())
    body = fields.get("W", "")
    if not title and not body:
        return Problem("has neither title nor text", where)
    stated = {
        name: fields[letter] for letter, name in _SMART_METADATA.items() if fields.get(letter)
    }
    return Document(
        title, body, id=head.removeprefix(".I").strip(), metadata={**stated, **metadata}
    )


PREFIX = "irds:"
_PLAIN = ("url", "date")  # fields that are kept beside title and text
_KINDS = {"docs": "documents", "queries": "queries", "qrels": "judgements"}


class CollectionUnreadable(LpiSearchError):
    """A collection of ir_datasets is unknown, incomplete or cannot be read."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"{printable(name)}: {printable(reason)}.",
            "choose a collection listed at https://ir-datasets.com, such as irds:vaswani",
        )


def is_collection(name: str) -> bool:
    """Tell whether a path names a collection of ir_datasets."""
    return name.startswith(PREFIX)


def spool_documents(name: str, target: Path) -> str:
    """Write the documents of a collection to a file of JSON Lines; return the collection's name.

    Each has the language of the collection, if it has one.
    """
    with _iterated(name, "docs") as (documents, dataset), target.open("wb") as stream:
        language = getattr(dataset, "docs_lang", str)() or ""
        for document in documents:
            fields = _fields(document) | ({"language": language} if language else {})
            line = f"{json.dumps(fields, ensure_ascii=False)}\n"
            try:
                stream.write(line.encode(errors="replace"))
            except OSError as error:  # of the disk, where others are of a download
                raise LibraryUnwritable(target, error.strerror or str(error)) from error
    return name


def queries_of(name: str) -> Iterator[tuple[str, str]]:
    """Yield the queries of a collection as (id, text)."""
    with _iterated(name, "queries") as (queries, _):
        for query in queries:
            yield str(query.query_id), " ".join(_text(query).split())


def judgements_of(name: str) -> Iterator[tuple[str, str, int]]:
    """Yield the judgements of a collection as (query, document, grade)."""
    with _iterated(name, "qrels") as (judgements, _):
        for one in judgements:
            yield str(one.query_id), str(one.doc_id), int(one.relevance)


def _fields(document: Any) -> dict[str, str]:
    """Return id, title and text of a document, and its address and date if it has them.

    Where the text begins with the title, it is not repeated.
    """
    title, text = str(getattr(document, "title", "") or "").strip(), _text(document).strip()
    if title and text.startswith(title):
        text = text[len(title) :].lstrip()
    facts = {name: str(getattr(document, name, "") or "") for name in _PLAIN}
    stated = {name: value for name, value in facts.items() if value}
    return {"id": str(document.doc_id), "title": title, "text": text, **stated}


def _text(record: Any) -> str:
    """Return the text of a document or query: what its collection says is searched."""
    stated: Callable[[], str] | None = getattr(record, "default_text", None)
    return str(stated() if stated is not None else record.text)


@contextmanager
def _iterated(name: str, kind: str) -> Iterator[tuple[Iterator[Any], Any]]:
    """Yield the records of a collection, and itself; errors of ir_datasets are stated."""
    try:
        import ir_datasets
    except ImportError as error:
        raise PackageMissing(f"A collection such as {name}", "ir_datasets", "ir") from error
    key = name.removeprefix(PREFIX)
    try:
        dataset = ir_datasets.load(key)
    except KeyError as error:
        known = nearest(key, list(ir_datasets.registry))
        raise CollectionUnreadable(name, f"ir_datasets has no such collection{known}") from error
    if not getattr(dataset, f"has_{kind}")():
        raise CollectionUnreadable(name, f"it has no {_KINDS[kind]}")
    try:
        yield getattr(dataset, f"{kind}_iter")(), dataset
    except LpiSearchError:
        raise
    except Exception as error:  # whatever a download or a parser of it raises
        reason = f"it cannot be read ({type(error).__name__}: {error})"
        raise CollectionUnreadable(name, reason) from error
