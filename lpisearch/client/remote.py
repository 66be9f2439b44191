"""A remote library with the methods of `Library`."""

from __future__ import annotations

from lpisearch.client.apart import Apart
from lpisearch.client.asking import Asking
from lpisearch.client.holding import Holding
from lpisearch.client.transport import Transport
from lpisearch.client.working import Working


class RemoteLibrary(Asking, Holding, Working, Apart):
    """A library that `lpisearch serve` serves; the methods are those of `Library`.

    Errors are those of the library too, and `ServerUnreachable` and `ServerRefused`. Several
    threads may use it at the same time. What looks after the file of the library, such as
    `back_up`, is done where the library is. Files that are named to `similar`, `classify` and
    `batch` are of this machine, those of `ingest` are the server's.

    Parameters
    ----------
    url
        Of the server.
    token
        What the server wants to be shown, or "".
    seconds
        How long to wait for an answer; jobs may take longer.
    """

    def __init__(self, url: str, token: str = "", seconds: float = 60.0) -> None:
        self._transport = Transport(url, token, seconds)

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._transport.url

    def __repr__(self) -> str:
        return f"RemoteLibrary({self.url!r})"

    def close(self) -> None:
        """Close the connection of this thread; what is asked for afterwards opens another."""
        self._transport.close()

    @property
    def transport(self) -> Transport:
        """What asks the server."""
        return self._transport
