from __future__ import annotations

import gzip
import io
import os
import shutil
from functools import partial
from typing import TYPE_CHECKING

import pypdfium2
import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.pdf import IMAGE_READER, READER, _grey_map, is_installed, iso_date
from tests.readers import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.model.documents import IngestReport

_FACTS = (
    b"<< /Title (Of Lighthouses) /Author (Ann Keeper) /Keywords (light, sea)"
    b" /CreationDate (D:20240131123045+01'00') >>"
)
# Standard security handler, 40 bits: the check values fit no password, not even the empty one.
_ENCRYPT = (
    b" /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <" + b"ab" * 32 + b"> /U <" + b"cd" * 32
    + b"> >> /ID [<01> <01>]"
)  # fmt: skip


def pdf_bytes(*pages: list[bytes], facts: bytes = _FACTS, trailer: bytes = b"") -> bytes:
    """Write a PDF by hand: one text line after the other, in Helvetica."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * i) for i in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(pages), kids),
        facts,
    ]
    font = b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    for number, lines in enumerate(pages):
        shown = b" ".join(b"(%s) Tj T*" % line for line in lines)
        stream = b"BT /F1 12 Tf 14 TL 72 720 Td %s ET" % shown
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources %s >>" % (5 + 2 * number, font),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        ]
    return _with_xref(objects, trailer)


def _with_xref(objects: list[bytes], trailer: bytes) -> bytes:
    data = b"%PDF-1.4\n"
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R /Info 3 0 R%s >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (size, rows, size, trailer, len(data))
    )


_read = partial(read, READER)


def test_pages_are_a_blank_line_apart(tmp_path: Path) -> None:
    data = pdf_bytes(
        [b"The lamp is lit at dusk.", b"It burns till dawn."], [b"Fog is another thing."]
    )
    (document,) = _read(tmp_path / "a.pdf", data)
    assert isinstance(document, Document)
    assert document.text == (
        "The lamp is lit at dusk.\nIt burns till dawn.\n\nFog is another thing."
    )


def test_title_date_and_metadata_are_what_the_file_states(tmp_path: Path) -> None:
    (document,) = _read(tmp_path / "a.pdf", pdf_bytes([b"The lamp is lit at dusk."]))
    assert isinstance(document, Document)
    assert document.title == "Of Lighthouses"
    assert document.date == "2024-01-31T12:30:45+01:00"
    assert document.media_type == "application/pdf"
    assert document.metadata["author"] == "Ann Keeper"
    assert document.metadata["keywords"] == "light, sea"
    assert document.metadata["pages"] == 1
    assert document.metadata["extractor"].startswith("pypdfium2 ")


def test_file_name_is_the_title_where_none_is_stated(tmp_path: Path) -> None:
    (document,) = _read(
        tmp_path / "fog signals.pdf", pdf_bytes([b"Horns and bells"], facts=b"<< >>")
    )
    assert isinstance(document, Document)
    assert (document.title, document.date) == ("fog signals", "")


def test_word_cut_at_the_end_of_a_line_is_joined(tmp_path: Path) -> None:
    (document,) = _read(tmp_path / "a.pdf", pdf_bytes([b"A tall light-", b"house on the rock"]))
    assert isinstance(document, Document)
    assert document.text == "A tall lighthouse on the rock"


def test_gzipped_file_is_read(tmp_path: Path) -> None:
    (document,) = _read(tmp_path / "a.pdf.gz", gzip.compress(pdf_bytes([b"Packed words"])))
    assert isinstance(document, Document)
    assert document.text == "Packed words"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pdf_bytes([b"secret"], trailer=_ENCRYPT), "is encrypted"),
        (pdf_bytes([b"cut short"])[:300], "is damaged"),
        (b"%PDF-1.7 and then nothing of the kind", "is damaged"),
        (b"no PDF at all", "is damaged, or not a PDF file"),
        (b"", "is empty"),
        (pdf_bytes([]), "has no text"),
        (pdf_bytes([b"   "]), "has no text"),
    ],
)
def test_useless_file_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(ReaderError, match=reason):
        _read(tmp_path / "a.pdf", data)


def test_unreadable_characters_are_warned_of(tmp_path: Path) -> None:
    noise = b"".join(b"\\%03o" % code for code in (0x7F, 0x81, 0x8D, 0x8F)) * 10
    problem, document = _read(tmp_path / "a.pdf", pdf_bytes([noise + b"ab"]))
    assert isinstance(problem, Problem)
    assert problem.warning
    assert "characters are" in problem.reason
    assert isinstance(document, Document)


def test_plain_numbers_and_dashes_are_warned_of_only_without_letters(tmp_path: Path) -> None:
    figures = pdf_bytes([b"1901 17 m", b"1902 19 m"])
    assert len(_read(tmp_path / "figures.pdf", figures)) == 1
    problem, _ = _read(tmp_path / "dots.pdf", pdf_bytes([b"a .-.-.-.-.-.-.-.-.-.-"]))
    assert isinstance(problem, Problem)
    assert "are letters" in problem.reason


@pytest.mark.parametrize(
    ("stated", "iso"),
    [
        ("D:20240131123045+01'00'", "2024-01-31T12:30:45+01:00"),
        ("D:20240131123045-0530", "2024-01-31T12:30:45-05:30"),
        ("D:20240131123045Z00'00'", "2024-01-31T12:30:45Z"),
        ("D:20240131123045", "2024-01-31T12:30:45"),
        ("D:20240131", "2024-01-31"),
        ("D:2024", "2024"),
        ("D:20241399", ""),
        ("31 January 2024", ""),
        ("", ""),
    ],
)
def test_dates_become_iso(stated: str, iso: str) -> None:
    assert iso_date(stated) == iso


def test_header_may_follow_other_bytes() -> None:
    assert READER.sniff
    assert READER.sniff(b"\0\0%PDF-1.4")
    assert not READER.sniff(b"x" * 1024 + b"%PDF-1.4")


def test_pages_are_sections(tmp_path: Path) -> None:
    data = pdf_bytes([b"The lamp is lit."], [], [b"Fog is another thing."])
    (document,) = _read(tmp_path / "a.pdf", data)
    assert isinstance(document, Document)
    assert [(one.kind, one.name) for one in document.sections] == [("page", "1"), ("page", "3")]
    assert document.text[document.sections[1].start :] == "Fog is another thing."


def scanned(*texts: str) -> bytes:
    """Return a PDF with a page for each text, which is an image of it; "" is a page of text."""
    drawn = pypdfium2.PdfDocument(pdf_bytes(*([text.encode()] for text in texts if text)))
    made = pypdfium2.PdfDocument.new()
    at = 0
    for text in texts:
        if not text:
            made.import_pages(pypdfium2.PdfDocument(pdf_bytes([b"A page of text."])))
            continue
        bitmap = drawn[at].render(scale=300 / 72, grayscale=True)
        at += 1
        image = pypdfium2.PdfImage.new(made)
        image.set_bitmap(bitmap)
        image.set_matrix(pypdfium2.PdfMatrix().scale(612, 792))
        page = made.new_page(612, 792)
        page.insert_obj(image)
        page.gen_content()
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def test_a_scanned_file_says_how_many_pages_are_images(tmp_path: Path) -> None:
    with pytest.raises(
        ReaderError, match=r"scanned: 2 of 2 pages are images without text; .* with ocr"
    ):
        _read(tmp_path / "a.pdf", scanned("Boats float.", "So do ships."))
    with pytest.raises(ReaderError, match="scanned: its only page is an image"):
        _read(tmp_path / "a.pdf", scanned("Boats float."))


def test_pages_that_are_images_are_warned_of(tmp_path: Path) -> None:
    problem, document = _read(tmp_path / "a.pdf", scanned("", "Boats float."))
    assert isinstance(problem, Problem)
    assert problem.warning
    assert problem.reason.startswith("page 2 of 2 is an image without text")
    assert isinstance(document, Document)
    assert document.text == "A page of text."


@pytest.mark.skipif(not is_installed(), reason="Tesseract is not installed")
def test_images_are_read_where_that_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(scanned("The boat floats on the sea.", ""))
    (document,) = READER.read(SourceFile.at(path), ReadOptions(ocr="eng"))
    assert isinstance(document, Document)
    assert document.text == "The boat floats on the sea.\n\nA page of text."
    assert [one.name for one in document.sections] == ["1", "2"]
    with pytest.raises(ReaderError, match="tesseract"):
        list(READER.read(SourceFile.at(path), ReadOptions(ocr="no-such-language")))


@pytest.mark.skipif(os.name == "nt", reason="a script is no program there")
def test_text_in_images_is_read_where_that_is_said(
    folder: Callable[..., Path],
    ingest: Callable[..., IngestReport],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = folder({"sign.png": b"The boat floats in port.", "sun.jpg": b"~ ii", "a.txt": "x"})
    report = ingest(root)
    assert (report.added, report.skipped) == (1, {".png": 1, ".jpg": 1})
    assert "2 images skipped" in " ".join(report.notes)
    program = tmp_path / "bin" / "tesseract"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec cat\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    report = ingest(root, ocr="eng")
    assert (report.added, report.failed) == (1, 0)
    assert ingest(root, ocr="eng").unchanged == 2


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")
def test_an_image_of_words(tmp_path: Path) -> None:
    page = pypdfium2.PdfDocument(pdf_bytes([b"The boat floats in the", b"old harbour"]))[0]
    drawn = _grey_map(page)
    (document,) = read(IMAGE_READER, tmp_path / "a.png", drawn, ReadOptions(ocr="eng"))
    assert isinstance(document, Document)
    assert "The boat floats in the" in " ".join(document.text.split())
    blank = b"P5 100 100 255\n" + bytes([255]) * 10_000
    assert read(IMAGE_READER, tmp_path / "b.png", blank, ReadOptions(ocr="eng")) == []
