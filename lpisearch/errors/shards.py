"""Libraries in shards that are not whole, or cannot do what is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors.base import LpiSearchError
from lpisearch.errors.libraries import LibraryError
from lpisearch.messages import Message, call

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class ShardsUnusable(LibraryError):
    """A sharded library is not whole, or does not fit together."""

    def __init__(self, folder: Path, reason: str, next_step: str = "") -> None:
        super().__init__(
            f"{folder} is no sharded library: {reason}.",
            next_step or Message("split the library anew: ", call("split", "DIR")),
        )


class ShardsAway(LibraryError):
    """None of the shards of a library answers."""

    def __init__(self, names: Sequence[str], reason: str) -> None:
        super().__init__(
            f"None of the shards answers: {', '.join(names)} ({reason}).",
            "start their servers again",
        )


class NotOnShards(LibraryError):
    """What was asked for cannot be done on a sharded library."""

    def __init__(self, what: str, next_step: str) -> None:
        super().__init__(f"A sharded library cannot {what}.", next_step)


class ConversationLost(LpiSearchError):
    """What a shard knew of a question is gone, or its index was replaced meanwhile."""

    def __init__(self) -> None:
        super().__init__("The shard no longer knows the question.", "ask again")


class NotOfShards(LpiSearchError):
    """A shard was told what no other shard says."""

    def __init__(self, what: str) -> None:
        super().__init__(f"No shard says this: {what}.", "ask the server that stands before them")
