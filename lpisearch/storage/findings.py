"""Health findings common to all stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.messages import Message, call
from lpisearch.records import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

MEND = call("examine", repair=True)
_SHOWN = 3  # paths that fit in a line


def damaged(detail: str, check: str = "database file") -> Finding:
    """Return the finding for a database that cannot be read, or not be trusted."""
    return Finding(
        check,
        ok=False,
        detail=detail,
        next_step=Message(
            "restore a backup made with ", call("back_up"), ", or ingest into a new library"
        ),
    )


def unfinished(paths: Sequence[str]) -> Finding:
    """Return the finding about files that were not read to their ends.

    It is not damage: the documents read so far are whole, and the next ingest reads the rest.
    """
    check = "unfinished files"
    if not paths:
        return Finding(check, ok=True, detail="none")
    shown = ", ".join(paths[:_SHOWN]) + (", …" if len(paths) > _SHOWN else "")
    return Finding(
        check,
        ok=True,
        detail=f"{len(paths)} not fully read: {shown}",
        next_step=Message(call("ingest"), " the same paths again"),
    )
