"""Run many queries at once with matrix products, returning ids only."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.indexes.scoring.scores import Scores
from lpisearch.records import Filter
from lpisearch.search.notes import CHANGED, about_queries, about_words, unheard, why_no_index
from lpisearch.search.ranking import alphabet_ranks, best, is_near, rounded
from lpisearch.search.rankings import among
from lpisearch.search.request import plain_request_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from lpisearch.compute.packed_rows import PackedRows
    from lpisearch.indexes.scoring.engine import Engine
    from lpisearch.records import Run
    from lpisearch.search.request import Request
    from lpisearch.search.view import View
    from lpisearch.settings import SearchOptions
    from lpisearch.storage import Snapshot

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


def _changed(snapshot: Snapshot, engine: Engine) -> frozenset[int]:
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
