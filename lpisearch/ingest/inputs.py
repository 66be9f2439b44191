"""Texts, files and standard input as a query."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from lpisearch.errors import DocumentNotFound, LibraryUnwritable, NothingThere, ReaderError
from lpisearch.ingest.discovery import DiscoveredFile, Discovery, expand
from lpisearch.ingest.extraction import Extracted, extract
from lpisearch.messages import Message
from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import EMPTY
from lpisearch.readers.registry import READERS
from lpisearch.readers.trec import is_collection, spool_documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


STDIN = "-"
_NO_PATHS = {"code"}  # texts contain names such as node.js
_SUFFIXES = {".gz"} | {
    suffix
    for reader in READERS.values()
    if reader.name not in _NO_PATHS
    for suffix in reader.suffixes
}


@dataclass(frozen=True, slots=True)
class Input:
    """One input document, or the reason why it cannot be read."""

    name: str  # the file and the document in it
    document: Document | None
    reason: str = ""


def name_files(arguments: Sequence[str]) -> bool:
    """Tell whether arguments are paths (or "-"); text that looks like a path must be one."""
    exist = [_exists(argument) for argument in arguments]
    for argument, exists in zip(arguments, exist, strict=True):
        if not exists and (any(exist) or _looks_like_path(argument)):
            raise NothingThere(argument)
    return any(exist)


def read_inputs(arguments: Sequence[str]) -> Iterator[Input]:
    """Yield the documents of files, folders, globs and standard input."""
    count = 0
    for count, document in enumerate(_inputs(arguments), start=1):  # noqa: B007 (counted)
        yield document
    if not count:
        raise NothingThere(" ".join(arguments))


def first_document(name: str) -> Document:
    """Read the first document of a file."""
    path = Path(name).expanduser().absolute()
    if not name or not path.is_file():
        raise DocumentNotFound(name)
    facts = path.stat()
    file = DiscoveredFile(str(path), str(path.parent), facts.st_size, facts.st_mtime_ns, named=True)
    for extracted in extract([file], ReadOptions()):
        for item in extracted.items:
            if isinstance(item, Document):
                return item
            if isinstance(item, Problem) and not item.warning:
                raise ReaderError(Message(f"{name}: ", item.reason, "."), "give another file")
    raise ReaderError(f"{name}: unsupported file type.", "give another file")


def _inputs(arguments: Sequence[str]) -> Iterator[Input]:
    discovery = Discovery()
    with spooled_input(arguments) as piped:
        files = discovery.files(path for path in arguments if not is_spooled(path))
        for extracted in extract([*piped, *files], ReadOptions()):
            yield from _of_file(extracted)
    for trouble in discovery.troubles:
        yield Input(_shown(trouble.path), None, trouble.reason)


def _of_file(extracted: Extracted) -> Iterator[Input]:
    name = STDIN if extracted.file.location else _shown(extracted.file.path)
    if extracted.source is not None and extracted.reader is None:
        if extracted.file.named:  # in a folder, other files are ignored
            reason = "unsupported file type" if extracted.file.size else EMPTY
            yield Input(name, None, reason)
        return
    many = extracted.reader is not None and extracted.reader.many
    for position, item in enumerate(_readable(extracted), start=1):
        if isinstance(item, Problem):
            yield Input(f"{name}, {item.where}" if item.where else name, None, item.reason)
        else:
            shown = item.id or f"{name}#{position}" if many else name
            yield Input(shown, _without_file_name(item, extracted))


def _without_file_name(document: Document, extracted: Extracted) -> Document:
    """Remove a title that is only the name of the file."""
    if extracted.source is None or not document.text:
        return document
    names = {extracted.source.stem, extracted.source.name}
    return replace(document, title="") if document.title in names else document


def _readable(extracted: Extracted) -> Iterator[Document | Problem]:
    """Yield documents and problems without warnings."""
    for item in extracted.items:
        if not (isinstance(item, Problem) and item.warning):
            yield item


def _exists(argument: str) -> bool:
    if argument == STDIN or os.path.lexists(argument):
        return True
    try:
        return bool(argument) and not any(map(str.isspace, argument)) and bool(expand(argument))
    except (NothingThere, OSError, ValueError, RuntimeError):
        return False


def _looks_like_path(argument: str) -> bool:
    if not argument or any(map(str.isspace, argument)):
        return False
    return argument.startswith(("/", "./", "../", "~")) or (
        PurePath(argument).suffix.lower() in _SUFFIXES
    )


def _shown(path: str) -> str:
    """Return a path relative to the current folder, if it is below it."""
    here = os.path.join(os.getcwd(), "")  # noqa: PTH118, PTH109 (paths are strings in discovery)
    return path.removeprefix(here)


_BLOCK = 1 << 20


@contextmanager
def spooled_input(paths: Sequence[str]) -> Iterator[list[DiscoveredFile]]:
    """Yield standard input, if "-" is among the paths, and collections of ir_datasets as files.

    The name of standard input is derived from its content: the same input is the same source, and
    other input never overwrites it.
    """
    spooled = [path for path in dict.fromkeys(paths) if is_spooled(path)]
    if not spooled:
        yield []
        return
    with tempfile.TemporaryDirectory(prefix="lpisearch-") as folder:
        files = []
        for number, path in enumerate(spooled):
            spool = Path(folder) / str(number)
            name = f"stdin-{_spool(spool)}" if path == STDIN else spool_documents(path, spool)
            size, location = spool.stat().st_size, str(spool)
            files.append(DiscoveredFile(name, "", size, mtime_ns=0, named=True, location=location))
        yield files


def is_spooled(path: str) -> bool:
    """Tell whether documents do not come from files: standard input, and `irds:NAME`."""
    return path == STDIN or is_collection(path)


def _spool(target: Path) -> str:
    """Write standard input to a file; return a digest of it."""
    digest = blake2b(digest_size=6)
    try:
        with target.open("wb") as stream:
            while block := sys.stdin.buffer.read(_BLOCK):
                digest.update(block)
                stream.write(block)
    except OSError as error:
        raise LibraryUnwritable(target, error.strerror or str(error)) from error
    return digest.hexdigest()
