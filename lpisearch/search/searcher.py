"""The searcher: keeps a library and its index open between queries."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.compute.stretches import blas_alone
from lpisearch.errors import BadOption, SubspaceError
from lpisearch.indexes.scoring.engine import Engine
from lpisearch.search.facets import OpenFacets
from lpisearch.search.notes import unheard, why_no_index
from lpisearch.search.refusals import check_labels, check_options, refuse_words_alone
from lpisearch.search.request import request_of, words_of
from lpisearch.search.view import View
from lpisearch.search.word_sources import OpenWords
from lpisearch.settings import RELEVANCE, SearchOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from lpisearch.indexes.opening import OpenIndex
    from lpisearch.indexes.session import Session
    from lpisearch.records import Answer, Document, Facets, Filter, Mark, Reason, Run

DEFAULTS = SearchOptions()


class Searcher:
    """Answers questions; an index is opened at the first one, and anew when it was rebuilt.

    Several threads may ask at once: an open index never changes, and each question has its own
    view of the documents.

    Parameters
    ----------
    session
        The library.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._engines: dict[str, tuple[OpenIndex, Engine]] = {}
        self._words = OpenWords()
        self._columns = OpenFacets()

    def search(
        self,
        text: str,
        options: SearchOptions = DEFAULTS,
        *,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
    ) -> Answer:
        """Answer a query, moved towards some documents and away from others if they are named.

        Raises
        ------
        BadOption
            A way, number, date or label that cannot work.
        IndexNotFound
            The library has no index of the name.
        DocumentNotFound, SeveralDocuments
            A document to be moved by.
        SubspaceError
            An explanation was asked of a map that is not linear.
        """
        with self.view(options) as view:
            request = request_of(view, text, options.where)
            if like or unlike:
                from lpisearch.search.likeness import moved_by_documents

                request = moved_by_documents(view, request, like, unlike)
            return view.answer(request, options, text)

    def reason(
        self,
        text: str,
        name: str,
        options: SearchOptions = DEFAULTS,
        *,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
    ) -> Reason:
        """Say why `search`, asked the same, finds a document where it does.

        Raises
        ------
        BadOption, IndexNotFound, DocumentNotFound, SeveralDocuments
        """
        from lpisearch.search.likeness import moved_by_documents
        from lpisearch.search.reasons import reason_of

        with self.view(options) as view:
            request = request_of(view, text, options.where)
            if like or unlike:
                request = moved_by_documents(view, request, like, unlike)
            return reason_of(view, request, name, options, text)

    def marks(
        self, text: str, parts: Sequence[str], options: SearchOptions = DEFAULTS
    ) -> list[tuple[Mark, ...]]:
        """Return for each of some texts the words that have to do with a query."""
        from lpisearch.search.marking import marks

        with self.view(options) as view:
            request = words_of(view, text)
            return [marks(view, request, part) for part in parts]

    def similar(self, document: str | Document, options: SearchOptions = DEFAULTS) -> Answer:
        """Find documents that are like one, without that one itself.

        Parameters
        ----------
        document
            The id or the path of a document in the library, or a document that is nowhere yet.
        options
            How to answer.

        Raises
        ------
        DocumentNotFound, SeveralDocuments, BadOption, LibraryError
        SubspaceError
            It is to be answered by the subspace alone, and there is no index to answer from.
        """
        from lpisearch.search.likeness import like_document

        with self.view(options) as view:
            refuse_words_alone(view, options)
            allowed = view.reading.passing(options.where)
            return view.answer(like_document(view, document, allowed), options)

    def batch(
        self,
        queries: Iterable[tuple[str, str]],
        options: SearchOptions = DEFAULTS,
        *,
        engine: Engine | None = None,
        on_note: Callable[[str], None] = unheard,
    ) -> Generator[Run, None, None]:
        """Answer queries, given as (id, text); yield (query id, [(document id, score), …]).

        The answers are those of `search`, up to the rounding of a matrix product; but the queries
        of a file are prose, and quotes and minus signs in them ask for nothing.

        Parameters
        ----------
        queries
            Read as they are needed.
        options
            How to answer each.
        engine
            Over the same documents, to be used in place of the index of the library.
        on_note
            Called with what is to be known of the answers, as the notes of an `Answer`.

        Raises
        ------
        BadOption, LibraryError
        SubspaceError
            They are to be answered by the subspace alone, and there is no index to answer from.
        """
        from lpisearch.search.batch import Batch

        if options.sort != RELEVANCE:
            raise BadOption("sort", "batch results are always sorted by score")
        with self._opened(options, engine) as view:
            refuse_words_alone(view, options)
            yield from Batch(view, options, on_note).answers(queries)

    def facets(self, where: Filter) -> Facets:
        """Count the documents that pass a filter.

        Raises
        ------
        BadOption, LibraryError
        """
        with self._session.reading() as snapshot:
            check_labels(snapshot, where)
            allowed = snapshot.lexical.allowed(where)
            keys = None if allowed is None else np.array(sorted(allowed), np.int64)
            return self._columns.of(snapshot).count(keys)

    def state(self) -> str:
        """Return a mark of the library as it is: while it is the same, so are all answers."""
        with self._session.reading() as snapshot:
            return snapshot.state()

    def vectors(self, index: str) -> tuple[list[str], NDArray[np.float32]]:
        """Return the documents of an index: their ids, and their vectors as rows.

        Raises
        ------
        IndexNotFound, SubspaceError
        """
        with self.view(replace(DEFAULTS, index=index)) as view:
            engine = view.engine
            if engine is None:
                raise SubspaceError(why_no_index(view.reading))
            names = view.snapshot.documents.ids()
            there = [at for at, row in enumerate(engine.rows.tolist()) if row in names]
            ids = [names[row] for row in engine.rows[there].tolist()]
            return ids, engine.places.at(there)

    def vector(self, text: str, index: str) -> NDArray[np.float32]:
        """Return where a text lies in the subspace, at unit length.

        Raises
        ------
        IndexNotFound, SubspaceError
        """
        with self.view(replace(DEFAULTS, index=index)) as view:
            if view.engine is None:
                raise SubspaceError(why_no_index(view.reading))
            vector = view.engine.ask(view.index_tokeniser.tokens(text)).vector
            if not vector.any():
                raise SubspaceError("None of the words is in the index.", "use other words")
            return vector

    @contextmanager
    def view(self, options: SearchOptions) -> Iterator[View]:
        """Give the library as it is now, for one question.

        Parameters
        ----------
        options
            How it is answered.

        Raises
        ------
        BadOption, IndexNotFound, LibraryError
        """
        # The products of one question are small: a second thread of BLAS gains nothing by them,
        # and takes a core for as long as it then waits for more.
        with blas_alone(), self._opened(options) as view:
            yield view

    @contextmanager
    def _opened(self, options: SearchOptions, other: Engine | None = None) -> Iterator[View]:
        """Give a view, of an index or of another engine over the same documents."""
        check_options(options)
        with self._session.moment(options.index) as moment:
            reading = moment.reading
            check_labels(reading.snapshot, options.where, reading.remember)
            engine = other
            if engine is None and reading.opened is not None:
                engine = self._engine(reading.opened)
            yield View(
                reading,
                engine,
                moment.tokeniser,
                moment.index_tokeniser,
                self._words,
                self._columns,
            )

    def _engine(self, opened: OpenIndex) -> Engine:
        """Return the engine over an open index; two threads may at worst make it twice."""
        kept, engine = self._engines.get(opened.entry.name, (None, None))
        if engine is None or kept is not opened:
            engine = Engine(opened.index)
            self._engines[opened.entry.name] = opened, engine
        return engine
