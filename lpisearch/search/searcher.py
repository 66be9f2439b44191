"""Searcher, view of one state, batches."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.errors import BadOption, SubspaceError
from lpisearch.model.answers import Answer
from lpisearch.model.documents import Filter
from lpisearch.numeric.threads import limited_numpy_blas
from lpisearch.options import RELEVANCE, SearchOptions
from lpisearch.search.engine import Engine, Scores
from lpisearch.search.expansion import OpenWords
from lpisearch.search.explanation import Explainer
from lpisearch.search.facets import OpenFacets
from lpisearch.search.notes import (
    CHANGED,
    about_queries,
    about_words,
    check_labels,
    check_options,
    refuse_words_alone,
    unheard,
    why_no_index,
    why_none,
)
from lpisearch.search.passages import Passages, written_forms
from lpisearch.search.query import plain_request_of, request_of, words_of
from lpisearch.search.ranking import (
    alphabet_ranks,
    among,
    as_hits,
    best,
    by_index,
    by_occurrences,
    by_table,
    is_near,
    ranks_anything,
    rounded,
    select_sorted,
)
from lpisearch.text.tokeniser import surface_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from lpisearch.index.session import Session
    from lpisearch.index.snapshot import OpenIndex, Reading
    from lpisearch.model.answers import Explanation, Facets, Mark, Reason, Run
    from lpisearch.model.documents import Details, Document
    from lpisearch.numeric.packed_rows import PackedRows
    from lpisearch.search.query import Request
    from lpisearch.search.ranking import Ranking
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.text.tokeniser import Tokeniser


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
                from lpisearch.search.feedback import moved_by_documents

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
        from lpisearch.search.explanation import reason_of
        from lpisearch.search.feedback import moved_by_documents

        with self.view(options) as view:
            request = request_of(view, text, options.where)
            if like or unlike:
                request = moved_by_documents(view, request, like, unlike)
            return reason_of(view, request, name, options, text)

    def marks(
        self, text: str, parts: Sequence[str], options: SearchOptions = DEFAULTS
    ) -> list[tuple[Mark, ...]]:
        """Return for each of some texts the words that have to do with a query."""
        from lpisearch.search.passages import marks

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
        from lpisearch.search.feedback import like_document

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
        with limited_numpy_blas(), self._opened(options) as view:
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


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """A library as it is while one question is answered.

    Attributes
    ----------
    reading
        One unchanging state of the documents, and the index that it names.
    engine
        Over that index; None if the words alone must do.
    tokeniser
        Of the library.
    index_tokeniser
        Which made the words of the index: it may be older than the language of the library.
    words
        Of the index, as far as they were looked up before.
    columns
        What is counted of all documents.
    """

    reading: Reading
    engine: Engine | None
    tokeniser: Tokeniser
    index_tokeniser: Tokeniser
    words: OpenWords
    columns: OpenFacets

    @property
    def snapshot(self) -> ReadTransaction:
        """The documents."""
        return self.reading.snapshot

    def answer(self, request: Request, options: SearchOptions, text: str = "") -> Answer:
        """Rank the documents of the library and return those to show.

        Parameters
        ----------
        request
            What is looked for.
        options
            How to answer.
        text
            The query as it was typed, for those who want to know why a hit is one.
        """
        by, ranking = self._ranking(request, options)
        chosen, changed = select_sorted(self.snapshot, ranking, options)
        rows = [int(ranking.rows[place]) for place in chosen]
        sections = self.snapshot.documents.sections(rows)
        passages = Passages(self, request, ranking, sections)
        explain = self.explainer(request, passages, text) if options.explain else None
        hits = as_hits(self.snapshot, ranking, chosen, options, passages.of, explain=explain)
        notes = (
            *request.notes,
            why_no_index(self.reading),
            about_words(request, by),
            self.reading.behind(),
            CHANGED if changed else "",
            "" if hits else why_none(self.snapshot, options),
        )
        facets = self._facets(ranking, options) if options.facets else None
        return Answer(hits, by, tuple(filter(None, notes)), request.unknown, facets)

    def _facets(self, ranking: Ranking, options: SearchOptions) -> Facets:
        """Count all that may be found, those that `collapse` hides too."""
        places = slice(None) if ranking.among is None else ranking.among
        rows = ranking.rows[places]
        if options.min_score is not None:
            rows = rows[rounded(ranking.scores.by[places]) >= options.min_score]
        return self.columns.of(self.snapshot).count(rows)

    def _ranking(self, request: Request, options: SearchOptions) -> tuple[str, Ranking]:
        """Choose what ranks, as far as it was not chosen."""
        if request.occurrences and not ranks_anything(request, options.by):
            return "lexical", by_occurrences(request)
        if self.engine is None or request.question is None:
            return "lexical", by_table(self.snapshot, request)
        weight = options.semantic_weight
        return options.by, by_index(self.engine, request.question, request, options.by, weight)

    def explainer(
        self, request: Request, passages: Passages, text: str
    ) -> Callable[[int, Details], Explanation] | None:
        """Return what takes the cosine of a hit apart: that of the query as it was typed.

        Raises
        ------
        SubspaceError
            The map of the index is not linear.
        """
        if self.engine is None:
            return None
        explainer = Explainer(self.engine.index, request.counts)
        index, query_forms = self.engine.index, surface_forms(text, self.tokeniser)
        others: dict[str, str] = {}

        def other_forms(stems: Iterable[str]) -> dict[str, str]:
            if unknown := [stem for stem in sorted(stems) if stem not in others]:
                forms = written_forms(index, self.snapshot, unknown)
                others.update({stem: forms.get(stem, stem) for stem in unknown})
            return others

        def explain(place: int, document: Details) -> Explanation:
            tokens, said = passages.explained(place, document)
            forms = surface_forms(said, self.tokeniser)
            return explainer.of(tokens, query_forms, forms, other_forms)

        return explain


_AT_ONCE = 512
_EQUAL = 0.999  # stricter than for hits, whose words are compared too


class Batch:
    """Answers many queries from one view of the library.

    Parameters
    ----------
    view
        The documents and the index in use.
    options
        How to answer.
    on_note
        Called with what is to be known of the answers.
    """

    def __init__(
        self, view: View, options: SearchOptions, on_note: Callable[[str], None] = unheard
    ) -> None:
        self._view = view
        self._options = options
        self._on_note = on_note
        self._said: list[tuple[str, str]] = []
        self._ids = view.snapshot.documents.ids()
        self._allowed = view.snapshot.lexical.allowed(options.where)
        self._left_out: frozenset[int] = frozenset()
        engine = view.engine
        if engine is not None:
            self._names = [self._ids.get(row, "") for row in engine.rows.tolist()]
            self._ranks = alphabet_ranks(self._names)
            self._left_out = _changed(view.snapshot, engine)

    def answers(self, queries: Iterable[tuple[str, str]]) -> Iterator[Run]:
        """Yield the answer to each query."""
        reading = self._view.reading
        changed = CHANGED if self._left_out else ""
        self._note(why_no_index(reading), reading.behind(), changed)
        remaining, number = iter(queries), 0
        while some := list(islice(remaining, _AT_ONCE)):
            yield from self._answer(some)
            number += len(some)
        self._note(*about_queries(self._said, number))

    def _note(self, *notes: str) -> None:
        for said in filter(None, notes):
            self._on_note(said)

    def _answer(self, queries: list[tuple[str, str]]) -> Iterator[Run]:
        engine = self._view.engine
        requests = [self._request(name, text) for name, text in queries]
        if engine is None:
            for (name, _), request in zip(queries, requests, strict=True):
                yield name, self._by_table(request)
            return
        questions = [request.question for request in requests if request.question is not None]
        by = self._options.by
        scored = engine.batch(questions, by, self._options.semantic_weight)
        for (name, _), request, scores in zip(queries, requests, scored, strict=True):
            yield name, self._ranked(engine, request, scores)

    def _request(self, name: str, text: str) -> Request:
        request = plain_request_of(self._view, text)
        if said := about_words(request, self._options.by):
            self._said.append((name, said))
        return replace(request, allowed=self._allowed, left_out=self._left_out)

    def _ranked(
        self, engine: Engine, request: Request, scores: NDArray[np.float32]
    ) -> list[tuple[str, float]]:
        by = self._options.by
        question = request.question
        if question is None or not question.is_known(by):
            return []
        places = among(engine, request, Scores(scores, None, None, found=True), by)
        wanted = self._options.offset + self._options.k
        count = len(scores) if self._options.collapse else wanted
        chosen = best(scores, count, self._ranks.__getitem__, places)
        if self._options.collapse:
            chosen = _unlike(chosen, engine.places, wanted)
        return self._named([self._names[place] for place in chosen.tolist()], scores[chosen])

    def _by_table(self, request: Request) -> list[tuple[str, float]]:
        found = self._view.snapshot.lexical.bm25(request.in_table or (), request.allowed)
        scores = np.array([score for _, score in found], np.float32)
        names = [self._ids[row] for row, _ in found]
        wanted = self._options.offset + self._options.k
        chosen = best(scores, wanted, alphabet_ranks(names).__getitem__)
        return self._named([names[place] for place in chosen.tolist()], scores[chosen])

    def _named(self, names: list[str], scores: NDArray[np.float32]) -> list[tuple[str, float]]:
        least = self._options.min_score
        pairs = list(zip(names, rounded(scores).tolist(), strict=True))[self._options.offset :]
        return [pair for pair in pairs if least is None or pair[1] >= least]


def _changed(snapshot: ReadTransaction, engine: Engine) -> frozenset[int]:
    """Return the keys of documents that are no longer as they were indexed."""
    now = snapshot.corpus.content_hashes(Filter())
    hashes = engine.index.content_hashes
    then = hashes.tobytes()
    size = hashes.shape[1]
    return frozenset(
        row
        for at, row in enumerate(engine.rows.tolist())
        if now.get(row) != then[at * size : at * size + size]
    )


def _unlike(places: NDArray[np.int64], vectors: PackedRows, wanted: int) -> NDArray[np.int64]:
    kept: list[int] = []
    for place in places.tolist():
        if len(kept) == wanted:
            break
        if not is_near(vectors.at(place), vectors.at(kept), _EQUAL):
            kept.append(place)
    return np.array(kept, np.int64)
