"""A local library."""

from __future__ import annotations

from lpisearch.errors import BadOption
from lpisearch.library.asking import Asking
from lpisearch.library.holding import Holding
from lpisearch.library.keeping import Keeping
from lpisearch.library.working import Working


class Library(Asking, Working, Holding, Keeping):
    """An open library of documents.

    Database, tokenisers and indexes are opened when they are first needed, shared by all methods,
    and released by `close` or at the end of a `with` block. Another process may write meanwhile:
    every answer is of one state of the library, and an index that was built anew is taken up.

    Several threads may use one library at the same time. Writers (`ingest`, `index`, `delete`)
    wait for each other, readers wait for nobody.

    Parameters
    ----------
    path
        The database file, or the address of a database. Neither needs to hold anything before the
        first `ingest`.
    """

    def __repr__(self) -> str:
        return f"Library({str(self.path)!r})"

    @property
    def is_sharded(self) -> bool:
        """Whether it is in several shards, and so only asked."""
        return False

    def shard(self, shard: str) -> Library:
        """Return one shard, given as "2/4"; a library that is whole has none."""
        raise BadOption("shard", f"“{shard}”: {self.path} is not in shards")
