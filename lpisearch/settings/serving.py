"""Server options and limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lpisearch.settings.ingesting import MEBIBYTE

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8077


@dataclass(frozen=True, slots=True)
class ServeLimits:
    """How much one request, and one address, may ask for.

    Attributes
    ----------
    body_bytes
        Of a request that is no upload.
    upload_bytes, upload_files
        Of files that are brought in by one request.
    query_characters
        Of a question.
    text_characters
        Of a text to be classified.
    hits
        The most hits or lines of one page.
    depth
        How far down a list of hits or documents the last page may reach.
    requests_per_second, burst
        Of one address that is not this machine; 0 for no limit.
    at_once
        Requests that are answered at the same time; others are told to come again.
    jobs_kept
        How many jobs that have ended are still told of.
    """

    body_bytes: int = MEBIBYTE
    upload_bytes: int = 256 * MEBIBYTE
    upload_files: int = 1000
    query_characters: int = 10_000
    text_characters: int = 1_000_000
    hits: int = 200
    depth: int = 10_000
    requests_per_second: float = 50.0
    burst: int = 200
    at_once: int = 400
    jobs_kept: int = 100


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What `lpisearch serve` was asked to do.

    Attributes
    ----------
    host, port
        Where it listens; port 0 is any that is free.
    read_only
        Whether nothing of the library may be changed.
    roots
        Folders below which files may be brought in by name and given out.
    token
        What a request must show; "" where none is needed, on this machine alone.
    names
        Names by which it may be called, beside those of this machine and plain addresses.
    uploads
        Where files that are brought in from a browser are kept; None for a folder beside the
        library.
    limits
        How much may be asked for.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    read_only: bool = False
    roots: tuple[Path, ...] = ()
    token: str = field(default="", repr=False)
    names: tuple[str, ...] = ()
    uploads: Path | None = None
    limits: ServeLimits = field(default_factory=ServeLimits)

    @property
    def is_local(self) -> bool:
        """Whether it can be reached from this machine alone."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Tell whether an address or a name means this machine and is reached from nowhere else."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
