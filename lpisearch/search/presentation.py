"""Presentation: scores to an answer with its hits, notes and facets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.model.answers import Answer, Hit
from lpisearch.options import RELEVANCE, SearchOptions
from lpisearch.search.explanation import HitExplainer, encoder_leg
from lpisearch.search.notes import (
    CHANGED,
    about_correction,
    about_words,
    out_of_date,
    why_no_index,
    why_none,
)
from lpisearch.search.passages import Passages
from lpisearch.search.ranking import alphabet_ranks, best, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.search.engine import Scores
    from lpisearch.search.query import Query
    from lpisearch.search.snapshot import Snapshot

_MORE = 10
_GROUPED = 1000
_FEWEST_WORDS = 5
_TEXT = 200_000  # characters that are compared, and searched for a passage


def present(
    scores: Scores, query: Query, snapshot: Snapshot, options: SearchOptions, base: str = ""
) -> Answer:
    """Return the best documents with their passages, and what the user should know.

    `base` is the folder below which folders are counted.
    """
    twins = _Twins.of(scores, snapshot) if options.collapse else None
    if options.sort == RELEVANCE:
        chosen, changed = select(scores, snapshot, options, twins)
    else:
        chosen, changed = _select_sorted(scores, snapshot, options, twins)
    findable = _findable(scores, options)
    alike = None if twins is None else twins.sizes(findable)
    hits = _hits(
        chosen, scores, query, snapshot, options, twins=twins, alike=alike, findable=findable
    )
    notes = (
        about_correction(query),
        *query.notes,
        *scores.notes,
        why_no_index(snapshot),
        about_words(query, snapshot, scores.by),
        out_of_date(snapshot),
        _about_dates(hits, options),
        CHANGED if changed else "",
        "" if hits else why_none(snapshot.transaction, options.where),
    )
    hidden = 0 if alike is None else int(alike.sum()) - int(np.count_nonzero(alike))
    total, end = len(findable) - hidden, options.offset + options.k
    return Answer(
        hits,
        scores.by,
        tuple(filter(None, notes)),
        query.unknown,
        snapshot.facets(scores.rows[findable], base) if options.facets else None,
        corrected=query.text if query.misspelt else "",
        hidden=hidden,
        total=total,
        next=end if options.k > 0 and end < total else None,
    )


def _about_dates(hits: Sequence[Hit], options: SearchOptions) -> str:
    """State whose date counts for documents without one, where dates count."""
    by_date = options.sort in {"date", "oldest"} or options.where.since or options.where.until
    number = sum(bool(hit.file_date) for hit in hits)
    if not number or not by_date:
        return ""
    return f"Without a date of their own: {number:,}; the time of the file counts"


def _findable(scores: Scores, options: SearchOptions) -> NDArray[np.int64]:
    """Return the numbers of all documents that may be found, also those that `collapse` hides."""
    numbers = np.arange(len(scores.rows)) if scores.candidates is None else scores.candidates
    if options.min_score is not None:
        numbers = numbers[rounded(scores.total[numbers]) >= options.min_score]
    return numbers


def _select_sorted(
    scores: Scores, snapshot: Snapshot, options: SearchOptions, twins: _Twins | None
) -> tuple[list[int], int]:
    """Choose a page of all documents that may be found in the order of the options.

    Of equals the better comes first, and of several twins the first stands for all.
    """
    numbers = _findable(scores, options)
    ranks = snapshot.sort_ranks(options.sort, scores.rows[numbers])
    numbers = numbers[np.lexsort((numbers, -rounded(scores.total[numbers]), ranks))]
    if twins is not None:
        numbers = numbers[twins.first_ones(numbers)]
    page = numbers[options.offset : options.offset + options.k]
    stays = _as_indexed(scores, snapshot, page)
    return [*numbers[: options.offset].tolist(), *page[stays].tolist()], int((~stays).sum())


def select(
    scores: Scores, snapshot: Snapshot, options: SearchOptions, twins: _Twins | None
) -> tuple[list[int], int]:
    """Choose the best documents that are unchanged, and with `collapse` one of several twins.

    Returns
    -------
    tuple
        Their numbers in order, also those before the offset; and how many were skipped because
        they changed or are gone.
    """
    needed = count = options.offset + options.k if options.k else 0
    while True:
        numbers = _best(scores, snapshot, count)
        if options.min_score is not None:
            numbers = numbers[rounded(scores.total[numbers]) >= options.min_score]
        ended = count >= len(scores.rows) or len(numbers) < count
        if ended or twins is None or len(twins.first_ones(numbers)) >= needed:
            chosen, changed = _unchanged(numbers, needed, scores, snapshot, twins)
            if ended or len(chosen) >= needed:
                return chosen, changed
        count = 2 * count + _MORE


def _unchanged(
    numbers: NDArray[np.int64],
    needed: int,
    scores: Scores,
    snapshot: Snapshot,
    twins: _Twins | None,
) -> tuple[list[int], int]:
    """Choose the first documents that are as they were indexed, one of several twins."""
    chosen: list[int] = []
    changed, every = 0, numbers.tolist()
    while len(chosen) < needed and len(numbers):
        firsts = np.arange(len(numbers)) if twins is None else twins.first_ones(numbers)
        firsts = firsts[: needed - len(chosen)]
        stays = _as_indexed(scores, snapshot, numbers[firsts])
        chosen += numbers[firsts[stays]].tolist()
        changed += int((~stays).sum())
        # A twin of a document that has changed stands for it.
        numbers = np.delete(numbers, firsts)
        if twins is not None and len(chosen) < needed:
            numbers = numbers[~twins.has_one_of(chosen, numbers)]
    found = set(chosen)
    return [number for number in every if number in found], changed


def _best(scores: Scores, snapshot: Snapshot, count: int) -> NDArray[np.int64]:
    """Return the numbers of the best documents in order."""

    def ranks_of_ids(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        rows = scores.rows[numbers].tolist()
        known = snapshot.transaction.documents.identities(rows)
        return alphabet_ranks([known.get(row, ("", b""))[0] for row in rows])

    return best(scores.total, count, ranks_of_ids, scores.candidates)


def _as_indexed(
    scores: Scores, snapshot: Snapshot, numbers: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Tell which documents are there, and did not change since they were indexed."""
    rows = scores.rows[numbers].tolist()
    known = snapshot.transaction.documents.identities(rows)
    own = [known[row][1] if row in known else b"" for row in rows]
    indexed = own if scores.hashes is None else [*map(bytes, scores.hashes[numbers])]
    return np.array(
        [one > b"" and one == of for one, of in zip(own, indexed, strict=True)], np.bool_
    )


