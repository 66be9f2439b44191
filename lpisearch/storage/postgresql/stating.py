"""What PostgreSQL says, as an error with a next step; passwords stay where they are."""

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

_WHO = "check user and password (PGPASSWORD or ~/.pgpass hold one safely)"
_START = "start the server or check its address, then run the same command again"
_GRANT = "let the owner GRANT the right, or connect as another user"
_WAIT = "raise max_connections of the server, or wait"
_STANDBY = "the server takes no writes (it is a standby)"
# By the codes of PostgreSQL, or what they begin with; the longest that fits goes before.
_STATED: dict[str, Callable[[Address, str], LibraryError]] = {
    "53100": lambda place, _: LibraryUnwritable(place, "the disk of the server is full"),
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


def address_refused(place: Address) -> LibraryError:
    """Return the error of an address that cannot be understood."""
    return LibraryUnreachable(
        place,
        "its address cannot be understood",
        "write it as postgresql://USER@HOST:PORT/DATABASE, with %40 for an @ in a password",
    )


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
