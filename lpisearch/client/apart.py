"""What is done where the library is, and cannot be asked of a server."""

from __future__ import annotations

from lpisearch.errors import LpiSearchError


class NotServed(LpiSearchError):
    """A method of a library that is open on its own machine alone."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"library.{name} is not served.", "open the library on the machine where it is"
        )


class Apart:
    """Methods of `Library` that look after its file."""

    def back_up(self, *_given: object, **_named: object) -> None:
        """Refuse: a copy is made where the library is."""
        raise NotServed("back_up()")

    def upgrade(self) -> None:
        """Refuse: the server has done so."""
        raise NotServed("upgrade()")

    def schema_differences(self) -> None:
        """Refuse: the schema is looked at where the library is."""
        raise NotServed("schema_differences()")

    def retokenise(self, *_given: object, **_named: object) -> None:
        """Refuse: all tokens are made anew where the library is."""
        raise NotServed("retokenise()")

    def evaluating(self, *_given: object, **_named: object) -> None:
        """Refuse: what is finished is kept on the disk of who evaluates; `evaluate` is served."""
        raise NotServed("evaluating()")

    def is_source(self, *_given: object) -> None:
        """Refuse: which files there are is not told."""
        raise NotServed("is_source()")

    def vector(self, *_given: object, **_named: object) -> None:
        """Refuse: questions are placed where the index is."""
        raise NotServed("vector()")

    def split(self, *_given: object, **_named: object) -> None:
        """Refuse: shards are written where the library is."""
        raise NotServed("split()")

    def shard(self, *_given: object) -> None:
        """Refuse: a shard is served by a server of its own."""
        raise NotServed("shard()")

    def as_shard(self) -> None:
        """Refuse: a server asks its own library."""
        raise NotServed("as_shard()")

    @property
    def is_sharded(self) -> bool:
        """Whether it is in several shards: what a server serves is one library."""
        return False
