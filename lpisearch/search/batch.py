"""Batch: many queries answered from one snapshot."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, repeat
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.errors import BadOption
from lpisearch.model.documents import Filter
from lpisearch.numeric.rows import REMOVED
from lpisearch.options import RELEVANCE, SearchOptions
from lpisearch.search.compounds import compound_bonus
from lpisearch.search.notes import (
    CHANGED,
    about_queries,
    about_words,
    check_labels,
    check_options,
    ignore_note,
    out_of_date,
    why_no_index,
)
from lpisearch.search.query import Query, parse_prose
from lpisearch.search.ranking import (
    allowed_rows,
    alphabet_ranks,
    best,
    by_words,
    demoted_numbers,
    halved,
    rounded,
    score,
    shown_among,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from numpy.typing import NDArray

    from lpisearch.model.answers import Run
    from lpisearch.search.engine import Engine
    from lpisearch.search.session import Session
    from lpisearch.search.snapshot import Snapshot
    from lpisearch.storage.store import ReadTransaction


_AT_ONCE = 512


def answer_batch(
    session: Session,
    queries: Iterable[tuple[str, str]],
    options: SearchOptions,
    *,
    engine: Engine | None = None,
    on_note: Callable[[str], None] = ignore_note,
) -> Generator[Run, None, None]:
    """Answer queries, given as (id, text); yield (query id, [(document id, score), …]).

    The answers are those of a search, up to the rounding of a matrix product, but quotes and minus
    signs in the queries have no meaning, and twins are not collapsed. `engine` replaces that of the
    library's index.
    """
    if options.sort != RELEVANCE:
        raise BadOption("sort", "batch results are always sorted by score")
    check_options(options)
    with session.snapshot(options.index) as snapshot:
        check_labels(options.where, snapshot)
        snapshot.engine = engine or snapshot.engine
        if options.by == "semantic":
            snapshot.require_engine()
        yield from _Batch(snapshot, options, on_note).answers(queries)


class _Batch:
    """The answers from one snapshot."""

    def __init__(
        self, snapshot: Snapshot, options: SearchOptions, on_note: Callable[[str], None]
    ) -> None:
        self._snapshot, self._options, self._on_note = snapshot, options, on_note
        self._remarks: list[tuple[str, str]] = []
        self._ids = snapshot.transaction.documents.ids()
        self._allowed = snapshot.matching(options.where)
        self._excluded: frozenset[int] = frozenset()
        engine = snapshot.engine
        if engine is not None:
            self._names = [self._ids.get(key, "") for key in engine.index.document_rows.tolist()]
            self._ranks = alphabet_ranks(self._names)
            self._excluded = _changed(snapshot.transaction, engine)

    def answers(self, queries: Iterable[tuple[str, str]]) -> Iterator[Run]:
        """Yield the answer to each query."""
        changed = CHANGED if self._excluded else ""
        self._note(why_no_index(self._snapshot), out_of_date(self._snapshot), changed)
        remaining, number = iter(queries), 0
        while some := list(islice(remaining, _AT_ONCE)):
            yield from self._answer(some)
            number += len(some)
        self._note(*about_queries(self._remarks, number))

    def _note(self, *notes: str) -> None:
        for note in filter(None, notes):
            self._on_note(note)

    def _answer(self, texts: list[tuple[str, str]]) -> Iterator[Run]:
        engine, options = self._snapshot.engine, self._options
        queries = [self._query(name, text) for name, text in texts]
        found: Iterable[list[tuple[str, float]]]
        totals: Iterable[NDArray[np.float32]]
        if engine is None or not engine.has_all:
            found = map(self._by_words if engine is None else self._by_candidates, queries)
        elif self._encoder_helps(engine):
            totals = (score(query, self._snapshot, options).total for query in queries)
            found = map(self._ranked, repeat(engine), queries, totals)
        else:
            totals = engine.batch(queries, options.by, options.semantic_weight)
            totals = map(self._finished, repeat(engine), queries, totals)
            found = map(self._ranked, repeat(engine), queries, totals)
        yield from zip((name for name, _ in texts), found, strict=True)

    def _finished(
        self, engine: Engine, query: Query, total: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return scores with the bonus of compounds, those of demoted documents halved."""
        rows = engine.index.document_rows
        bonus = compound_bonus(total, rows, query, self._snapshot, self._options.by)
        total = total if bonus is None else total + bonus
        demoted = demoted_numbers(rows, query, self._snapshot)
        return halved(total, demoted.values()) if demoted else total

    def _encoder_helps(self, engine: Engine) -> bool:
        """Tell whether the user's encoder counts; note why it does not if the index has one."""
        if self._options.by != "hybrid" or self._options.no_encoder or engine.encoded is None:
            return False
        encoder, note = self._snapshot.encoder()
        self._note(note)
        return encoder is not None

    def _query(self, name: str, text: str) -> Query:
        query = parse_prose(text, self._snapshot)
        if remark := about_words(query, self._snapshot, self._options.by):
            self._remarks.append((name, remark))
        return replace(query, allowed=self._allowed, excluded=self._excluded)

    def _ranked(
        self, engine: Engine, query: Query, total: NDArray[np.float32]
    ) -> list[tuple[str, float]]:
        options = self._options
        if not query.is_known(options.by):
            return []
        rows, evidence = engine.index.document_rows, total > 0 if options.by == "lexical" else None
        if evidence is None and len(engine.index.removed):
            evidence = rows != REMOVED
        candidates = shown_among(evidence, allowed_rows(query, rows))
        return self._named(self._names, total, self._ranks, candidates)

    def _by_candidates(self, query: Query) -> list[tuple[str, float]]:
        """Answer from the candidates that a database finds."""
        scores = score(query, self._snapshot, self._options)
        stored = np.array([key in self._ids for key in scores.rows.tolist()], np.bool_)
        names = [self._ids.get(key, "") for key in scores.rows.tolist()]
        evidence = scores.total > 0 if self._options.by == "lexical" else stored
        candidates = shown_among(evidence & stored, allowed_rows(query, scores.rows))
        return self._named(names, scores.total, alphabet_ranks(names), candidates)

    def _by_words(self, query: Query) -> list[tuple[str, float]]:
        scores = by_words(query, self._snapshot)
        names = [self._ids[key] for key in scores.rows.tolist()]
        return self._named(names, scores.total, alphabet_ranks(names))

    def _named(
        self,
        names: list[str],
        total: NDArray[np.float32],
        ranks: NDArray[np.int64],
        candidates: NDArray[np.int64] | None = None,
    ) -> list[tuple[str, float]]:
        """Return the ids and the scores of the best documents in order."""
        options = self._options
        chosen = best(total, options.offset + options.k, ranks.__getitem__, candidates)
        chosen, least = chosen[options.offset :], options.min_score
        found = zip(chosen.tolist(), rounded(total[chosen]).tolist(), strict=True)
        return [(names[at], value) for at, value in found if least is None or value >= least]


def _changed(transaction: ReadTransaction, engine: Engine) -> frozenset[int]:
    """Return the keys of indexed documents that have changed or are gone."""
    now = transaction.corpus.content_hashes(Filter())
    hashes = engine.index.content_hashes
    indexed, size = hashes.tobytes(), hashes.shape[1]
    return frozenset(
        key
        for at, key in enumerate(engine.index.document_rows.tolist())
        if key != REMOVED and now.get(key) != indexed[at * size : at * size + size]
    )
