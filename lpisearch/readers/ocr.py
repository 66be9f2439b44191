"""Read scanned pages with Tesseract, if it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

from lpisearch.errors import ReaderError

_DOTS_PER_INCH = 300
_POINTS_PER_INCH = 72
_MOST_PIXELS = 25_000_000  # a page of A4 at this resolution has 9 million
_PAGE_SECONDS = 60
OCR_SECONDS = 3600.0
"""Time for one file."""


def is_installed() -> bool:
    """Tell whether tesseract can be called."""
    return shutil.which("tesseract") is not None


def page_text(page: Any, languages: str) -> str:
    """Return the text on the image of a page of PDFium.

    Parameters
    ----------
    page
        Of a PDF file.
    languages
        As tesseract names them, such as "deu+eng".

    Raises
    ------
    ReaderError
        Tesseract is not there, does not know the language, or takes too long.
    """
    try:
        done = subprocess.run(  # noqa: S603 (no shell, and the image comes on stdin)
            [shutil.which("tesseract") or "tesseract", "stdin", "stdout", "-l", languages],
            input=_grey_map(page),
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
        said = error.stderr.decode(errors="replace").strip().split("\n")[0]
        raise ReaderError(f"could not be read by Tesseract ({said})") from error
    return done.stdout.decode(errors="replace")


def _grey_map(page: Any) -> bytes:
    """Return the image of a page as a portable grey map, not too large."""
    width, height = page.get_size()
    scale = _DOTS_PER_INCH / _POINTS_PER_INCH
    scale = min(scale, (_MOST_PIXELS / max(width * height, 1)) ** 0.5)
    pixels = page.render(scale=scale, grayscale=True).to_numpy()
    rows, columns = pixels.shape[:2]
    return b"P5 %d %d 255\n" % (columns, rows) + bytes(pixels.tobytes())
