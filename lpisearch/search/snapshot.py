"""Snapshot: one state of a library, for one question."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from lpisearch.errors import IndexNotFound, SubspaceError
from lpisearch.search.expansion import IndexWords, LibraryWords
from lpisearch.search.facets import FacetColumns
from lpisearch.storage.metadata import TOKENISER, IndexEntry

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.model.answers import Facets
    from lpisearch.model.documents import Filter
    from lpisearch.search.engine import Engine
    from lpisearch.search.session import Session
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.text.tokeniser import Tokeniser


class Snapshot:
    """One state of the documents and of an index.

    Attributes
    ----------
    transaction
        The documents.
    entry, engine
        The register's entry of the open index, and what scores by it; None without one.
    trouble
        Why the index cannot be used, with the command that rebuilds it; None if nothing is wrong.
    """

    def __init__(
        self,
        session: Session,
        transaction: ReadTransaction,
        index: str | None,
        opened: tuple[IndexEntry, Engine] | None,
        trouble: SubspaceError | None,
    ) -> None:
        self.transaction, self.trouble = transaction, trouble
        self.entry: IndexEntry | None = opened[0] if opened else None
        self.engine: Engine | None = opened[1] if opened else None
        self._session, self._index = session, index

    @cached_property
    def tokeniser(self) -> Tokeniser:
        """The tokeniser of the library."""
        return self._session.tokenisers.of(self.transaction.settings.get(TOKENISER) or {})

    @cached_property
    def index_tokeniser(self) -> Tokeniser:
        """The tokeniser of the index, whose language may be older than the library's."""
        if self.engine is None:
            return self.tokeniser
        return self._session.tokeniser_of(self.engine.index)

    @cached_property
    def library_words(self) -> LibraryWords:
        """The words of all documents."""
        return LibraryWords(self)

    @cached_property
    def index_words(self) -> IndexWords:
        """The words of the index; each thread keeps those of its last index."""
        engine, thread = self.require_engine(), self._session.thread
        if getattr(thread, "engine", None) is not engine:
            thread.engine, thread.words = engine, IndexWords(engine, self.index_tokeniser)
        words: IndexWords = thread.words
        return words

    def require_engine(self) -> Engine:
        """Return the engine of the index; raise a `SubspaceError` if there is none."""
        if self.engine is None:
            raise self.trouble or IndexNotFound(self._index or "", ())
        return self.engine

    def remember(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return a result that holds for this state of the library, computed once."""
        return self._session.remember(self.transaction.state(), name, compute)

    def matching(self, where: Filter) -> Keys | None:
        """Return the keys of the documents that match a filter; None for all."""

        def find() -> Keys | None:
            keys = self.transaction.lexical.allowed(where)
            return None if keys is None else Keys(keys)

        matching: Keys | None = self.remember(f"matching {where}", find)
        return matching

    def facets(self, keys: NDArray[np.int64] | None = None) -> Facets:
        """Count documents by label, split, folder, format and date; all if no keys are given."""
        with self._session.facet_lock:
            columns = self.remember("facets", lambda: FacetColumns.of(self.transaction))
        facets: Facets = columns.count(keys)
        return facets


class Keys(frozenset[int]):
    """Keys of documents, and the same as an array."""

    @cached_property
    def ascending(self) -> NDArray[np.int64]:
        """The keys in order."""
        import numpy as np

        return np.sort(np.fromiter(self, np.int64, len(self)))
