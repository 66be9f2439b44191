"""Exclude the program's own files from ingest."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from lpisearch.places import Address
from lpisearch.settings import own_paths, real_path
from lpisearch.storage import OWN_HEAD_BYTES, is_own_content

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from lpisearch.places import Place


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """The files of one library, known by name and, through links and other names, by identity."""

    _names: frozenset[str] = frozenset()
    _identities: frozenset[tuple[int, int]] = field(default=frozenset())

    @classmethod
    def of(cls, library: Place, others: Iterable[Path] = ()) -> Self:
        """Find the files of a library; `others` are not to be ingested either."""
        called = (
            {} if isinstance(library, Address) else dict.fromkeys((library, real_path(library)))
        )
        own = (path for name in called for path in own_paths(name))
        paths = [os.path.abspath(path) for path in (*own, *others)]
        found = [os.stat(path) for path in paths if os.path.exists(path)]
        return cls(frozenset(paths), frozenset((one.st_dev, one.st_ino) for one in found))

    def has(self, path: str, facts: os.stat_result) -> bool:
        """Tell whether a file or folder is one of them."""
        return path in self._names or (facts.st_dev, facts.st_ino) in self._identities


def is_own_file(path: Path) -> bool:
    """Tell from its content whether a file is a library, a copy of one, or the lock of one."""
    with path.open("rb") as stream:
        return is_own_content(stream.read(OWN_HEAD_BYTES))
