"""Translate PostgreSQL errors, without revealing passwords."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import OperationalError

from lpisearch.errors import (
    LibraryDamaged,
    LibraryError,
    LibraryLocked,
    LibraryNotFound,
    LibraryUnreachable,
    LibraryUnwritable,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.places import Address

_WHO = "check the user and password (set it in ~/.pgpass or PGPASSWORD)"
_START = "start the server or check its address, then run the same command again"
_GRANT = "ask the owner to GRANT access, or connect as another user"
_WAIT = "raise max_connections on the server, or wait"
_FREE = "free some disk space on the server, then run the same command again"
_FULL = ("could not write", "could not extend", "No space left")
_STANDBY = "the server is read-only (a standby)"
# By the codes of PostgreSQL, or what they begin with; the longest that fits goes before.
_STATED: dict[str, Callable[[Address, str], LibraryError]] = {
    "53100": lambda place, _: LibraryUnwritable(place, "the server's disk is full"),
    "53200": LibraryUnwritable,
    "58030": LibraryUnwritable,
    "25006": lambda place, _: LibraryUnwritable(place, _STANDBY),
    "42501": lambda place, said: LibraryUnreachable(place, said, _GRANT),
    "53300": lambda place, said: LibraryUnreachable(place, said, _WAIT),
    "28": lambda place, said: LibraryUnreachable(place, said, _WHO),
    "08": lambda place, said: LibraryUnreachable(place, said, _START),
    "57P": lambda place, said: LibraryUnreachable(place, said, _START),
    "55P03": lambda place, _: LibraryLocked(place, "another program"),
    "40P01": lambda place, _: LibraryLocked(place, "another program"),
    "3D000": lambda place, _: _no_database(place),
    "3F000": lambda place, _: LibraryNotFound(place),
    **dict.fromkeys(("XX001", "XX002", "42P01", "42703", "22P02", "22021"), LibraryDamaged),
}
_SHOWN = 300


def stated(place: Address, error: BaseException | None) -> LibraryError | None:
    """Return the error to state, or None for one that says nothing of its cause."""
    code = getattr(error, "sqlstate", None) or ""
    said = _said(place, error)
    for length in (5, 3, 2):
        if code[:length] in _STATED:
            return _STATED[code[:length]](place, said)
    # While it connects, the driver knows no codes.
    return _unconnected(place, said) if isinstance(error, OperationalError) and not code else None


def _unconnected(place: Address, said: str) -> LibraryError:
    if 'database "' in said and "does not exist" in said:
        return _no_database(place)
    if any(word in said for word in ("password", "authentication", 'role "')):
        return LibraryUnreachable(place, said, _WHO)
    if any(words in said for words in _FULL):
        return LibraryUnreachable(place, said, _FREE)
    return LibraryUnreachable(place, said, _START)


def _no_database(place: Address) -> LibraryError:
    name = place.name.partition(".")[0]
    return LibraryUnreachable(place, f"it has no database “{name}”", f"createdb {name}")


def _said(place: Address, error: BaseException | None) -> str:
    """Return the first line of what was said, without any password."""
    diagnosed = getattr(getattr(error, "diag", None), "message_primary", None)
    lines = str(diagnosed or error or "").strip().splitlines() or ["the connection was lost"]
    line = lines[0][:_SHOWN]
    for secret in place.secrets:
        line = line.replace(secret, "***")
    return line
