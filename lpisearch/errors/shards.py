"""Errors of sharded libraries."""

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
            f"{folder} is not a sharded library: {reason}.",
            next_step or Message("split the library again: ", call("split", "DIR")),
        )


class ShardsAway(LibraryError):
    """None of the shards of a library answers."""

    def __init__(self, names: Sequence[str], reason: str) -> None:
        super().__init__(
            f"No shard is responding: {', '.join(names)} ({reason}).",
            "restart their servers",
        )


class NotOnShards(LibraryError):
    """What was asked for cannot be done on a sharded library."""

    def __init__(self, what: str, next_step: str) -> None:
        super().__init__(f"A sharded library cannot {what}.", next_step)


class ConversationLost(LpiSearchError):
    """What a shard knew of a question is gone, or its index was replaced meanwhile."""

    def __init__(self) -> None:
        super().__init__("The query has expired on the shard.", "search again")


class NotOfShards(LpiSearchError):
    """A shard was told what no other shard says."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"Invalid message from another shard: {what}.", "use the server in front of the shards"
        )
