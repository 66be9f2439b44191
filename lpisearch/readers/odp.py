"""ODP (LibreOffice Impress): the slides in their order, each with its notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.readers.base import Reader
from lpisearch.readers.odf_parts import read_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.records import Document, Problem
    from lpisearch.settings import ReadOptions

MEDIA_TYPE = "application/vnd.oasis.opendocument.presentation"


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the presentation."""
    del options  # the worker bounds the size of the answer
    yield from read_parts(source, "slide", MEDIA_TYPE)


READER = Reader(name="odp", suffixes=(".odp",), read=read, isolated=True)
