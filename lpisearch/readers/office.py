"""Documents of office programs: DOCX, PPTX, XLSX, and ODT, ODS, ODP.

Headers, footers, comments, deleted text, slide numbers and dates are omitted. Cells have their
last computed values, dates as dates.
"""

from __future__ import annotations

import posixpath
import re
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.base import Archive, Reader, SourceFile, join_sections
from lpisearch.readers.encoding import clean
from lpisearch.readers.xml import Properties, TextFlow, attribute, local_name, parse_xml, walk

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Collection, Iterator

    from lpisearch.model.documents import Document, Problem
    from lpisearch.options import ReadOptions


METADATA = {
    "author": "creator",
    "subject": "subject",
    "keywords": "keywords",
    "description": "description",
    "language": "language",
    "category": "category",
}
_UNTITLED = {"powerpoint presentation"}  # what the program writes where nobody gave a title


def main_part(archive: Archive, kind: str) -> str:
    """Return the package's main document, such as word/document.xml."""
    relations = "_rels/.rels"
    if relations not in archive:
        raise ReaderError(f"is not a {kind} file: it has no _rels/.rels")
    for relation in parse_xml(archive.read(relations), relations):
        if attribute(relation, "Type").endswith("/officeDocument"):
            return attribute(relation, "Target").lstrip("/")
    raise ReaderError(f"is not a {kind} file: it names no main document")


def related_parts(archive: Archive, part: str) -> dict[str, tuple[str, str]]:
    """Return the type and the name of each related part, by its id."""
    folder, name = posixpath.split(part)
    relations = posixpath.join(folder, "_rels", f"{name}.rels")
    if relations not in archive:
        return {}
    return {
        attribute(item, "Id"): (
            attribute(item, "Type").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, attribute(item, "Target"))).lstrip("/"),
        )
        for item in parse_xml(archive.read(relations), relations)
        if attribute(item, "TargetMode") != "External"
    }


def relation_id(element: ET.Element) -> str:
    """Return the id of the part that an element refers to, not that of the element itself."""
    return next((value for key, value in element.items() if key.endswith("}id")), "")


def properties_of(archive: Archive) -> Properties:
    """Return title, date and metadata of a package."""
    properties = Properties(archive, "docProps/core.xml", ("created", "modified"), METADATA)
    if properties.title.lower() in _UNTITLED:
        properties.title = ""
    return properties


DOCX_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

# The separator of the pieces of a block, and the text around it in the enclosing block.
_BLOCKS = {
    "p": ("", ""),
    "tc": (" ", ""),
    "tr": ("\t", ""),
    "tbl": ("\n", ""),
    "txbxContent": ("\n", "\n"),
}
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# Fallback repeats Choice; moveFrom is text that was moved elsewhere; the properties contain
# elements called "tab" that are tab stops.
_SKIP = frozenset({"Fallback", "moveFrom", "del", "rPr", "tabs", "sectPr"})
_NOTES = ("footnotes.xml", "endnotes.xml")


