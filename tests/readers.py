"""Readers on files of tests."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import Reader, SourceFile


def read(
    reader: Reader, path: Path, data: bytes | str, options: ReadOptions | None = None
) -> list[Document | Problem]:
    """Write a file and read it."""
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return list(reader.read(SourceFile.at(path), options or ReadOptions()))


def read_document(
    reader: Reader, path: Path, data: bytes | str, options: ReadOptions | None = None
) -> Document:
    """Write a file of one document, without problems, and read it."""
    (document,) = read(reader, path, data, options)
    assert isinstance(document, Document)
    return document


def read_archive(
    reader: Reader, path: Path, parts: Mapping[str, str | bytes]
) -> list[Document | Problem]:
    """Write a zip archive and read it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return list(reader.read(SourceFile.at(path), ReadOptions()))
