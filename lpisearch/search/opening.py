"""Which index answers a query, and what is to be said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lpisearch.errors import SubspaceError
from lpisearch.indexes.index import SubspaceIndex
from lpisearch.indexes.opening import entry_named
from lpisearch.indexes.rebuild import rebuild_command
from lpisearch.indexes.verification import open_verified
from lpisearch.search.engine import Engine
from lpisearch.settings import index_folder
from lpisearch.storage.sqlite import corpus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection

    from lpisearch.storage.sqlite.indexes import IndexEntry


@dataclass(frozen=True, eq=False, slots=True)
class Opened:
    """An index in use, or the reason why there is none.

    Attributes
    ----------
    entry
        What the library says of it; None if it has no index.
    engine
        None if the words alone must do.
    note
        Why so, or "".
    """

    entry: IndexEntry | None
    engine: Engine | None
    note: str = ""

    def is_current(self, entry: IndexEntry | None) -> bool:
        """Tell whether this is still what the library refers to."""
        before = self.entry.folder if self.entry else ""
        return before == (entry.folder if entry else "")


def open_engine(
    library: Path, connection: Connection, name: str, before: Opened | None = None
) -> Opened:
    """Open an index, unless the one that is open is still the one in use.

    Raises
    ------
    IndexNotFound
        It was asked for by a name of its own. Without the default index, words alone answer.
    """
    entry = entry_named(connection, name)
    if before is not None and before.is_current(entry):
        return before
    if entry is None:
        return Opened(None, None, "no index yet, so by words alone. Next: lpisearch index")
    return _open(library, entry, lambda: entry_named(connection, name))


def _open(library: Path, entry: IndexEntry, again: Callable[[], IndexEntry | None]) -> Opened:
    try:
        index = SubspaceIndex(*open_verified(index_folder(library) / entry.folder))
        return Opened(entry, Engine(index))
    except SubspaceError as error:
        now = again()
        if now is not None and now.folder != entry.folder:  # a build replaced it just now
            return _open(library, now, again)
        return Opened(
            entry, None, f"{error.what} By words alone. Next: {rebuild_command(entry.spec)}"
        )
    except (KeyError, ValueError) as error:
        what = f"The index “{entry.name}” was written by an earlier lpisearch ({error})."
        return Opened(entry, None, f"{what} By words alone. Next: {rebuild_command(entry.spec)}")


def behind(connection: Connection, opened: Opened) -> str:
    """Say that documents came or went since the index was brought up to date, or "".

    Counts and sums of keys are compared, which costs next to nothing. A document whose content
    changed keeps its key: it is noticed when it is found.
    """
    if opened.entry is None or opened.engine is None:
        return ""
    rows = opened.engine.rows
    if corpus.count_and_sum(connection, opened.entry.spec.where) == (len(rows), int(rows.sum())):
        return ""
    return (
        "the index is behind the documents: some came or went since. "
        f"Next: {rebuild_command(opened.entry.spec)}"
    )