def read_docx(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the document."""
    del options  # the worker bounds the size of the answer
    with Archive(source) as archive:
        main = main_part(archive, "DOCX")
        folder = posixpath.dirname(main)
        properties = properties_of(archive)
        flow = TextFlow()
        styles = _heading_styles(archive, posixpath.join(folder, "styles.xml"))
        _gather(parse_xml(archive.read(main), main), flow, styles)
        for note in (posixpath.join(folder, name) for name in _NOTES):
            if note in archive:
                _gather(parse_xml(archive.read(note), note), flow, ())
    yield properties.document(
        flow.heading or source.stem, flow.text, flow.sections, DOCX_MEDIA_TYPE
    )


def _heading_styles(archive: Archive, part: str) -> frozenset[str]:
    """Return the ids of the title and heading styles: ids are translated, names are not."""
    if part not in archive:
        return frozenset({"Title", "Heading1", "Heading2", "Heading3"})
    return frozenset(
        attribute(style, "styleId")
        for style in parse_xml(archive.read(part), part)
        for name in style
        if local_name(name) == "name"
        and attribute(name, "val").lower().startswith(("heading", "title"))
    )


def _gather(root: ET.Element, flow: TextFlow, heading_styles: Collection[str]) -> None:
    """Add the text below `root` to the flow, with its headings."""
    is_heading = False
    for event, name, element in walk(root, _SKIP):
        if event == "end":
            if name in _BLOCKS:
                text = flow.close(*_BLOCKS[name])
                if name == "p" and is_heading:
                    flow.note_heading(text)
                    is_heading = False
        elif name in _BLOCKS:
            flow.open()
        elif name == "t":
            flow.add(element.text or "")
        elif name in _CHARACTERS:
            flow.add(_CHARACTERS[name])
        elif name == "pStyle":
            is_heading = attribute(element, "val") in heading_styles


DOCX_READER = Reader("docx", (".docx", ".docm"), read_docx, isolated=True)


PPTX_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

_PPTX_BLOCKS = {
    "p": ("", ""),
    "txBody": ("\n", ""),
    "tc": (" ", ""),
    "tr": ("\t", ""),
    "tbl": ("\n", ""),
    "sp": ("\n", ""),
}
_PPTX_CHARACTERS = {"tab": "\t", "br": "\n"}
_PPTX_SKIP = frozenset({"Fallback", "rPr", "pPr", "endParaRPr", "extLst"})
_TITLES = {"title", "ctrTitle"}
_FOOTERS = {"sldNum", "dt", "ftr", "hdr", "sldImg"}


def read_pptx(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the presentation."""
    del options  # the worker bounds the size of the answer
    with Archive(source) as archive:
        properties = properties_of(archive)
        slides = [_slide(archive, part) for part in _slide_parts(archive)]
    text, sections = join_sections(
        ("slide", str(number), text) for number, (_, text) in enumerate(slides, start=1)
    )
    heading = next((title for title, _ in slides if title), "")
    yield properties.document(heading or source.stem, text, sections, PPTX_MEDIA_TYPE)


def _slide_parts(archive: Archive) -> list[str]:
    main = main_part(archive, "PPTX")
    parts = related_parts(archive, main)
    root = parse_xml(archive.read(main), main)
    named = [relation_id(item) for event, name, item in walk(root) if (event, name) == _SLIDE]
    return [parts[name][1] for name in named if name in parts]


_SLIDE = ("start", "sldId")


def _slide(archive: Archive, part: str) -> tuple[str, str]:
    """Return the title and the text of a slide, followed by its notes."""
    flow = TextFlow()
    title = _pptx_gather(parse_xml(archive.read(part), part), flow)
    for kind, notes in related_parts(archive, part).values():
        if kind == "notesSlide" and notes in archive:
            _pptx_gather(parse_xml(archive.read(notes), notes), flow)
    return title, flow.text


def _pptx_gather(root: ET.Element, flow: TextFlow) -> str:
    """Add the text below `root` to the flow; return that of the first title."""
    title = placeholder = ""
    for event, name, element in walk(root, _PPTX_SKIP):
        if event == "start":
            if name in _PPTX_BLOCKS:
                flow.open()
            elif name == "t":
                flow.add(element.text or "")
            elif name in _PPTX_CHARACTERS:
                flow.add(_PPTX_CHARACTERS[name])
            placeholder = _placeholder(name, element, placeholder)
        elif name == "sp" and placeholder in _FOOTERS:
            flow.drop()
        elif name in _PPTX_BLOCKS:
            text = flow.close(*_PPTX_BLOCKS[name])
            if name == "sp" and placeholder in _TITLES:
                title = title or " ".join(text.split())
    return title


def _placeholder(name: str, element: ET.Element, known: str) -> str:
    """Return the kind of the current shape: unknown at its start, then stated within."""
    return "" if name == "sp" else attribute(element, "type") if name == "ph" else known


PPTX_READER = Reader("pptx", (".pptx", ".pptm", ".ppsx"), read_pptx, isolated=True)


XLSX_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # built in
_NO_DATE_SIGNS = re.compile(r'"[^"]*"|\[[^][]*\]|\\.')
_DATE_SIGNS = re.compile(r"[ymdhs]", re.IGNORECASE)
_DAYS = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}  # noqa: DTZ001 (no zone)
_MOST_DIGITS = 20
_TRUTH = {"0": "FALSE", "1": "TRUE"}


