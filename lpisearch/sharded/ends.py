"""How a shard is reached: in this process, or behind a server."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from lpisearch.client.remote import RemoteLibrary
from lpisearch.client.transport import Transport
from lpisearch.records import Filter
from lpisearch.settings.asked import Asked

if TYPE_CHECKING:
    from lpisearch.library import Library


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

    def __init__(self, library: Library) -> None:
        self.library = library
        self.name = library.path.name

    def ask(self, verb: str, **given: Any) -> dict[str, Any]:
        """Call a method of its `ShardSide`."""
        found: dict[str, Any] = getattr(self.library.as_shard(), verb)(**given)
        return found

    def close(self) -> None:
        """Close its files."""
        self.library.close()


class RemoteEnd:
    """A shard that `lpisearch serve --shard` serves."""

    is_remote = True

    def __init__(self, url: str, token: str, seconds: float) -> None:
        self.library = RemoteLibrary(url, token, seconds)
        self.name = self.library.url
        self._transport = Transport(url, token, seconds)

    def ask(self, verb: str, **given: Any) -> dict[str, Any]:
        """Call a method of its `ShardSide`, by the server."""
        body = {name: _plain(value) for name, value in given.items()}
        found: dict[str, Any] = self._transport.ask("POST", f"/shard/{verb}", body=body)
        return found

    def close(self) -> None:
        """Close the connections of this thread."""
        self._transport.close()
        self.library.close()


def _plain(value: Any) -> Any:
    if isinstance(value, Filter):
        return value.as_dict()
    if isinstance(value, Asked):
        options = asdict(value.options) | {"where": value.options.where.as_dict()}
        return asdict(value) | {"options": options}
    return value
