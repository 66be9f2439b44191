"""Resources of an open library, shared by all its methods."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lpisearch.indexes.session import Session
    from lpisearch.places import Place
    from lpisearch.search.searcher import Searcher


class Opened:
    """Database, tokenisers and indexes, each opened when it is first needed."""

    def __init__(self, path: Place) -> None:
        self.path = path
        self._lock = RLock()
        self._opened: Session | None = None
        self._asked: Searcher | None = None

    def close(self) -> None:
        """Release the files. What is asked for afterwards opens them again."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._asked = None

    @property
    def _session(self) -> Session:
        from lpisearch.indexes.session import Session

        with self._lock:
            if self._opened is None:
                self._opened = Session(self.path)
            return self._opened

    def _searcher(self) -> Searcher:
        from lpisearch.search.searcher import Searcher

        with self._lock:
            if self._asked is None:
                self._asked = Searcher(self._session)
            return self._asked