def _hits(
    chosen: Sequence[int],
    scores: Scores,
    query: Query,
    snapshot: Snapshot,
    options: SearchOptions,
    *,
    twins: _Twins | None,
    alike: NDArray[np.int64] | None,
    findable: NDArray[np.int64],
) -> tuple[Hit, ...]:
    """Return what is shown of the chosen documents."""
    numbers = chosen[options.offset :]
    rows = scores.rows[numbers].tolist()
    details = snapshot.transaction.documents.details(rows, _TEXT)
    sections = snapshot.sections(rows)
    passages = Passages(snapshot, query, scores, sections, options.passages)
    explains = options.explain and snapshot.engine
    explainer = HitExplainer(snapshot, query, passages) if explains else None
    bm25_leg, cosine_leg = (_leg(own, numbers, scores) for own in (scores.bm25, scores.cosines))
    totals = rounded(scores.total[numbers]).tolist()
    hits = []
    for at, number in enumerate(numbers):
        shown = details[rows[at]]
        (bm25, bm25_rank), (cosine, cosine_rank) = bm25_leg[at], cosine_leg[at]
        others = 0 if twins is None or alike is None else twins.others(number, alike)
        versions = 0 if twins is None else twins.versions(number, findable, others)
        hits.append(
            Hit(
                rank=options.offset + at + 1,
                id=shown.id,
                title=shown.title,
                labels=shown.labels,
                path=shown.path,
                date=shown.date,
                score=totals[at],
                cosine=cosine,
                bm25=bm25,
                cosine_rank=cosine_rank,
                bm25_rank=bm25_rank if bm25 else None,
                passages=passages.of(number, shown, has_word=bool(bm25)),
                explanation=explainer.explain(number, shown) if explainer else None,
                predicted=shown.predicted,
                file_date="" if shown.date else shown.file_date,
                alike=others - versions,
                versions=versions,
                demoted=next((why for why, some in scores.demoted.items() if number in some), ""),
                encoder=encoder_leg(scores.encoder, number) if scores.encoder else None,
            )
        )
    return tuple(hits)


