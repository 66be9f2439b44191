"""A library that is open: its documents, its indexes and its tokenisers, shared by all who ask."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from lpisearch.errors import IndexNotFound
from lpisearch.indexes.opening import DEFAULT, OpenIndexes
from lpisearch.storage import open_store
from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokenisers import Tokenisers

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.storage import Store
    from lpisearch.terms.tokeniser import Tokeniser


@dataclass(frozen=True, eq=False, slots=True)
class Session:
    """What stays open between one question and the next. Any number of threads may share it.

    Attributes
    ----------
    path
        The database file.
    store
        Opened to read; each transaction sees one state.
    indexes
        Each is opened when it is first needed, and anew when it was rebuilt.
    tokenisers
        By their settings.
    """

    path: Path
    store: Store
    indexes: OpenIndexes
    tokenisers: Tokenisers = field(default_factory=Tokenisers)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a library to read.

        Raises
        ------
        LibraryError
        """
        store = open_store(path)
        return cls(path, store, OpenIndexes(path, store))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the files."""
        self.store.close()

    def index(self, name: str = DEFAULT) -> SubspaceIndex:
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
        return self.tokenisers.of(TokeniserSettings.from_dict(index.manifest.tokeniser))
