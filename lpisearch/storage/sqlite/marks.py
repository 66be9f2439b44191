"""State token of a library, changed by every writing transaction.

It lies in the header of the file (`user_version`), so it is read without looking at a table, and
it is part of the transaction: a snapshot sees the mark of its own state. It is drawn by chance, so
that a copy that went other ways has another.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

_LARGEST = (1 << 31) - 1


def marked(connection: Connection) -> int:
    """Return the mark of the state that a connection sees."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


@contextmanager
def marking(connection: Connection) -> Iterator[None]:
    """Set the mark anew at the end of a block, if the block changed anything and kept it."""
    before = _changes(connection)
    yield
    if connection.in_transaction() and _changes(connection) != before:
        mark = secrets.randbelow(_LARGEST) + 1
        connection.exec_driver_sql(f"PRAGMA user_version = {mark}")


def _changes(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SELECT total_changes()").scalar_one())
