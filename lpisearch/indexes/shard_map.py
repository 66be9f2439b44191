"""`shards.json`: the shards in a folder and their index builds.

A sharded library is a folder of libraries. It is one as soon as it has its map, which is written
last and appears whole:

    DIR/shards.json
        shard-0000.db, shard-0000.index/…   a library of its own, and its index
        shard-0001.db, shard-0001.index/…

Documents of an earlier shard have smaller keys than those of a later one.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lpisearch.errors import LibraryTooNew, LibraryUnwritable, ShardsUnusable
from lpisearch.files import whole_file
from lpisearch.wording import system_reason

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT = 1
FILE = "shards.json"
MOST_SHARDS = 10_000
_NAME = re.compile(r"shard-\d{4}\.db")
_OURS = re.compile(r"\.?shard-\d{4}\..*|\.shards\.json\..*")  # with what a kill leaves behind


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """One shard.

    Attributes
    ----------
    library
        The name of its file in the folder.
    documents
        How many it has.
    """

    library: str
    documents: int


@dataclass(frozen=True, slots=True)
class ShardMap:
    """What makes libraries one.

    Attributes
    ----------
    shards
        In order.
    builds
        By the name of an index: the build that the indexes of all shards are of.
    """

    shards: tuple[ShardEntry, ...]
    builds: dict[str, str]

    @property
    def documents(self) -> int:
        """How many documents all shards have."""
        return sum(shard.documents for shard in self.shards)

    def write(self, folder: Path) -> None:
        """Make a folder of libraries a sharded library; all else is there already.

        Raises
        ------
        LibraryUnwritable
        """
        values = {"format": FORMAT, "documents": self.documents} | asdict(self)
        text = json.dumps(values, indent=1, ensure_ascii=False) + "\n"
        try:
            with whole_file(folder / FILE) as stream:
                stream.write(text.encode())
        except OSError as error:
            raise LibraryUnwritable(folder / FILE, system_reason(error)) from error

    @classmethod
    def read(cls, folder: Path) -> ShardMap:
        """Read the map of a folder.

        Raises
        ------
        ShardsUnusable, LibraryTooNew
        """
        try:
            values = json.loads((folder / FILE).read_bytes())
        except FileNotFoundError:
            reason = f"it has no {FILE}, so the split did not finish"
            raise ShardsUnusable(folder, reason) from None
        except OSError as error:
            raise ShardsUnusable(folder, f"{FILE}: {system_reason(error)}") from error
        except (ValueError, RecursionError):
            raise ShardsUnusable(folder, f"{FILE} is corrupt") from None
        number = values.get("format") if isinstance(values, dict) else None
        if isinstance(number, int) and number > FORMAT:
            raise LibraryTooNew(folder, f"{FILE} of format {number}")
        return cls._of(values, folder)

    @classmethod
    def _of(cls, values: Any, folder: Path) -> ShardMap:
        try:
            shards = tuple(_entry(each) for each in values["shards"])
            builds = {str(name): str(build) for name, build in values["builds"].items()}
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ShardsUnusable(folder, f"{FILE} is corrupt") from None
        if not shards:
            raise ShardsUnusable(folder, f"{FILE} lists no shards")
        return cls(shards, builds)


def _entry(values: Mapping[str, Any]) -> ShardEntry:
    entry = ShardEntry(str(values["library"]), int(values["documents"]))
    if not _NAME.fullmatch(entry.library):  # no path out of the folder
        raise ValueError(entry.library)
    return entry


def shard_name(number: int) -> str:
    """Return the name of the file of a shard, counted from 0."""
    return f"shard-{number:04}.db"


def looks_sharded(folder: Path) -> bool:
    """Tell whether a folder is a sharded library, or was to become one."""
    return (folder / FILE).exists() or (folder / shard_name(0)).exists()


def clear_for_shards(folder: Path) -> None:
    """Make a folder for shards, or empty one that a split did not finish.

    Raises
    ------
    ShardsUnusable
        There is a sharded library already, or something else.
    LibraryUnwritable
    """
    import shutil

    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = list(folder.iterdir())
        others = [path.name for path in there if not _OURS.fullmatch(path.name)]
        if others:
            named = "a sharded library" if FILE in others else f"“{min(others)}”"
            reason = f"it already contains {named}"
            raise ShardsUnusable(folder, reason, "choose a folder that does not exist yet")
        for path in there:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    except OSError as error:
        raise LibraryUnwritable(folder, system_reason(error)) from error
