"""Shard backends: in this process or on a server."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from lpisearch.client.remote import RemoteLibrary
from lpisearch.errors import ShardsUnusable
from lpisearch.library import Library
from lpisearch.records import Filter
from lpisearch.settings.asked import Asked

if TYPE_CHECKING:
    from pathlib import Path


class End(Protocol):
    """One shard."""

    @property
    def name(self) -> str:
        """What it is called in an answer."""

    @property
    def library(self) -> Library | RemoteLibrary:
        """It, as a library of its own."""

    @property
    def is_remote(self) -> bool:
        """Whether it may be away."""

    def ask(self, verb: str, **given: Any) -> dict[str, Any]:
        """Call a method of its `ShardSide`.

        Raises
        ------
        LpiSearchError
        """

    def close(self) -> None:
        """Release it."""


class LocalEnd:
    """A shard in this process."""

    is_remote = False

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder
        self._library = Library(folder / name)

    @property
    def library(self) -> Library:
        """It, as a library of its own; a machine that serves one shard lacks the others.

        Raises
        ------
        ShardsUnusable
        """
        if not (self._folder / self.name).is_file():
            raise ShardsUnusable(self._folder, f"{self.name} is missing")
        return self._library

    def ask(self, verb: str, **given: Any) -> dict[str, Any]:
        """Call a method of its `ShardSide`."""
        found: dict[str, Any] = getattr(self.library.as_shard(), verb)(**given)
        return found

    def close(self) -> None:
        """Close its files."""
        self._library.close()


class RemoteEnd:
    """A shard that `lpisearch serve --shard` serves."""

    is_remote = True

    def __init__(self, url: str, token: str, seconds: float) -> None:
        self.library = RemoteLibrary(url, token, seconds)
        self.name = self.library.url
        self._transport = self.library.transport

    def ask(self, verb: str, **given: Any) -> dict[str, Any]:
        """Call a method of its `ShardSide`, by the server."""
        body = {name: _plain(value) for name, value in given.items()}
        found: dict[str, Any] = self._transport.ask("POST", f"/shard/{verb}", body=body)
        return found

    def close(self) -> None:
        """Close the connections of all threads."""
        self._transport.close_all()


def _plain(value: Any) -> Any:
    if isinstance(value, Filter):
        return value.as_dict()
    if isinstance(value, Asked):
        options = asdict(value.options) | {"where": value.options.where.as_dict()}
        return asdict(value) | {"options": options}
    return value
