"""Batch: many queries answered from one snapshot."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.errors import BadOption
from lpisearch.model.documents import Filter
from lpisearch.options import RELEVANCE, SearchOptions
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
    is_near,
    rounded,
    shown_among,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from numpy.typing import NDArray

    from lpisearch.model.answers import Run
    from lpisearch.numeric.packed_rows import PackedRows
    from lpisearch.search.engine import Engine
    from lpisearch.search.session import Session
    from lpisearch.search.snapshot import Snapshot
    from lpisearch.storage.store import ReadTransaction


_AT_ONCE = 512
_EQUAL = 0.999  # stricter than for hits, whose words are compared too


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
    signs in the queries have no meaning. `engine` replaces that of the library's index.
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
        if engine is None:
            for (name, _), query in zip(texts, queries, strict=True):
                yield name, self._by_words(query)
            return
        totals = engine.batch(queries, options.by, options.semantic_weight)
        for (name, _), query, total in zip(texts, queries, totals, strict=True):
            yield name, self._ranked(engine, query, total)

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
        evidence = total > 0 if options.by == "lexical" else None
        candidates = shown_among(evidence, allowed_rows(query, engine.index.document_rows))
        needed = options.offset + options.k
        count = len(total) if options.collapse else needed
        chosen = best(total, count, self._ranks.__getitem__, candidates)
        if options.collapse:
            chosen = _unlike(chosen, engine.index.packed_vectors, needed)
        return self._named([self._names[number] for number in chosen.tolist()], total[chosen])

    def _by_words(self, query: Query) -> list[tuple[str, float]]:
        scores = by_words(query, self._snapshot)
        names = [self._ids[key] for key in scores.rows.tolist()]
        needed = self._options.offset + self._options.k
        chosen = best(scores.total, needed, alphabet_ranks(names).__getitem__)
        return self._named([names[number] for number in chosen.tolist()], scores.total[chosen])

    def _named(self, names: list[str], scores: NDArray[np.float32]) -> list[tuple[str, float]]:
        least = self._options.min_score
        pairs = list(zip(names, rounded(scores).tolist(), strict=True))[self._options.offset :]
        return [pair for pair in pairs if least is None or pair[1] >= least]


def _changed(transaction: ReadTransaction, engine: Engine) -> frozenset[int]:
    """Return the keys of indexed documents that have changed or are gone."""
    now = transaction.corpus.content_hashes(Filter())
    hashes = engine.index.content_hashes
    indexed, size = hashes.tobytes(), hashes.shape[1]
    return frozenset(
        key
        for at, key in enumerate(engine.index.document_rows.tolist())
        if now.get(key) != indexed[at * size : at * size + size]
    )


def _unlike(numbers: NDArray[np.int64], vectors: PackedRows, needed: int) -> NDArray[np.int64]:
    """Return the first documents that differ from all before them."""
    chosen: list[int] = []
    for number in numbers.tolist():
        if len(chosen) == needed:
            break
        if not is_near(vectors.at(number), vectors.at(chosen), _EQUAL):
            chosen.append(number)
    return np.array(chosen, np.int64)
