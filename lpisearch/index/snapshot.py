"""Open indexes, one state for one question.

The library's register names the folder of each index. A build that finishes puts a new folder
there and removes the one before, so a reader may be sent to a folder that has just gone. It then
asks again, in a new transaction: the old one sees the register as it was when it began.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from lpisearch.errors import (
    IndexNotFound,
    IndexOutdated,
    IndexUnreadable,
    LpiSearchError,
    SubspaceError,
)
from lpisearch.index import format as index_format
from lpisearch.index.directory import IndexLocation
from lpisearch.index.format import sweep
from lpisearch.index.status import rebuild_command
from lpisearch.index.subspace import SubspaceIndex
from lpisearch.messages import Message
from lpisearch.options import IndexOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.location import Location
    from lpisearch.model.documents import Filter
    from lpisearch.storage.metadata import IndexEntry
    from lpisearch.storage.store import ReadTransaction, Store


DEFAULT = IndexOptions().name
_REMEMBERED = 32  # of a state, such as the keys that pass a filter


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
    remember
        Calls what is given to it, or returns what that gave in the same state of the library.
    """

    snapshot: ReadTransaction
    opened: OpenIndex | None
    trouble: SubspaceError | None = None
    remember: Callable[[str, Callable[[], Any]], Any] = lambda _name, work: work()

    def behind(self) -> str:
        """Say that documents came or went since the index was brought up to date, or "".

        Counts and sums of keys are compared. A document whose content changed keeps its key: it
        is noticed when it is found.
        """
        if self.opened is None:
            return ""
        rows, spec = self.opened.index.document_rows, self.opened.index.manifest.spec
        count = partial(self.snapshot.corpus.count_and_sum, spec.where)
        if self.remember(f"count {spec.where}", count) == (len(rows), int(rows.sum())):
            return ""
        said = "The index is out of date: documents were added or removed. Next: "
        return Message(said, rebuild_command(spec))

    def passing(self, where: Filter) -> Keys | None:
        """Return the keys of the documents that pass a filter; None for all.

        Raises
        ------
        BadOption
            A date of the filter is none.
        """

        def find() -> Keys | None:
            found = self.snapshot.lexical.allowed(where)
            return None if found is None else Keys(found)

        kept: Keys | None = self.remember(f"passing {where}", find)
        return kept


class Keys(frozenset[int]):
    """Keys of documents, and the same as an array."""

    @cached_property
    def ascending(self) -> NDArray[np.int64]:
        """The keys in order."""
        import numpy as np

        return np.sort(np.fromiter(self, np.int64, len(self)))


class OpenIndexes:
    """The indexes of an open library, for any number of threads.

    Parameters
    ----------
    library
        The database file: its indexes lie beside it.
    store
        The library, open. No transaction that writes may be under way in it.
    """

    def __init__(self, library: Location, store: Store) -> None:
        self._library = library
        self._store = store
        self._fetching: dict[str, Thread] = {}
        self._opened: dict[str, OpenIndex] = {}
        self._known: tuple[str, dict[str, Any]] = "", {}
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
            with self._store.reading() as snapshot:
                entry = entry_named(snapshot, name)
                opened, trouble = self._open(snapshot, entry)
                # What fails twice under one name was not replaced meanwhile: it is damaged.
                if entry is None or trouble is None or entry.folder == failed:
                    yield Reading(snapshot, opened, trouble, partial(self._remember, snapshot))
                    return
            failed = entry.folder

    def _remember(self, snapshot: ReadTransaction, name: str, work: Callable[[], Any]) -> Any:
        """Do what takes long where documents are very many: once for each state of the library."""
        state = snapshot.state()
        known, found = self._known
        if state == known and name in found:
            return found[name]
        result = work()
        before = list(found.items())[1 - _REMEMBERED :] if state == known else []
        self._known = state, {**dict(before), name: result}
        return result

    def _open(
        self, snapshot: ReadTransaction, entry: IndexEntry | None
    ) -> tuple[OpenIndex | None, SubspaceError | None]:
        if entry is None:
            return None, None
        place = IndexLocation.of(self._library, snapshot)
        with self._lock:
            before = self._opened.get(entry.name)
            if before is not None and before.entry.folder == entry.folder:
                return before, None
            if before is not None and place.is_away(entry):
                if place.is_cache:
                    self._begin_to_fetch(place, entry)
                return before, None  # which goes on until the new one is here
            try:
                folder = place.fetched(snapshot, entry)
                index = SubspaceIndex(*index_format.open_verified(folder))
                if missing := index.missing():
                    raise IndexOutdated(entry.name, missing)
            except SubspaceError as error:
                if not isinstance(error, IndexUnreadable):
                    error.next_step = rebuild_command(entry.spec)
                return None, error
            opened = self._opened[entry.name] = OpenIndex(entry, index)
            if place.is_cache and before is not None:
                used = {each.folder for each in snapshot.indexes.entries()}
                sweep(place.folder, used)
            return opened, None

    def _begin_to_fetch(self, place: IndexLocation, entry: IndexEntry) -> None:
        """Bring an index here beside those who ask meanwhile; one that fails is tried again."""
        under_way = self._fetching.get(entry.name)
        if under_way is None or not under_way.is_alive():
            fetching = Thread(target=self._fetch, args=(place, entry), daemon=True)
            self._fetching[entry.name] = fetching
            fetching.start()

    def _fetch(self, place: IndexLocation, entry: IndexEntry) -> None:
        with suppress(LpiSearchError), self._store.reading() as snapshot:
            place.fetched(snapshot, entry)


def entry_named(snapshot: ReadTransaction, name: str) -> IndexEntry | None:
    """Return what the library says of an index; None if it has no default one.

    Raises
    ------
    IndexNotFound
    """
    entries = {entry.name: entry for entry in snapshot.indexes.entries()}
    if name not in entries and name != DEFAULT:
        raise IndexNotFound(name, entries)
    return entries.get(name)
