"""A library that a server serves."""

from __future__ import annotations

from lpisearch.remote.client import RemoteLibrary


def connect(url: str, token: str = "", *, seconds: float = 60.0) -> RemoteLibrary:
    """Connect to a library that `lpisearch serve` serves; see `RemoteLibrary`.

    Examples
    --------
    >>> library = lpisearch.connect("http://127.0.0.1:8077")
    >>> library.url
    'http://127.0.0.1:8077'
    """
    return RemoteLibrary(url, token, seconds)
