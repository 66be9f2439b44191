"""Uploaded files under their original names."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from lpisearch.web.problems import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST = 200


@contextmanager
def named_file(sent: Path | None, name: str) -> Iterator[Path]:
    """Give a file that was sent in a folder of its own, with its name: readers go by its ending.

    Raises
    ------
    Refused
    """
    plain = PurePosixPath(name.replace("\\", "/")).name
    if sent is None or not plain or plain == ".." or len(plain.encode()) > _LONGEST:
        raise Refused(422, "name is not the name of a file.")
    if not plain.isprintable():
        raise Refused(422, "name is not the name of a file.")
    with tempfile.TemporaryDirectory(prefix="lpisearch-file-") as folder:
        target = Path(folder) / plain
        shutil.copyfile(sent, target)
        yield target
