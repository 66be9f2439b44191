"""A sharded library, local or remote, searched as one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.library import Library, default_path
from lpisearch.places import place_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from lpisearch.places import Address
    from lpisearch.sharded.library import ShardedLibrary

__all__ = ["connect_shards", "open_library"]


def open_library(path: str | os.PathLike[str] | Address | None = None) -> Library:
    """Open a library of documents; the first `ingest` makes it.

    Parameters
    ----------
    path
        The database file, the address of a database (`postgresql://USER@HOST/DATABASE`), or the
        folder of a library in shards; that of `default_path` if not given.

    Examples
    --------
    >>> import lpisearch
    >>> with lpisearch.open("notes.db") as library:
    ...     library.path.name
    'notes.db'
    """
    place = place_of(path) if path is not None else default_path()
    if isinstance(place, Path) and place.is_dir():
        from lpisearch.indexes.shard_map import looks_sharded

        if looks_sharded(place):
            from lpisearch.sharded.library import ShardedLibrary

            return ShardedLibrary.of_folder(place)
    return Library(place)


def connect_shards(
    urls: Sequence[str], token: str = "", *, seconds: float = 10.0
) -> ShardedLibrary:
    """Reach a library whose shards are served, each by a server of its own.

    Parameters
    ----------
    urls
        The addresses, such as "http://10.0.0.1:8077".
    token
        What the servers want to be shown, if they want that.
    seconds
        How long to wait for a shard before the others answer without it.
    """
    from lpisearch.sharded.library import ShardedLibrary

    return ShardedLibrary.of_urls(urls, token, seconds)
