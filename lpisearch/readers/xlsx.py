"""XLSX, straight from its XML: the sheets in their order, a row a line, its cells a tab apart.

Values are read as they were last computed, dates as dates; formulas are not.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.archives import Archive
from lpisearch.readers.base import Reader
from lpisearch.readers.encoding import clean
from lpisearch.readers.joining import join_sections
from lpisearch.readers.markup import attribute, local_name, parse_xml
from lpisearch.readers.ooxml import Properties, main_part, related_parts, relation_id
from lpisearch.readers.streams import NO_TEXT
from lpisearch.records import Document

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.records import Problem
    from lpisearch.settings import ReadOptions

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # built in
_NO_DATE_SIGNS = re.compile(r'"[^"]*"|\[[^][]*\]|\\.')
_DATE_SIGNS = re.compile(r"[ymdhs]", re.IGNORECASE)
_DAYS = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}  # noqa: DTZ001 (no zone)
_MOST_DIGITS = 20
_TRUTH = {"0": "FALSE", "1": "TRUE"}


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the workbook."""
    del options  # the worker bounds the size of the answer
    with Archive(source) as archive:
        properties = Properties(archive)
        text, sections = join_sections(_Workbook(archive).sheets())
    if not text:
        raise ReaderError(NO_TEXT)
    yield Document(
        title=properties.title or source.stem,
        text=text,
        date=properties.date,
        media_type=MEDIA_TYPE,
        metadata=properties.metadata,
        sections=sections,
    )


class _Workbook:
    """The sheets of a workbook, and what their cells refer to."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        main = main_part(archive, "XLSX")
        self._parts = related_parts(archive, main)
        self._root = parse_xml(archive.read(main), main)
        self._strings = self._shared_strings()
        self._dates = self._date_styles()
        facts = (each for each in self._root.iter() if local_name(each) == "workbookPr")
        later = any(attribute(each, "date1904") in {"1", "true"} for each in facts)
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
        stated = next((each.text or "" for each in cell if local_name(each) == "v"), "")
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
            attribute(each, "numFmtId")
            for each in root.iter()
            if local_name(each) == "numFmt"
            and _DATE_SIGNS.search(_NO_DATE_SIGNS.sub("", attribute(each, "formatCode")))
        } | set(map(str, _DATE_FORMATS))
        styles = next((each for each in root if local_name(each) == "cellXfs"), ())
        return {str(at) for at, each in enumerate(styles) if attribute(each, "numFmtId") in formats}

    def _related(self, kind: str) -> ET.Element | None:
        part = next((part for what, part in self._parts.values() if what == kind), "")
        return parse_xml(self._archive.read(part), part) if part in self._archive else None


def _text(element: ET.Element) -> str:
    """Return the text of a string, without how it is pronounced."""
    runs = [element, *(each for each in element if local_name(each) in {"r", "is"})]
    runs += [run for each in runs[1:] for run in each if local_name(run) == "r"]
    return clean(
        "".join(each.text or "" for run in runs for each in run if local_name(each) == "t")
    )


READER = Reader(name="xlsx", suffixes=(".xlsx", ".xlsm"), read=read, isolated=True)
