"""A sharded library with the read-only methods of `Library`."""

from __future__ import annotations

from dataclasses import asdict
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lpisearch.errors import BadOption, ShardsUnusable
from lpisearch.indexes.shard_map import ShardMap
from lpisearch.library import Library
from lpisearch.sharded.apart import Apart
from lpisearch.sharded.asking import Asking
from lpisearch.sharded.ends import End, LocalEnd, RemoteEnd
from lpisearch.sharded.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.records import Classification
    from lpisearch.settings import ClassifyOptions


class ShardedLibrary(Asking, Apart, Library):
    """A library in shards: ranks and scores are those of the library that is whole.

    Parameters
    ----------
    path
        The folder; a name for it where the shards are served.
    ends
        The shards in their order.
    builds
        By the name of an index the build that all shards are of; empty where no map says so.
    """

    def __init__(self, path: Path, ends: Sequence[End], builds: dict[str, str]) -> None:
        super().__init__(path)
        self._folder = path
        self._builds = builds
        self._panel = Panel(ends)

    @classmethod
    def of_folder(cls, folder: Path) -> Self:
        """Open a folder of shards.

        Raises
        ------
        ShardsUnusable, LibraryTooNew
        """
        found = ShardMap.read(folder)
        return cls(folder, [LocalEnd(folder, each.library) for each in found.shards], found.builds)

    @classmethod
    def of_urls(cls, urls: Sequence[str], token: str = "", seconds: float = 10.0) -> Self:
        """Reach shards that are served."""
        if not urls or len(set(urls)) < len(urls):
            raise BadOption("shards", "give each shard address only once")
        ends = [RemoteEnd(url, token, seconds) for url in urls]
        return cls(Path(f"{len(urls)} shards"), ends, {})

    @property
    def is_sharded(self) -> bool:
        """Whether it is in several shards, and so only asked."""
        return True

    def __repr__(self) -> str:
        return f"ShardedLibrary({str(self.path)!r})"

    def close(self) -> None:
        """Release the files, or the connections."""
        self._panel.close()

    def shard(self, shard: str) -> Library:
        """Return one shard, given as "2/4", as a library of its own.

        Raises
        ------
        BadOption, ShardsUnusable, LibraryError
        """
        number, _, of = shard.partition("/")
        known = len(self._panel.ends)
        if not (number.isdecimal() and of.isdecimal()) or not 1 <= int(number) <= int(of):
            raise BadOption("shard", f"“{shard}” is not a shard such as 1/{known}")
        if int(of) != known:
            raise BadOption("shard", f"“{shard}”: {self.path} has {known} shards")
        end = self._panel.ends[int(number) - 1]
        if not isinstance(end.library, Library):
            raise BadOption("shard", "these shards are already being served")
        for index, build in self._builds.items():
            facts = end.ask("facts", index=index)
            if facts.get("build") != build:
                raise ShardsUnusable(self._folder, f"{end.name} is from a different build")
        return end.library

    def state(self) -> str:
        """Return a mark of the library as it is: while it is the same, so are all answers."""
        states = self._panel.each(lambda _at, end: str(end.ask("state")["state"]))
        said = repr((sorted(states.items()), self._panel.absences))
        return sha256(said.encode()).hexdigest()

    def _classify(self, what: str | Path, options: ClassifyOptions) -> Classification:
        """Ask any: every shard knows the labels of all."""
        how = asdict(options)
        return self._panel.any(lambda end: end.library.classify(what, **how))

    def classify_each(
        self, arguments: Sequence[str], options: ClassifyOptions
    ) -> Iterator[Classification]:
        """Judge what the arguments mean: files that exist (and "-"), or else one text."""
        return iter(
            self._panel.any(lambda end: list(end.library.classify_each(arguments, options)))
        )

    def vectors(self, index: str = "default") -> tuple[list[str], NDArray[np.float32]]:
        """Return the documents of an index: their ids, and their vectors as rows."""
        import numpy as np

        found = self._panel.each(lambda _at, end: end.library.vectors(index)).values()
        ids = list(chain.from_iterable(ids for ids, _ in found))
        return ids, np.vstack([vectors for _, vectors in found])

    def vector(self, text: str, *, index: str = "default") -> NDArray[np.float32]:
        """Return the vector of a question, at unit length."""

        def ask(end: End) -> NDArray[np.float32]:
            library = end.library
            if not isinstance(library, Library):
                raise self._cannot("return query vectors through its servers")
            return library.vector(text, index=index)

        return self._panel.any(ask)