@dataclass(frozen=True, eq=False, slots=True)
class _Twins:
    """The groups of documents that are nearly the same text: a number each, -1 for no group.

    The index has them of all its documents; of one page in several languages, the versions are a
    group. Without one, those of the best thousand have equal words; a document beyond is in no
    group.
    """

    groups: NDArray[np.integer]
    same: NDArray[np.integer] | None = None  # the groups without versions

    @classmethod
    def of(cls, scores: Scores, snapshot: Snapshot) -> _Twins:
        engine = snapshot.engine
        if engine is not None and scores.hashes is not None:
            return cls(snapshot.groups, engine.index.twins)
        groups = np.full(len(scores.rows), -1, np.int64)
        numbers = _best(scores, snapshot, _GROUPED)
        tokens = snapshot.transaction.documents.tokens(scores.rows[numbers].tolist())
        first: dict[frozenset[str], int] = {}
        for number, own in zip(numbers, map(frozenset, map(str.split, tokens)), strict=True):
            if len(own) >= _FEWEST_WORDS:
                groups[number] = first.setdefault(own, number)
        return cls(groups)

    def first_ones(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions of the documents that are the first of their group, or in none."""
        groups = self.groups[numbers].astype(np.int64)
        groups = np.where(groups < 0, -1 - np.arange(len(groups)), groups)
        return np.sort(np.unique(groups, return_index=True)[1])

    def has_one_of(self, some: list[int], numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which documents are in a group that one of some others is in."""
        groups = self.groups[numbers]
        return (groups >= 0) & np.isin(groups, self.groups[some])

    def versions(self, number: int, findable: NDArray[np.int64], others: int) -> int:
        """Return how many of the other documents in the group of a document are versions of it."""
        if self.same is None or self.same is self.groups or not others:
            return 0
        own = self.same[number]
        alike = int(np.count_nonzero(self.same[findable] == own)) - 1 if own >= 0 else 0
        return max(others - alike, 0)

    def sizes(self, findable: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many of the documents that may be found are in each group."""
        groups = self.groups[findable]
        return np.bincount(groups[groups >= 0])

    def others(self, number: int, sizes: NDArray[np.int64]) -> int:
        """Return how many other documents that may be found are in the group of a document."""
        group = int(self.groups[number])
        return max(int(sizes[group]) - 1, 0) if 0 <= group < len(sizes) else 0


def _leg(
    values: NDArray[np.float32] | None, numbers: Sequence[int], scores: Scores
) -> list[tuple[float | None, int | None]]:
    """Return the score of documents by one leg, and the ranks among those that may be found."""
    if values is None:
        return [(None, None)] * len(numbers)
    pool = values if scores.candidates is None else values[scores.candidates]
    own = values[numbers]
    ranks = 1 + len(pool) - np.searchsorted(np.sort(pool), own, "right")
    return list(zip(rounded(own).tolist(), ranks.tolist(), strict=True))
