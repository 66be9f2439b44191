"""`lpisearch db split`: split a library and its indexes into shards."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption, IndexNotFound, SubspaceError
from lpisearch.indexes.opening import DEFAULT, OpenIndexes
from lpisearch.indexes.places import IndexPlace
from lpisearch.indexes.rebuild import rebuild_command
from lpisearch.indexes.shard_map import (
    MOST_SHARDS,
    ShardEntry,
    ShardMap,
    clear_for_shards,
    shard_name,
)
from lpisearch.indexes.sharding import Shared, cut_out, write_shard
from lpisearch.indexes.verification import note_written
from lpisearch.storage import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.places import Place
    from lpisearch.storage import IndexEntry, Snapshot


def split_library(
    library: Place,
    folder: Path,
    shards: int,
    on_stage: Callable[[str], None] = lambda _name: None,
) -> dict[str, Any]:
    """Write a library as a folder of shards; the library stays as it is.

    Parameters
    ----------
    library
        With its indexes, which must cover its documents as they are.
    folder
        The sharded library: not there yet, empty, or what a split that was killed has left.
    shards
        How many; documents are shared out evenly in the order in which they came.
    on_stage
        Called with the name of each stage as it begins.

    Raises
    ------
    BadOption, ShardsUnusable, IndexNotFound, SubspaceError, LibraryError
    """
    with open_store(library) as store, store.reading() as snapshot:
        keys = sorted(snapshot.documents.keys())
        if not 1 <= shards <= min(MOST_SHARDS, len(keys)):
            said = f"must be between 1 and the number of documents ({len(keys):,}), not {shards}"
            raise BadOption("shards", said)
        indexes = OpenIndexes(library, store)
        found = [_open(indexes, snapshot, entry) for entry in snapshot.indexes.entries()]
        if not found:
            raise IndexNotFound(DEFAULT, ())
        clear_for_shards(folder)
        bounds = [len(keys) * number // shards for number in range(shards + 1)]
        ranges = [(keys[bounds[at]], keys[bounds[at + 1] - 1]) for at in range(shards)]
        for number, (first, last) in enumerate(ranges):
            on_stage(f"documents of shard {number + 1} of {shards}")
            snapshot.write_part(folder / shard_name(number), first, last)
        with tempfile.TemporaryDirectory(dir=folder, prefix=f".{shard_name(0)}.") as scratch:
            builds = {}
            for entry, index in found:
                source = IndexPlace.of(library, snapshot).local(entry)
                on_stage(f"shared part of “{entry.name}”")
                shared = Shared.of_index(source, index, Path(scratch), shards)
                builds[entry.name] = shared.build
                _write_all(folder, index, shared, ranges, on_stage)
    entries = [
        ShardEntry(shard_name(number), bounds[number + 1] - bounds[number])
        for number in range(shards)
    ]
    ShardMap(tuple(entries), builds).write(folder)
    counts = [entry.documents for entry in entries]
    return {"folder": str(folder), "shards": shards, "documents": counts, "indexes": list(builds)}


def _open(
    indexes: OpenIndexes, snapshot: Snapshot, entry: IndexEntry
) -> tuple[IndexEntry, SubspaceIndex]:
    """Open an index; refuse one that does not cover the documents as they are."""
    opened = indexes.get(entry.name)
    if opened is None or snapshot.corpus.fingerprint(entry.spec.where) != entry.fingerprint:
        raise SubspaceError(
            f"The index “{entry.name}” is out of date.",
            rebuild_command(entry.spec),
        )
    if opened.index.manifest.shard:
        raise SubspaceError(
            f"The index “{entry.name}” already belongs to one shard.",
            rebuild_command(entry.spec),
        )
    return entry, opened.index


def _write_all(
    folder: Path,
    index: SubspaceIndex,
    shared: Shared,
    ranges: list[tuple[int, int]],
    on_stage: Callable[[str], None],
) -> None:
    written = []
    for number, (first, last) in enumerate(ranges):
        on_stage(f"index “{index.manifest.name}” of shard {number + 1} of {len(ranges)}")
        own = cut_out(index, first, last)
        written.append(write_shard(folder / shard_name(number), shared, number, own))
    for each in written:  # files that shards have in common change by every further link
        note_written(each)
