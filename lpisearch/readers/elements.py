"""Split SGML files into elements, one document each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.encoding import clean, utf8_chunks
from lpisearch.readers.streams import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile


def elements(
    source: SourceFile, start_tag: bytes, end_tag: bytes, limit: int
) -> Iterator[bytes | None]:
    """Yield the bytes from each start tag to its end, or None for an element over the limit.

    Parameters
    ----------
    source
        The file.
    start_tag, end_tag
        As they are written, or how the first begins.
    limit
        The most bytes of one element.

    Raises
    ------
    ReaderError
        The file is empty, or its last element has no end.
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
    """Return the text of an element; bytes that are no UTF-8 are Latin-1, as collections have."""
    try:
        return clean(element.decode())
    except UnicodeDecodeError:
        return clean(element.decode("latin-1"))


def between(element: str, tag: str, begin: int = 0) -> str:
    """Return what stands between the tags of an element within, or ""."""
    # By hand: a pattern would look to the end of the element for each tag that is not closed.
    start = element.find(f"<{tag}>", begin)
    end = element.find(f"</{tag}>", start)
    return element[start + len(tag) + 2 : end] if 0 <= start < end else ""
