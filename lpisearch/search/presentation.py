"""Presentation: scores to an answer with its hits, notes and facets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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
from lpisearch.search.ranking import alphabet_ranks, best, rank_of, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.model.documents import Details
    from lpisearch.search.engine import Scores
    from lpisearch.search.query import Query
    from lpisearch.search.snapshot import Snapshot

    Chosen = dict[int, Details | None]

_MORE = 10
_GROUPED = 1000
_FEWEST_WORDS = 5
_AT_ONCE = 100
_READ_AT_ONCE = 50  # the most documents whose texts are read while they are chosen
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
    hits = _hits(chosen, scores, query, snapshot, options, twins=twins)
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
    findable = _findable(scores, options)
    hidden = 0 if twins is None else twins.hidden(findable)
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
) -> tuple[Chosen, int]:
    """Choose a page of all documents that may be found in the order of the options.

    Of equals the better comes first, and of several twins the first stands for all.
    """
    numbers = _findable(scores, options)
    ranks = snapshot.sort_ranks(options.sort, scores.rows[numbers])
    numbers = numbers[np.lexsort((numbers, -rounded(scores.total[numbers]), ranks))]
    if twins is not None:
        groups = twins.groups[numbers].astype(np.int64)
        groups = np.where(groups < 0, -1 - np.arange(len(groups)), groups)
        numbers = numbers[np.sort(np.unique(groups, return_index=True)[1])]
    end = options.offset + options.k
    chosen: Chosen = dict.fromkeys(numbers[: options.offset].tolist())
    changed = 0
    page = numbers[options.offset : end].tolist()
    for number, details in _details(scores, snapshot, page, with_text=options.k <= _READ_AT_ONCE):
        changed += details is None
        if details is not None:
            chosen[number] = details if options.k <= _READ_AT_ONCE else None
    return chosen, changed


def select(
    scores: Scores, snapshot: Snapshot, options: SearchOptions, twins: _Twins | None
) -> tuple[Chosen, int]:
    """Choose the best documents that are unchanged, and with `collapse` one of several twins.

    Returns
    -------
    tuple
        Their numbers in order, also those before the offset, each with its details if these were
        read with their texts; and how many were skipped because they changed or are gone.
    """
    needed = count = _needed(options)
    while True:
        chosen, changed = _select(scores, snapshot, options, twins, count)
        if len(chosen) >= needed or count >= len(scores.rows) or not needed:
            return chosen, changed
        count = 2 * count + _MORE


def _select(
    scores: Scores,
    snapshot: Snapshot,
    options: SearchOptions,
    twins: _Twins | None,
    count: int,
) -> tuple[Chosen, int]:
    chosen: Chosen = {}
    changed = 0
    seen: set[int] = set()
    needed = _needed(options)
    with_text = needed <= _READ_AT_ONCE
    numbers = _best(scores, snapshot, count)
    for number, details in _details(scores, snapshot, numbers, with_text=with_text):
        if options.min_score is not None and _rounded(scores.total, number) < options.min_score:
            break
        group = -1 if twins is None else twins.group(number)
        if details is None:
            changed += 1
        elif group < 0 or group not in seen:
            chosen[number] = details if with_text else None
            seen.add(group)
        if len(chosen) == needed:
            break
    return chosen, changed


def _needed(options: SearchOptions) -> int:
    """Return how many documents are chosen: those before the offset, too."""
    return options.offset + options.k if options.k else 0


def _best(scores: Scores, snapshot: Snapshot, count: int) -> list[int]:
    """Return the numbers of the best documents in order."""

    def ranks_of_ids(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        rows = scores.rows[numbers].tolist()
        details = snapshot.transaction.documents.details(rows, characters=0)
        return alphabet_ranks([details[row].id if row in details else "" for row in rows])

    numbers: list[int] = best(scores.total, count, ranks_of_ids, scores.candidates).tolist()
    return numbers


def _details(
    scores: Scores, snapshot: Snapshot, numbers: list[int], *, with_text: bool
) -> Iterator[tuple[int, Details | None]]:
    """Yield each number with its document, or None if that is gone or has changed."""
    for start in range(0, len(numbers), _AT_ONCE):
        some = numbers[start : start + _AT_ONCE]
        rows = [int(scores.rows[number]) for number in some]
        characters = _TEXT if with_text else 0
        read = snapshot.transaction.documents.details(rows, characters=characters)
        for number, row in zip(some, rows, strict=True):
            details = read.get(row)
            if details is not None and scores.hashes is not None:
                same = details.content_hash == scores.hashes[number].tobytes()
                details = details if same else None
            yield number, details


def _hits(
    chosen: Mapping[int, Details | None],
    scores: Scores,
    query: Query,
    snapshot: Snapshot,
    options: SearchOptions,
    *,
    twins: _Twins | None,
) -> tuple[Hit, ...]:
    """Return what is shown of the chosen documents."""
    documents = snapshot.transaction.documents
    numbers = list(chosen)[options.offset :]
    sections = documents.sections([int(scores.rows[number]) for number in numbers])
    passages = Passages(snapshot, query, scores, sections)
    explains = options.explain and snapshot.engine is not None
    explainer = HitExplainer(snapshot, query, passages) if explains else None
    read = {int(scores.rows[number]): chosen[number] for number in numbers}
    unread = [row for row, details in read.items() if details is None]
    details = read | (documents.details(unread, _TEXT) if unread else {})
    findable = _findable(scores, options) if twins else None
    bm25_leg, cosine_leg = _Leg(scores.bm25, scores), _Leg(scores.cosines, scores)
    hits = []
    for rank, number in enumerate(numbers, start=options.offset + 1):
        shown = details[int(scores.rows[number])]
        if shown is None:
            continue
        bm25, bm25_rank = bm25_leg.of(number)
        cosine, cosine_rank = cosine_leg.of(number)
        others = twins.others(number, findable) if twins else 0
        versions = twins.versions(number, findable) if twins else 0
        hits.append(
            Hit(
                rank=rank,
                id=shown.id,
                title=shown.title,
                labels=shown.labels,
                path=shown.path,
                date=shown.date,
                score=_rounded(scores.total, number),
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
        tokens = snapshot.transaction.corpus.tokens(scores.rows[numbers].tolist())
        first: dict[frozenset[str], int] = {}
        for number, own in zip(numbers, map(frozenset, map(str.split, tokens)), strict=True):
            if len(own) >= _FEWEST_WORDS:
                groups[number] = first.setdefault(own, number)
        return cls(groups)

    def group(self, number: int) -> int:
        """Return the group of a document."""
        return int(self.groups[number])

    def others(self, number: int, findable: NDArray[np.int64] | None) -> int:
        """Return how many other documents that may be found are in the group of a document."""
        group = self.group(number)
        if group < 0 or findable is None:
            return 0
        return max(int(np.count_nonzero(self.groups[findable] == group)) - 1, 0)

    def versions(self, number: int, findable: NDArray[np.int64] | None) -> int:
        """Return how many other documents that may be found are versions of a document."""
        if self.same is None or self.same is self.groups or findable is None:
            return 0
        alike = np.count_nonzero(self.same[findable] == self.same[number])
        return max(self.others(number, findable) - int(alike) + 1, 0)

    def hidden(self, findable: NDArray[np.int64]) -> int:
        """Return how many of the documents that may be found are not the first of their group."""
        groups = self.groups[findable]
        grouped = groups[groups >= 0]
        return len(grouped) - len(np.unique(grouped))


def _rounded(scores: NDArray[np.float32], number: int) -> float:
    return float(rounded(scores[number : number + 1])[0])


class _Leg:
    """The scores of one leg, and the ranks among the documents that may be found."""

    def __init__(self, values: NDArray[np.float32] | None, scores: Scores) -> None:
        self._values = values
        self._candidates = scores.candidates

    def of(self, number: int) -> tuple[float | None, int | None]:
        """Return the score of a document, and its rank."""
        if self._values is None:
            return None, None
        return _rounded(self._values, number), rank_of(self._pool, float(self._values[number]))

    @cached_property
    def _pool(self) -> NDArray[np.float32]:
        assert self._values is not None  # noqa: S101
        return self._values if self._candidates is None else self._values[self._candidates]
