"""ODS (LibreOffice Calc): the sheets in their order, a row a line, its cells a tab apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.readers.base import Reader
from lpisearch.readers.odf_parts import read_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.records import Document, Problem
    from lpisearch.settings import ReadOptions

MEDIA_TYPE = "application/vnd.oasis.opendocument.spreadsheet"


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the workbook."""
    del options  # the worker bounds the size of the answer
    yield from read_parts(source, "sheet", MEDIA_TYPE)


READER = Reader(name="ods", suffixes=(".ods",), read=read, isolated=True)
