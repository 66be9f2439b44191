"""Open the indexes of a library: each once, shared between threads, and anew after a rebuild.

The library's register names the folder of each index. A build that finishes puts a new folder
there and removes the one before, so a reader may be sent to a folder that has just gone. It then
asks again, in a new transaction: the old one sees the register as it was when it began.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from lpisearch.errors import IndexNotFound, IndexOutdated, IndexUnreadable, SubspaceError
from lpisearch.indexes import verification
from lpisearch.indexes.index import SubspaceIndex
from lpisearch.indexes.rebuild import rebuild_command
from lpisearch.messages import Message
from lpisearch.settings import IndexOptions, index_folder
from lpisearch.storage import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from pathlib import Path

    from lpisearch.records import Filter
    from lpisearch.storage import IndexEntry, Snapshot, Store


DEFAULT = IndexOptions().name


@dataclass(frozen=True, eq=False, slots=True)
class OpenIndex:
    """An index in use.

    Attributes
    ----------
    entry
        What the library's register says of it.
    index
        Its arrays are memory-mapped: they outlive the folder.
    """

    entry: IndexEntry
    index: SubspaceIndex


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """One unchanging state of a library, and the index that it names.

    Attributes
    ----------
    snapshot
        To the documents.
    opened
        The index; None if there is none, or if it cannot be used.
    trouble
        Why it cannot be used, with the command that builds it anew; None where all is well.
    count_and_sum
        Counts the documents that pass a filter; by default those of the snapshot.
    """

    snapshot: Snapshot
    opened: OpenIndex | None
    trouble: SubspaceError | None = None
    count_and_sum: Callable[[Filter], tuple[int, int]] | None = None

    def behind(self) -> str:
        """Say that documents came or went since the index was brought up to date, or "".

        Counts and sums of keys are compared. A document whose content changed keeps its key: it
        is noticed when it is found.
        """
        if self.opened is None:
            return ""
        rows, spec = self.opened.index.document_rows, self.opened.index.manifest.spec
        count = self.count_and_sum or self.snapshot.corpus.count_and_sum
        if count(spec.where) == (len(rows), int(rows.sum())):
            return ""
        said = "the index is behind the documents: some came or went since. Next: "
        return Message(said, rebuild_command(spec))


class OpenIndexes:
    """The indexes of an open library, for any number of threads.

    Parameters
    ----------
    library
        The database file: its indexes lie beside it.
    store
        The library, open. No transaction that writes may be under way in it.
    """

    def __init__(self, library: Path, store: Store) -> None:
        self._folder = index_folder(library)
        self._store = store
        self._opened: dict[str, OpenIndex] = {}
        self._counted: tuple[Hashable, dict[Filter, tuple[int, int]]] = None, {}
        self._lock = Lock()

    def get(self, name: str = DEFAULT) -> OpenIndex | None:
        """Return the index of a name as it is now; None if the library has no default one.

        Raises
        ------
        IndexNotFound, IndexDamaged, IndexTooNew, LibraryError
        """
        with self.reading(name) as reading:
            if reading.trouble is not None:
                raise reading.trouble
            return reading.opened

    @contextmanager
    def reading(self, name: str = DEFAULT) -> Iterator[Reading]:
        """Give documents and index as they were at one moment.

        Raises
        ------
        IndexNotFound, LibraryError
        """
        failed = ""
        while True:
            state = self._store.state()
            with self._store.reading() as snapshot:
                entry = entry_named(snapshot, name)
                opened, trouble = self._open(entry)
                # What fails twice under one name was not replaced meanwhile: it is damaged.
                if entry is None or trouble is None or entry.folder == failed:
                    count = partial(self._count, snapshot, state)
                    yield Reading(snapshot, opened, trouble, count)
                    return
            failed = entry.folder

    def _count(self, snapshot: Snapshot, state: Hashable | None, where: Filter) -> tuple[int, int]:
        """Count documents, which takes long where they are very many: once for each state."""
        known, counts = self._counted
        if state is None or state != known or where not in counts:
            found = snapshot.corpus.count_and_sum(where)
            if state is None or state != self._store.state():
                return found  # somebody writes: what was counted may be of another state
            counts = {**(counts if state == known else {}), where: found}
            self._counted = state, counts
        return counts[where]

    def _open(self, entry: IndexEntry | None) -> tuple[OpenIndex | None, SubspaceError | None]:
        if entry is None:
            return None, None
        with self._lock:
            before = self._opened.get(entry.name)
            if before is not None and before.entry.folder == entry.folder:
                return before, None
            try:
                index = SubspaceIndex(*verification.open_verified(self._folder / entry.folder))
                if missing := index.missing():
                    raise IndexOutdated(entry.name, missing)
            except SubspaceError as error:
                if not isinstance(error, IndexUnreadable):
                    error.next_step = rebuild_command(entry.spec)
                return None, error
            opened = self._opened[entry.name] = OpenIndex(entry, index)
            return opened, None


def open_index(library: Path, name: str = DEFAULT) -> SubspaceIndex:
    """Open an index of a library, checking that its files are as they were written.

    Raises
    ------
    IndexNotFound, IndexDamaged, IndexTooNew, LibraryError
    """
    with open_store(library) as store:
        opened = OpenIndexes(library, store).get(name)
    if opened is None:
        raise IndexNotFound(name, ())
    return opened.index


def entry_named(snapshot: Snapshot, name: str) -> IndexEntry | None:
    """Return what the library says of an index; None if it has no default one.

    Raises
    ------
    IndexNotFound
    """
    entries = {entry.name: entry for entry in snapshot.indexes.entries()}
    if name not in entries and name != DEFAULT:
        raise IndexNotFound(name, entries)
    return entries.get(name)
