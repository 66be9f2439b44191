"""Errors of library servers."""

from __future__ import annotations

from lpisearch.errors.base import LpiSearchError


class ServerUnreachable(LpiSearchError):
    """No server of a library answers."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"Cannot reach a library at {url}: {reason}.", "check the address, or start the server"
        )


class ServerRefused(LpiSearchError):
    """A server refuses what it is asked, for a reason that is not the library's.

    Attributes
    ----------
    status
        Of HTTP.
    """

    def __init__(self, status: int, reason: str, next_step: str = "") -> None:
        super().__init__(f"The server returned an error ({status}): {reason}", next_step)
        self.status = status


class NotServed(LpiSearchError):
    """A method of a library that is open on its own machine alone."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"library.{name} is not available from a server.",
            "run it on the machine that has the library",
        )