def read_xlsx(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the workbook."""
    del options  # the worker bounds the size of the answer
    with Archive(source) as archive:
        properties = properties_of(archive)
        text, sections = join_sections(_Workbook(archive).sheets())
    yield properties.document(source.stem, text, sections, XLSX_MEDIA_TYPE)


class _Workbook:
    """The sheets of a workbook, with shared strings and date styles."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        main = main_part(archive, "XLSX")
        self._parts = related_parts(archive, main)
        self._root = parse_xml(archive.read(main), main)
        self._strings = self._shared_strings()
        self._dates = self._date_styles()
        facts = (item for item in self._root.iter() if local_name(item) == "workbookPr")
        later = any(attribute(item, "date1904") in {"1", "true"} for item in facts)
        self._first_day = _DAYS[later]

    def sheets(self) -> Iterator[tuple[str, str, str]]:
        """Yield kind, name and text of each sheet."""
        for sheet in self._root.iter():
            if local_name(sheet) != "sheet":
                continue
            _, part = self._parts.get(relation_id(sheet), ("", ""))
            if part in self._archive:
                root = parse_xml(self._archive.read(part), part)
                rows = (self._row(row) for row in root.iter() if local_name(row) == "row")
                yield "sheet", clean(attribute(sheet, "name")), "\n".join(filter(None, rows))

    def _row(self, row: ET.Element) -> str:
        values = (" ".join(self._value(cell).split()) for cell in row)
        return "\t".join(filter(None, values))

    def _value(self, cell: ET.Element) -> str:
        kind = attribute(cell, "t")
        if kind == "inlineStr":
            return _text(cell)
        stated = next((item.text or "" for item in cell if local_name(item) == "v"), "")
        if kind == "s":
            # Python turns no number of thousands of digits into an integer.
            is_place = stated.isdecimal() and len(stated) < _MOST_DIGITS
            at = int(stated) if is_place else len(self._strings)
            return self._strings[at] if at < len(self._strings) else ""
        if kind == "b":
            return _TRUTH.get(stated, stated)
        if not kind or kind == "n":
            return self._date(stated) if attribute(cell, "s") in self._dates else stated
        return clean(stated)

    def _date(self, stated: str) -> str:
        try:
            moment = self._first_day + timedelta(days=float(stated))
        except (ValueError, OverflowError):
            return stated
        if moment.date() <= self._first_day.date():
            return moment.strftime("%H:%M:%S")
        whole = moment.time() == _DAYS[False].time()
        return moment.date().isoformat() if whole else moment.isoformat(" ", "seconds")

    def _shared_strings(self) -> list[str]:
        root = self._related("sharedStrings")
        items = root if root is not None else ()
        return [_text(item) for item in items if local_name(item) == "si"]

    def _date_styles(self) -> set[str]:
        """Return the numbers of the cell styles that show a number as a date."""
        root = self._related("styles")
        if root is None:
            return set()
        formats = {
            attribute(item, "numFmtId")
            for item in root.iter()
            if local_name(item) == "numFmt"
            and _DATE_SIGNS.search(_NO_DATE_SIGNS.sub("", attribute(item, "formatCode")))
        } | set(map(str, _DATE_FORMATS))
        styles = next((item for item in root if local_name(item) == "cellXfs"), ())
        return {str(at) for at, item in enumerate(styles) if attribute(item, "numFmtId") in formats}

    def _related(self, kind: str) -> ET.Element | None:
        part = next((part for what, part in self._parts.values() if what == kind), "")
        return parse_xml(self._archive.read(part), part) if part in self._archive else None


def _text(element: ET.Element) -> str:
    """Return the text of a string, without its pronunciation."""
    runs = [element, *(item for item in element if local_name(item) in {"r", "is"})]
    runs += [run for item in runs[1:] for run in item if local_name(run) == "r"]
    return clean(
        "".join(item.text or "" for run in runs for item in run if local_name(item) == "t")
    )


XLSX_READER = Reader("xlsx", (".xlsx", ".xlsm"), read_xlsx, isolated=True)


# The separator of the pieces of a block, and the text around it in the enclosing block.
_ODT_BLOCKS = {
    "p": ("", ""),
    "h": ("", ""),
    "table-cell": (" ", ""),
    "table-row": ("\t", ""),
    "table": ("\n", ""),
    "text-box": ("\n", "\n"),
    "note-body": ("\n", "\n"),
}
_ODT_PARAGRAPHS = ("p", "h")
# The format keeps deleted text at the start of the body, and a count or number where a note is.
_ODT_SKIP = frozenset({"annotation", "tracked-changes", "note-citation", "forms", "sequence-decls"})
_ODT_CHARACTERS = {"s": " ", "tab": "\t", "line-break": "\n"}
_METADATA = {
    "author": "initial-creator | creator",
    "subject": "subject",
    "keywords": "keyword",
    "description": "description",
    "language": "language",
}
_WHITE_SPACE = re.compile(r"[ \t\r\n]+")


def opendocument_properties(archive: Archive) -> Properties:
    """Return title, date and metadata of a document."""
    return Properties(archive, "meta.xml", ("creation-date", "date"), _METADATA)


def content(archive: Archive) -> ET.Element:
    """Return the content of a document; raises ReaderError if it is encrypted."""
    part = "META-INF/manifest.xml"
    if part in archive and any(
        local_name(element) == "encryption-data"
        for element in parse_xml(archive.read(part), part).iter()
    ):
        raise ReaderError("is encrypted")
    return parse_xml(archive.read("content.xml"), "content.xml")


def gather(root: ET.Element, flow: TextFlow) -> None:
    """Add the text below `root` to the flow, with its headings."""
    open_blocks = [""]

    def add(text: str | None) -> None:
        # White space between paragraphs is the layout of the XML, not text.
        if text and open_blocks[-1] in _ODT_PARAGRAPHS:
            flow.add(_WHITE_SPACE.sub(" ", text))

    for event, name, element in walk(root, _ODT_SKIP):
        if event == "start":
            if name in _ODT_BLOCKS:
                flow.open()
                open_blocks.append(name)
            elif name in _ODT_CHARACTERS:
                flow.add(_ODT_CHARACTERS[name])
            add(element.text)
            continue
        if name in _ODT_BLOCKS:
            text = flow.close(*_ODT_BLOCKS[name])
            open_blocks.pop()
            if _is_heading(name, element):
                flow.note_heading(text)
        add(element.tail)


def _is_heading(name: str, element: ET.Element) -> bool:
    return name == "h" or (name == "p" and attribute(element, "style-name") == "Title")


_BODY = {"sheet": ("spreadsheet", "table"), "slide": ("presentation", "page")}


def read_parts(
    source: SourceFile, options: ReadOptions, kind: str, media_type: str
) -> Iterator[Document | Problem]:
    """Yield the document of a file, with a section for each sheet or slide."""
    del options  # the worker bounds the size of the answer
    with Archive(source) as archive:
        root = content(archive)
        properties = opendocument_properties(archive)
    text, sections = join_sections(_parts(root, kind))
    first_line = text.split("\n", 1)[0] if kind == "slide" else ""
    yield properties.document(first_line.strip()[:120] or source.stem, text, sections, media_type)


def _parts(root: ET.Element, kind: str) -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and text of each part."""
    holder, part = _BODY[kind]
    body = next((item for item in root.iter() if local_name(item) == holder), ())
    number = 0
    for element in body:
        if local_name(element) != part:
            continue
        number += 1
        flow = TextFlow()
        gather(element, flow)
        name = clean(attribute(element, "name")) if kind == "sheet" else str(number)
        yield kind, name or str(number), flow.text.strip()


ODT_MEDIA_TYPE = "application/vnd.oasis.opendocument.text"


def read_odt(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the document."""
    del options  # the worker bounds the size of the answer
    with Archive(source) as archive:
        root = content(archive)
        properties = opendocument_properties(archive)
    flow = TextFlow()
    gather(root, flow)
    yield properties.document(flow.heading or source.stem, flow.text, flow.sections, ODT_MEDIA_TYPE)


ODT_READER = Reader("odt", (".odt",), read_odt, isolated=True)


_SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"
_PRESENTATION = "application/vnd.oasis.opendocument.presentation"
_read_ods = partial(read_parts, kind="sheet", media_type=_SPREADSHEET)
_read_odp = partial(read_parts, kind="slide", media_type=_PRESENTATION)
ODS_READER = Reader("ods", (".ods",), _read_ods, isolated=True)
ODP_READER = Reader("odp", (".odp",), _read_odp, isolated=True)
