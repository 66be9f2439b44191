"""How files look: boxes of characters on an image, and elements without anything that runs."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from lpisearch.errors import ReaderError
from lpisearch.ingest.extraction import original_of
from lpisearch.readers.originals import png
from tests.unit.readers.test_pdf import pdf_bytes

_HOSTILE = """<!doctype html><title>x</title><body onload="alert(1)">
<h1 onclick="alert(2)">A page</h1>
<script>alert(3)</script><style>p { display: none }</style><p style="color: red">Kept
<a href="javascript:alert(4)">one</a> <a href="https://example.org/?a&amp;b">two</a></p>
<img src="https://example.org/spy.png" alt="a ship" onerror="alert(5)"><form><input name="x"></form>
<svg onload="alert(6)"><text>gone</text></svg><iframe src="//example.org"></iframe>
<table><tr><td colspan="2" bgcolor="red">cell</table>"""


def test_a_page_is_an_image_with_the_boxes_of_its_characters(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf_bytes([b"The first page"], [b"The boat floats", b"in the harbour"]))
    seen = original_of(str(file), "application/pdf", 2)
    assert (seen.page, seen.pages, seen.width) == (2, 2, 1400)
    assert " ".join(seen.text.split()) == "The boat floats in the harbour"
    assert len(seen.boxes) == len(seen.text)
    at = seen.text.index("harbour")
    left, top, right, bottom = seen.boxes[at]
    pixels = _pixels(seen.image)
    assert pixels.shape == (seen.height, seen.width)
    assert pixels[top:bottom, left:right].min() < 100  # there is ink in the box of the letter
    assert pixels[bottom + 5 :].min() == 255  # and none below the last line
    assert seen.boxes[at + 1][0] >= right - 2


def _pixels(image: bytes) -> np.ndarray:
    """Read a grey image back, line by line."""
    width, height = struct.unpack(">II", image[16:24])
    size = struct.unpack(">I", image[33:37])[0]
    lines = np.frombuffer(zlib.decompress(image[41 : 41 + size]), np.uint8)
    return np.cumsum(lines.reshape(height, width + 1)[:, 1:], axis=0, dtype=np.uint8)


def test_an_image_is_grey_or_coloured() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    assert png(pixels)[25] == 2
    grey = np.repeat(pixels[:, :, :1], 3, axis=2)
    assert (_pixels(png(grey)) == grey[:, :, 0]).all()


def test_a_web_page_keeps_its_text_and_nothing_that_runs(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text(_HOSTILE)
    seen = original_of(str(file), "text/html", 1)
    tags = {tag for tag, _ in seen.elements}
    assert tags == {"", "h1", "/h1", "p", "/p", "a", "/a"} | {
        f"{end}{tag}" for end in ("", "/") for tag in ("table", "tbody", "tr", "td")
    }
    assert {value for tag, value in seen.elements if tag == "a"} == {
        "",
        "https://example.org/?a&b",
    }
    assert ("td", "2") in seen.elements
    text = " ".join("".join(value for tag, value in seen.elements if not tag).split())
    assert text == "A page Kept one two [a ship] cell"


@pytest.mark.parametrize(
    ("name", "media_type", "content", "reason"),
    [
        ("a.pdf", "application/pdf", b"%PDF-1.4 and no more", "damaged"),
        ("a.html", "text/html", b"<p>" + b"<b><div>" * 2000, "nested"),
        ("a.txt", "text/plain", b"words", "no look"),
    ],
)
def test_what_cannot_be_shown_is_stated(
    tmp_path: Path, name: str, media_type: str, content: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ReaderError, match=reason):
        original_of(str(tmp_path / name), media_type, 1)
