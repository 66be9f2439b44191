"""Copy standard input to a file, so that readers can treat it like any other."""

from __future__ import annotations

import sys
import tempfile
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.errors import LibraryUnwritable
from lpisearch.ingest.discovery import FoundFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BLOCK = 1 << 20


@contextmanager
def spooled_input(paths: Sequence[str]) -> Iterator[list[FoundFile]]:
    """Give what is piped in as a file, if "-" is among the paths.

    Its name comes from its content: the same input twice is the same source, another input
    never overwrites it.
    """
    if "-" not in paths:
        yield []
        return
    with tempfile.TemporaryDirectory(prefix="lpisearch-") as folder:
        spool = Path(folder) / "stdin"
        name = f"stdin-{_spool(spool)}"
        size = spool.stat().st_size
        yield [FoundFile(name, "", size, mtime_ns=0, named=True, location=str(spool))]


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
