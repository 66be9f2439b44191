"""Database, tokenisers, open indexes.

What is slow to import is imported when it is first asked for: `status` needs no numbers.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Self

from lpisearch.errors import IndexNotFound
from lpisearch.options import IndexSpec
from lpisearch.storage import open_store
from lpisearch.storage.metadata import TOKENISER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from lpisearch.index.snapshot import OpenIndexes, Reading
    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.location import Location
    from lpisearch.storage.store import ReadTransaction, Store
    from lpisearch.text.tokeniser import Tokeniser, Tokenisers


_DEFAULT = IndexSpec().name


@dataclass(frozen=True, eq=False, slots=True)
class Moment:
    """One state of a library, and what cuts words.

    Attributes
    ----------
    reading
        The documents and the index in use.
    tokeniser
        Of the library.
    index_tokeniser
        Which made the words of the index: it may be older than the language of the library.
    """

    reading: Reading
    tokeniser: Tokeniser
    index_tokeniser: Tokeniser


class Session:
    """What stays open between one question and the next. Any number of threads may share it.

    Parameters
    ----------
    path
        The database file. It is opened, to read, when something is first asked of it.

    Attributes
    ----------
    path
        The database file.
    """

    def __init__(self, path: Location) -> None:
        self.path = path
        self._lock = RLock()
        self._store: Store | None = None
        self._indexes: OpenIndexes | None = None
        self._tokenisers: Tokenisers | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the files. What is asked for afterwards opens them again."""
        with self._lock:
            if self._store is not None:
                self._store.close()
            self._store = self._indexes = None

    @property
    def store(self) -> Store:
        """The documents; each transaction sees one state.

        Raises
        ------
        LibraryError
        """
        with self._lock:
            if self._store is None:
                self._store = open_store(self.path)
            return self._store

    @property
    def indexes(self) -> OpenIndexes:
        """The indexes; each is opened when it is first needed, and anew when it was rebuilt."""
        from lpisearch.index.snapshot import OpenIndexes

        with self._lock:
            if self._indexes is None:
                self._indexes = OpenIndexes(self.path, self.store)
            return self._indexes

    @property
    def tokenisers(self) -> Tokenisers:
        """What cuts words, by its settings."""
        from lpisearch.text.tokeniser import Tokenisers

        with self._lock:
            if self._tokenisers is None:
                self._tokenisers = Tokenisers()
            return self._tokenisers

    def reading(self) -> AbstractContextManager[ReadTransaction]:
        """Give one unchanging state of the documents."""
        return self.store.reading()

    @contextmanager
    def moment(self, index: str = _DEFAULT) -> Iterator[Moment]:
        """Give documents, index and tokenisers as they are now.

        Raises
        ------
        IndexNotFound, LibraryError
        """
        with self.indexes.reading(index) as reading:
            stored = reading.snapshot.settings.get(TOKENISER) or {}
            made = stored if reading.opened is None else reading.opened.index.manifest.tokeniser
            yield Moment(reading, *map(self.tokenisers.of, (stored, made)))

    def index(self, name: str = _DEFAULT) -> SubspaceIndex:
        """Return an index as it is now.

        Raises
        ------
        IndexNotFound, IndexDamaged, IndexTooNew, LibraryError
        """
        opened = self.indexes.get(name)
        if opened is None:
            raise IndexNotFound(name, ())
        return opened.index

    def tokeniser_of(self, index: SubspaceIndex) -> Tokeniser:
        """Return what cut the words of an index."""
        return self.tokenisers.of(index.manifest.tokeniser)
