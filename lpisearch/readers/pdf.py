"""PDF, and OCR of images and of pages that are images.

Pages that are images are counted; with the option `ocr` Tesseract reads them. PDFium is not
thread-safe; this reader runs alone in a worker process.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import unicodedata
from typing import TYPE_CHECKING, Any

from lpisearch.errors import ReaderError
from lpisearch.messages import Message, Option
from lpisearch.model.documents import Document, Problem
from lpisearch.readers.base import Reader, SourceFile, join_sections, open_seekable, whole
from lpisearch.readers.encoding import clean
from lpisearch.readers.records import date_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.options import ReadOptions


BAD_SHARE = 0.3  # with more unreadable characters the fonts give no usable text
LETTER_SHARE = 0.5  # with fewer letters and digits the text is hardly prose
OCR = Option("ocr")
_SAMPLE_CHARACTERS = 20_000
_UNREADABLE = frozenset({"Cc", "Cn", "Co", "Cs"})  # control, unassigned, private use, surrogate
LINE_END_HYPHEN = re.compile("[\x02\ufffe](?:\r\n)?")  # PDFium's mark for a word cut at line end
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_DATE = re.compile(
    r"D:(?P<year>\d{4})(?P<month>\d\d)?(?P<day>\d\d)?"
    r"(?:(?P<time>\d{6})(?:(?P<utc>Z)|(?P<sign>[+-])(?P<hours>\d\d)'?(?P<minutes>\d\d)?)?)?"
)


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a warning for each page that could not be read, then the document."""
    pdf = open_pdf(source)
    try:
        pages, problems, images = _page_texts(pdf, options.ocr)
        facts = {key: _clean(value).strip() for key, value in pdf.get_metadata_dict().items()}
    finally:
        pdf.close()
    text, sections = join_sections(
        ("page", str(number), page) for number, page in enumerate(pages, start=1)
    )
    if not text:
        raise ReaderError(_no_text(len(images), len(pages)))
    yield from problems
    if images:
        yield Problem(_images(images, len(pages)), warning=True)
    if reason := _doubt(text):
        yield Problem(reason, warning=True)
    yield Document(
        title=facts.get("Title") or source.stem,
        text=text,
        date=iso_date(facts.get("CreationDate", "")) or iso_date(facts.get("ModDate", "")),
        media_type="application/pdf",
        metadata=_metadata(facts, len(pages)),
        sections=sections,
    )


def iso_date(stated: str) -> str:
    """Turn a PDF date, D:YYYYMMDDHHmmSS+HH'mm', into ISO 8601; "" if it is not one."""
    match = _DATE.match(stated)
    if not match:
        return ""
    day = "-".join(filter(None, match.group("year", "month", "day")))
    if not match["time"]:
        return date_of(day)
    time = match["time"]
    zone = "Z" if match["utc"] else ""
    if match["sign"]:
        zone = f"{match['sign']}{match['hours']}:{match['minutes'] or '00'}"
    return date_of(f"{day}T{time[:2]}:{time[2:4]}:{time[4:]}{zone}")


def open_pdf(source: SourceFile) -> Any:
    """Open a file with PDFium; an encrypted or damaged one raises `ReaderError`."""
    import pypdfium2
    from pypdfium2 import raw

    with open_seekable(source) as stream:
        # By its path, another file could be opened than the one that was checked.
        in_memory = source.gzipped or source.data is not None or bool(source.within)
        content = stream.read() if in_memory else source.path.absolute()
    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise ReaderError("is encrypted") from error
        if error.err_code == raw.FPDF_ERR_SECURITY:
            raise ReaderError("is encrypted in a way that is not supported") from error
        raise ReaderError("is damaged, or not a PDF file") from error


def _page_texts(pdf: Any, ocr: str) -> tuple[list[str], list[Problem], list[int]]:
    """Return the text of each page, problems of pages, and which are images only."""
    import pypdfium2

    pages, problems, images = [], [], []
    for number in range(len(pdf)):
        try:
            page = pdf[number]
            text = _clean(page.get_textpage().get_text_range()).strip()
            if not text and _has_image(page):
                text = _clean(page_text(page, ocr)).strip() if ocr else ""
                images += [] if text else [number + 1]
            pages.append(text)
            page.close()  # closes its text page too; otherwise a long file keeps every page open
        except pypdfium2.PdfiumError:
            pages.append("")
            problems.append(Problem("is damaged", f"page {number + 1}", warning=True))
    return pages, problems, images


def _has_image(page: Any) -> bool:
    from pypdfium2 import raw

    return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))


