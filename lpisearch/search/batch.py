"""Many queries at once: matrix products instead of one scan a query, and ids instead of hits."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.records import Filter
from lpisearch.search.engine import Scores
from lpisearch.search.opening import Opened
from lpisearch.search.ranking import alphabet_ranks, best, is_near, rounded
from lpisearch.search.searcher import (
    DEFAULTS,
    Request,
    Searcher,
    among,
    check_labels,
    check_options,
)
from lpisearch.storage.sqlite import corpus
from lpisearch.storage.sqlite.matching import allowed_rows, bm25_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from lpisearch.search.engine import Engine
    from lpisearch.settings import SearchOptions

Run = tuple[str, list[tuple[str, float]]]
_AT_ONCE = 512
_EQUAL = 0.999  # stricter than for hits, whose words are compared too


def run_batch(
    library: Path,
    queries: Iterable[tuple[str, str]],
    options: SearchOptions = DEFAULTS,
    *,
    engine: Engine | None = None,
) -> Iterator[Run]:
    """Answer queries, given as (id, text); yield (query id, [(document id, score), …]).

    The answers are those of `run_search`, up to the rounding of a matrix product; but the queries
    of a file are prose, and quotes and minus signs in them ask for nothing.

    Parameters
    ----------
    engine
        Over the same documents, to be used in place of the index of the library.

    Raises
    ------
    BadOption, IndexNotFound, LibraryError
    """
    check_options(options)
    remaining = iter(queries)
    with (
        Searcher.open(library, options.index) as searcher,
        searcher.database.reading() as connection,
    ):
        check_labels(connection, options.where)
        opened = searcher.opened(connection)
        if engine is not None:
            opened = Opened(None, engine)
        batch = _Batch(searcher, connection, opened, options)
        while some := list(islice(remaining, _AT_ONCE)):
            yield from batch.answer(some)


class _Batch:
    def __init__(
        self, searcher: Searcher, connection: Connection, opened: Opened, options: SearchOptions
    ) -> None:
        self._searcher = searcher
        self._connection = connection
        self._opened = opened
        self._options = options
        self._ids = corpus.external_ids(connection)
        self._allowed = allowed_rows(connection, options.where)
        self._left_out: frozenset[int] = frozenset()
        if opened.engine is not None:
            rows = opened.engine.rows.tolist()
            self._names = [self._ids.get(row, "") for row in rows]
            self._ranks = alphabet_ranks(self._names)
            self._left_out = _changed(connection, opened.engine)

    def answer(self, queries: list[tuple[str, str]]) -> Iterator[Run]:
        engine = self._opened.engine
        requests = [self._request(text) for _, text in queries]
        if engine is None:
            for (name, _), request in zip(queries, requests, strict=True):
                yield name, self._by_table(request)
            return
        questions = [request.question for request in requests if request.question is not None]
        by = self._options.by
        scored = engine.batch(questions, by)
        for (name, _), request, scores in zip(queries, requests, scored, strict=True):
            yield name, self._ranked(engine, request, scores)

    def _request(self, text: str) -> Request:
        parsed, question = self._searcher.parse_plain(self._opened, text)
        return Request(parsed.tokens, question, self._allowed, self._left_out)

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
            chosen = _unlike(chosen, engine.vectors, wanted)
        return self._named([self._names[place] for place in chosen.tolist()], scores[chosen])

    def _by_table(self, request: Request) -> list[tuple[str, float]]:
        found = bm25_rows(self._connection, request.tokens, request.allowed)
        scores = np.array([score for _, score in found], np.float32)
        names = [self._ids[row] for row, _ in found]
        wanted = self._options.offset + self._options.k
        chosen = best(scores, wanted, alphabet_ranks(names).__getitem__)
        return self._named([names[place] for place in chosen.tolist()], scores[chosen])

    def _named(self, names: list[str], scores: NDArray[np.float32]) -> list[tuple[str, float]]:
        least = self._options.min_score
        pairs = list(zip(names, rounded(scores).tolist(), strict=True))[self._options.offset :]
        return [pair for pair in pairs if least is None or pair[1] >= least]


def _changed(connection: Connection, engine: Engine) -> frozenset[int]:
    """Return the keys of documents that are no longer as they were indexed."""
    now = corpus.content_hashes(connection, Filter())
    hashes = engine.index.arrays["content_hashes"]
    then = hashes.tobytes()
    size = hashes.shape[1]
    return frozenset(
        row
        for at, row in enumerate(engine.rows.tolist())
        if now.get(row) != then[at * size : at * size + size]
    )


def _unlike(
    places: NDArray[np.int64], vectors: NDArray[np.float32], wanted: int
) -> NDArray[np.int64]:
    kept: list[int] = []
    for place in places.tolist():
        if len(kept) == wanted:
            break
        if not is_near(vectors[place], vectors[kept], _EQUAL):
            kept.append(place)
    return np.array(kept, np.int64)
