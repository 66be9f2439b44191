"""ODT (LibreOffice Writer): paragraphs, headings, tables, text boxes and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.archives import Archive
from lpisearch.readers.base import Reader
from lpisearch.readers.markup import TextFlow
from lpisearch.readers.opendocument import Properties, content, gather
from lpisearch.readers.streams import NO_TEXT
from lpisearch.records import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.records import Problem
    from lpisearch.settings import ReadOptions

MEDIA_TYPE = "application/vnd.oasis.opendocument.text"


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the document."""
    del options  # the worker bounds the size of the answer
    with Archive(source) as archive:
        root = content(archive)
        properties = Properties(archive)
    flow = TextFlow()
    gather(root, flow)
    if not flow.text:
        raise ReaderError(NO_TEXT)
    yield Document(
        title=properties.title or flow.heading or source.stem,
        text=flow.text,
        date=properties.date,
        media_type=MEDIA_TYPE,
        metadata=properties.metadata,
        sections=flow.sections,
    )


READER = Reader(name="odt", suffixes=(".odt",), read=read, isolated=True)
