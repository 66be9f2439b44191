"""Connect."""

from __future__ import annotations

from lpisearch.remote.client import RemoteLibrary


def connect(url: str, token: str = "", *, seconds: float = 60.0) -> RemoteLibrary:
    """Reach a library that `lpisearch serve` serves.

    Parameters
    ----------
    url
        The address, such as "http://127.0.0.1:8077".
    token
        What the server wants to be shown, if it wants that.
    seconds
        How long to wait for an answer; jobs may take longer.

    Examples
    --------
    >>> library = lpisearch.connect("http://127.0.0.1:8077")
    >>> library.url
    'http://127.0.0.1:8077'
    """
    return RemoteLibrary(url, token, seconds)
