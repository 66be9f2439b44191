"""Snapshot: one state of a library, for one question."""

from __future__ import annotations

from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from lpisearch.errors import IndexNotFound, SubspaceError
from lpisearch.search.expansion import IndexWords, LibraryWords
from lpisearch.search.facets import FacetColumns
from lpisearch.storage.metadata import TOKENISER, IndexEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.model.answers import Facets
    from lpisearch.model.documents import Filter, Section
    from lpisearch.search.engine import Engine
    from lpisearch.search.session import Session
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.text.encoders import CheckedEncoder
    from lpisearch.text.tokeniser import Tokeniser

    Floats = NDArray[np.float32]


MOST_LANGUAGES = 8
"""The number of languages in which the words of a query are looked up: the most frequent."""
_MOST_LIVE = 10_000  # words of queries that are remembered to be in a document
_SECTIONS_REMEMBERED = 64  # documents: who types sees the same ones again and again
_SEVERAL = 2


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
        *,
        state: str,
    ) -> None:
        self.transaction, self.trouble = transaction, trouble
        self.entry: IndexEntry | None = opened[0] if opened else None
        self.engine: Engine | None = opened[1] if opened else None
        self._session, self._state, self._index = session, state, index
        self._languages_of: dict[str, str] = {}

    @cached_property
    def tokeniser(self) -> Tokeniser:
        """The tokeniser of the library."""
        read = partial(self.transaction.settings.get, TOKENISER)
        return self._session.tokenisers.of(self.remember("tokeniser", read) or {})

    @cached_property
    def index_tokeniser(self) -> Tokeniser:
        """The tokeniser of the index, whose language may be older than the library's."""
        if self.engine is None:
            return self.tokeniser
        return self._session.tokeniser_of(self.engine.index)

    @cached_property
    def languages(self) -> Mapping[str, int]:
        """The documents by language, most frequent first; none if all are treated alike."""
        if not self.tokeniser.settings.is_mixed:
            return {}
        counts = self.remember("languages", self.transaction.documents.languages)
        return dict(islice(counts.items(), MOST_LANGUAGES))

    @cached_property
    def kinds(self) -> Mapping[str, NDArray[np.int64]]:
        """The keys of the documents of each kind, in order."""
        return self.remember("kinds", self.transaction.documents.kinds)  # type: ignore[no-any-return]

    def in_language(self, language: str, *, other: bool = False) -> NDArray[np.int64]:
        """Return the keys of the documents in a language, or in any other, in order."""
        documents = self.transaction.documents
        keys: NDArray[np.int64] = self.remember(
            f"{'not ' * other}in {language}", lambda: documents.in_language(language, other=other)
        )
        return keys

    @cached_property
    def groups(self) -> NDArray[np.int32]:
        """For each document of the index the first that is nearly the same text, or a version."""
        engine, entry = self.require_engine(), self.entry
        twins = engine.index.twins
        # Candidates of one query have no state to remember, and few versions of each other.
        if entry is None or not engine.has_all or len(self.languages) < _SEVERAL:
            return twins

        def find() -> NDArray[np.int32]:
            from lpisearch.index.twins import version_groups

            facts = self.transaction.documents.paths(next(iter(self.languages)))
            if not facts:  # as in a library of one file
                return twins
            own = (facts.get(row, ("", "")) for row in engine.index.document_rows.tolist())
            paths, languages = zip(*own, strict=True)
            return version_groups(paths, languages, twins)

        groups: NDArray[np.int32] = self.remember(f"versions {entry.folder}", find)
        return groups

    def language_of(self, query: str) -> str:
        """Return the language of a query; "" if its words do not tell, or only one may be."""
        if query not in self._languages_of:
            self._languages_of[query] = self._language_of(query)
        return self._languages_of[query]

    def _language_of(self, query: str) -> str:
        if len(self.languages) < _SEVERAL:
            return next(iter(self.languages), "")
        from lpisearch.text.traits import language_of_query

        return language_of_query(query, self.languages)

    def tokenisers_of(self, query: str) -> tuple[Tokeniser, tuple[Tokeniser, ...]]:
        """Return the tokeniser of a query's language, and those of other languages of documents."""
        language = self.language_of(query)
        first = self.tokeniser.of_language(language)
        others = dict.fromkeys(map(self.tokeniser.of_language, self.languages))
        return first, tuple(other for other in others if other is not first)

    @cached_property
    def library_words(self) -> LibraryWords:
        """The words of all documents."""
        return LibraryWords(self)

    @cached_property
    def index_words(self) -> IndexWords:
        """The words of the index, without those that no document has any more."""
        lexical = self.transaction.lexical
        live: dict[str, bool] = self.remember("live words", dict)

        def is_live(token: str) -> bool:
            if token not in live:
                if len(live) >= _MOST_LIVE:
                    live.clear()
                live[token] = bool(lexical.some_with(token, 1))
            return live[token]

        return IndexWords(self.require_engine(), self.index_tokeniser, is_live)

    def encoder(self) -> tuple[CheckedEncoder | None, str]:
        """Return the user's encoder if the index has its vectors and they help; or a note."""
        encoded = None if self.engine is None else self.engine.encoded
        if encoded is None or not encoded.weight:
            return None, ""
        return self._session.encoder_of(encoded)

    def encoded(self, texts: Sequence[str], encoder: CheckedEncoder) -> Iterator[Floats]:
        """Yield vectors of texts, which are kept next to the indexes."""
        from lpisearch.index.directory import IndexLocation
        from lpisearch.storage.vector_store import VectorStore

        location = IndexLocation.of(self._session.path, self.transaction)
        location.check_ours()
        return VectorStore(location.folder, encoder.name, encoder.documents).vectors(texts)

    def require_engine(self) -> Engine:
        """Return the engine of the index; raise a `SubspaceError` if there is none."""
        if self.engine is None:
            raise self.trouble or IndexNotFound(self._index or "", ())
        return self.engine

    def remember(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return a result that holds for this state of the library, computed once."""
        return self._session.remember(self._state, name, compute)

    def sections(self, keys: Sequence[int]) -> dict[int, tuple[Section, ...]]:
        """Return the sections of documents, by key; those of the last ones are remembered."""
        known: dict[int, tuple[Section, ...]] = self.remember("sections", dict)
        found = {key: own for key in keys if (own := known.get(key)) is not None}
        if unread := [key for key in keys if key not in found]:
            read = self.transaction.documents.sections(unread)
            found |= {key: read.get(key, ()) for key in unread}
            if len(known) >= _SECTIONS_REMEMBERED:
                known.clear()
            known.update(found)
        return found

    def matching(self, where: Filter) -> Keys | None:
        """Return the keys of the documents that match a filter; None for all."""

        def find() -> Keys | None:
            keys = self.transaction.lexical.allowed(where)
            return None if keys is None else Keys(keys)

        matching: Keys | None = self.remember(f"matching {where}", find)
        return matching

    def sort_ranks(self, sort: str, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the position of documents in a sort order; those without a key are last."""
        import numpy as np

        from lpisearch.text.characters import fold

        def rank() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            rows = self.transaction.documents.sort_values("date" if sort == "oldest" else sort)
            values = [fold(value) if sort == "title" else value for _, value in rows]
            known = sorted(set(values) - {""}, reverse=sort == "date")
            rank_of = {value: number for number, value in enumerate(known)} | {"": len(known)}
            ranks = np.fromiter(map(rank_of.__getitem__, values), np.int64, len(values))
            return np.array([key for key, _ in rows], np.int64), np.append(ranks, len(known))

        every, ranks = self.remember(f"order by {sort}", rank)
        at = np.searchsorted(every, keys)
        at[(at < len(every)) & (every[np.minimum(at, len(every) - 1)] != keys)] = len(every)
        return np.asarray(ranks[at])

    def facets(self, keys: NDArray[np.int64] | None = None, base: str = "") -> Facets:
        """Count documents by label, folder, format, date, …; all if no keys are given."""
        with self._session.facet_lock:
            columns = self.remember("facets", lambda: FacetColumns.of(self.transaction))
        facets: Facets = columns.count(keys, base)
        return facets


class Keys(frozenset[int]):
    """Keys of documents, and the same as an array."""

    @cached_property
    def ascending(self) -> NDArray[np.int64]:
        """The keys in order."""
        import numpy as np

        return np.sort(np.fromiter(self, np.int64, len(self)))