def _no_text(images: int, pages: int) -> str:
    if not images:
        return "has no text"
    which = "its only page is an image" if pages == 1 else f"{images} of {pages} pages are images"
    return Message(f"is scanned: {which} without text; to read them, set the languages with ", OCR)


def _images(images: list[int], pages: int) -> str:
    named = f"page {images[0]} of {pages} is an image"
    if len(images) > 1:
        named = f"{len(images)} of {pages} pages are images (from page {images[0]} on)"
    return Message(f"{named} without text; to read them, set the languages with ", OCR)


def _clean(text: str) -> str:
    return _CONTROLS.sub("", clean(LINE_END_HYPHEN.sub("", text)))


def _doubt(text: str) -> str:
    """State why the text looks useless: a font without a Unicode map gives random characters."""
    sample = [c for c in text[:: len(text) // _SAMPLE_CHARACTERS + 1] if not c.isspace()]
    bad = sum(c == "\ufffd" or unicodedata.category(c) in _UNREADABLE for c in sample)
    if bad > BAD_SHARE * len(sample):
        return f"{bad / len(sample):.0%} of the extracted characters are unreadable"
    letters = sum(c.isalnum() or unicodedata.category(c).startswith("M") for c in sample)
    if letters < LETTER_SHARE * len(sample):
        return f"only {letters / len(sample):.0%} of the extracted characters are letters"
    return ""


def _metadata(facts: dict[str, str], pages: int) -> dict[str, Any]:
    from pypdfium2 import PDFIUM_INFO, PYPDFIUM_INFO

    stated = {
        "author": facts.get("Author"),
        "subject": facts.get("Subject"),
        "keywords": facts.get("Keywords"),
    }
    return {
        "pages": pages,
        "extractor": f"pypdfium2 {PYPDFIUM_INFO.version} (PDFium {PDFIUM_INFO.build})",
        **{name: value for name, value in stated.items() if value},
    }


def _sniff(head: bytes) -> bool:
    # The PDF reference allows the header anywhere in the first 1024 bytes.
    return b"%PDF-" in head[:1024]


READER = Reader("pdf", (".pdf",), read, sniff=_sniff, owns=_sniff, isolated=True)


_DOTS_PER_INCH = 300
_POINTS_PER_INCH = 72
_MOST_PIXELS = 25_000_000  # a page of A4 at this resolution has 9 million
_PAGE_SECONDS = 60
OCR_SECONDS = 3600.0  # for one file


def is_installed() -> bool:
    """Tell whether Tesseract is installed."""
    return shutil.which("tesseract") is not None


def page_text(page: Any, languages: str) -> str:
    """Return the text on the image of a page; languages as Tesseract names them ("deu+eng")."""
    return recognised(_grey_map(page), languages)


def recognised(image: bytes, languages: str) -> str:
    """Return the text in an image, in any format that Tesseract reads."""
    try:
        done = subprocess.run(  # noqa: S603 (no shell, and the image comes on stdin)
            [shutil.which("tesseract") or "tesseract", "stdin", "stdout", "-l", languages],
            input=image,
            capture_output=True,
            check=True,
            timeout=_PAGE_SECONDS,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except FileNotFoundError as error:
        raise ReaderError("is scanned, but Tesseract is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise ReaderError(
            f"has a page that Tesseract could not read in {_PAGE_SECONDS} s"
        ) from error
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode(errors="replace").strip().split("\n")[0]
        raise ReaderError(f"could not be read by Tesseract ({reason})") from error
    return done.stdout.decode(errors="replace")


def read_image(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the text in an image; nothing for a picture, in which OCR finds hardly a word."""
    text = _clean(recognised(whole(source, options.max_page_bytes), options.ocr or "eng")).strip()
    if len(_WORD.findall(text)) >= _FEWEST_WORDS and not _doubt(text):
        yield Document(source.stem, text, media_type="image", metadata={"extractor": "Tesseract"})


_WORD = re.compile(r"[^\W\d_]{3,}")
_FEWEST_WORDS = 3
IMAGE_READER = Reader(
    "image", (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp"), read_image, isolated=True
)


def _grey_map(page: Any) -> bytes:
    """Return the image of a page as a portable grey map, not too large."""
    width, height = page.get_size()
    scale = _DOTS_PER_INCH / _POINTS_PER_INCH
    scale = min(scale, (_MOST_PIXELS / max(width * height, 1)) ** 0.5)
    pixels = page.render(scale=scale, grayscale=True).to_numpy()
    rows, columns = pixels.shape[:2]
    return b"P5 %d %d 255\n" % (columns, rows) + bytes(pixels.tobytes())
