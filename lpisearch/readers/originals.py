"""How a file looks: a page of a PDF as an image, or a web page as a list of harmless elements.

Both run in the worker process that reads files. What it yields is data, which the page of the
server draws: an image, boxes of characters, and elements of an allow-list without any attribute but
the address of a link. Scripts, styles, forms and everything that would be requested are left out.
"""

from __future__ import annotations

import base64
import ctypes
import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

from lpisearch.errors import ReaderError
from lpisearch.model.documents import BLOCKS, INLINE, Document, Problem
from lpisearch.readers.base import Reader, SourceFile, whole
from lpisearch.readers.encoding import decode_text
from lpisearch.readers.html import SKIPPED, closed_elements, declared_encoding, is_hostile
from lpisearch.readers.pdf import LINE_END_HYPHEN, open_pdf

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray
    from selectolax.lexbor import LexborNode

    from lpisearch.options import ReadOptions

WIDTH = 1400  # pixels of an image, twice those of the column in which it is shown
_TALLEST = 2.5  # times the width
_MOST_CHARACTERS = 20_000  # of a page, of which boxes are returned
_MOST_ELEMENTS = 50_000
_MOST_SPAN = 100
_NUL, _BLANK = 0, " "
_COMPRESSION = 3


def read_page(source: SourceFile, _options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a page of a PDF: its text, its image and the box of each character."""
    import pypdfium2

    pdf = open_pdf(source)
    try:
        page = pdf[max(min(source.page, len(pdf)), 1) - 1]
        width, height = page.get_size()
        scale = min(WIDTH / max(width, 1), _TALLEST * WIDTH / max(height, 1))
        bitmap = page.render(scale=scale, rev_byteorder=True)
        image = png(bitmap.to_numpy())
        text, boxes = _characters(page, (bitmap.width, bitmap.height))
        facts = {"pages": len(pdf), "width": bitmap.width, "height": bitmap.height, "boxes": boxes}
    except pypdfium2.PdfiumError as error:
        raise ReaderError(f"has a damaged page {source.page}") from error
    finally:
        pdf.close()
    encoded = base64.b64encode(image).decode()
    yield Document("", text, media_type="image/png", metadata={**facts, "image": encoded})


PAGE = Reader("page", (), read_page, isolated=True)


def _characters(page: Any, size: tuple[int, int]) -> tuple[str, list[int]]:
    """Return the text of a page, and left, top, right, bottom of each character in pixels."""
    from pypdfium2 import raw

    words = page.get_textpage()
    number = min(words.count_chars(), _MOST_CHARACTERS)
    codes = [raw.FPDFText_GetUnicode(words, at) for at in range(number)]
    signs = "".join(_BLANK if code == _NUL else chr(code) for code in codes)
    cut = {at for match in LINE_END_HYPHEN.finditer(signs) for at in range(*match.span())}
    kept = [at for at in range(number) if at not in cut]
    rectangle, x, y = raw.FS_RECTF(), ctypes.c_int(), ctypes.c_int()
    boxes: list[int] = []
    for at in kept:
        edges = [0, 0, 0, 0]
        if raw.FPDFText_GetLooseCharBox(words, at, rectangle):
            corners = ((rectangle.left, rectangle.top), (rectangle.right, rectangle.bottom))
            places = []
            for left, top in corners:  # a page may be turned or cropped
                raw.FPDF_PageToDevice(page, 0, 0, *size, 0, left, top, x, y)
                places.append((x.value, y.value))
            (left, top), (right, bottom) = places
            edges = [min(left, right), min(top, bottom), max(left, right), max(top, bottom)]
        boxes += edges
    return "".join(signs[at] for at in kept), boxes


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Return an image of rows × columns × red, green, blue as PNG; in grey if it has no colour."""
    import numpy as np

    if pixels.ndim == 3 and (pixels == pixels[:, :, :1]).all():  # noqa: PLR2004 (as above)
        pixels = pixels[:, :, 0]
    kind = 0 if pixels.ndim == 2 else 2  # noqa: PLR2004
    rows = pixels.reshape(len(pixels), -1)
    lines = np.full((len(rows), rows.shape[1] + 1), 2, np.uint8)  # each less the line above
    lines[0, 1:], lines[1:, 1:] = rows[0], rows[1:] - rows[:-1]
    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, kind, 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(lines.tobytes(), _COMPRESSION)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def read_web_page(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a web page: its elements as JSON, in the order of the text."""
    data = whole(source, options.max_page_bytes)
    text = closed_elements(decode_text(data, declared_encoding(data)).text)
    if is_hostile(text):
        raise ReaderError("is nested too deeply to be shown")
    from selectolax.lexbor import LexborHTMLParser

    body = LexborHTMLParser(text).body
    elements = [] if body is None else list(_elements(body))
    yield Document("", json.dumps(elements, ensure_ascii=False), media_type="text/html")


WEB_PAGE = Reader("web_page", (), read_web_page, isolated=True)

_LINKS = ("http://", "https://", "mailto:")


def _elements(body: LexborNode) -> Iterator[tuple[str, str]]:
    """Yield what is below a node, without recursion: texts, and the beginnings and ends of tags."""
    node, number = body.child, 0
    while node is not None and number < _MOST_ELEMENTS:
        number += 1
        entered = None
        if node.is_text_node:
            yield "", node.text_content or ""
        else:
            yield from _begun(node)
            entered = None if (node.tag or "") in SKIPPED else node.child
        if entered is not None:
            node = entered
            continue
        # Up to the first element that has a next one, ending each on the way.
        while node is not None and node.next is None:
            yield from _ended(node)
            node = node.parent
            if node is None or node.mem_id == body.mem_id:
                return
        yield from _ended(node)
        node = node.next


def _begun(node: LexborNode) -> Iterator[tuple[str, str]]:
    tag, named = node.tag or "", node.attributes
    if tag == "img" and (named.get("alt") or "").strip():
        yield "", f"[{named['alt']}]"
    elif tag == "a":
        address = (named.get("href") or "").strip()
        yield tag, address if address.lower().startswith(_LINKS) else ""
    elif tag in {"td", "th"}:
        span = named.get("colspan") or ""
        yield tag, span if span.isdecimal() and 1 < int(span) <= _MOST_SPAN else ""
    elif tag in BLOCKS or tag in INLINE:
        yield tag, ""


def _ended(node: LexborNode) -> Iterator[tuple[str, str]]:
    tag = node.tag or ""
    if tag in BLOCKS or tag in INLINE:
        yield f"/{tag}", ""
