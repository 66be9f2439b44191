"""Turn scores into results, dropping documents that changed meanwhile."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lpisearch.records import Details, Hit
from lpisearch.search.ranking import alphabet_ranks, best, is_near, rank_of, rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from lpisearch.records import Explanation, Passage
    from lpisearch.search.rankings import Ranking
    from lpisearch.settings import SearchOptions
    from lpisearch.storage import Snapshot

    Chosen = dict[int, Details | None]

_MORE = 10
_COMMON_WORDS = 0.6  # of two documents that are nearly the same
_AT_ONCE = 100
_READ_AT_ONCE = 50  # up to so many documents are read with their texts as they are chosen
_TEXT = 200_000  # characters that are compared, and looked through for a passage


def select(snapshot: Snapshot, ranking: Ranking, options: SearchOptions) -> tuple[Chosen, int]:
    """Choose the documents to show: the best that are still what they were, and not too alike.

    Returns
    -------
    tuple
        The places in order, those before the offset too, each with its details if these were
        read with their texts; and how many were passed over since they changed or went.
    """
    wanted = options.offset + options.k if options.k else 0
    count = wanted
    while True:
        chosen, changed = _select(snapshot, ranking, options, wanted, count)
        if len(chosen) >= wanted or count >= len(ranking.rows) or not wanted:
            return chosen, changed
        count = 2 * count + _MORE


def as_hits(
    snapshot: Snapshot,
    ranking: Ranking,
    chosen: Mapping[int, Details | None],
    options: SearchOptions,
    passages: Callable[..., tuple[Passage, ...]],
    *,
    explain: Callable[[int, Details], Explanation] | None = None,
) -> tuple[Hit, ...]:
    """Return what is shown of the chosen documents.

    `passages` is told of each `has_word`; it and `explain` are told its place in the ranking.
    """
    places = list(chosen)[options.offset :]
    read = {int(ranking.rows[place]): chosen[place] for place in places}
    unread = [row for row, details in read.items() if details is None]
    details = read | (snapshot.documents.details(unread, _TEXT) if unread else {})
    bm25_leg, cosine_leg = _Leg(ranking.scores.bm25, ranking), _Leg(ranking.scores.cosines, ranking)
    hits = []
    for rank, place in enumerate(places, start=options.offset + 1):
        row = int(ranking.rows[place])
        shown = details[row]
        if shown is None:
            continue
        bm25, bm25_rank = bm25_leg.of(place)
        cosine, cosine_rank = cosine_leg.of(place)
        hits.append(
            Hit(
                rank=rank,
                id=shown.id,
                title=shown.title,
                labels=shown.labels,
                path=shown.path,
                date=shown.date,
                score=_score(ranking.scores.by, place),
                cosine=cosine,
                bm25=bm25,
                cosine_rank=cosine_rank,
                bm25_rank=bm25_rank if bm25 else None,
                passages=passages(place, shown, has_word=bool(bm25)),
                explanation=explain(place, shown) if explain else None,
                predicted=shown.predicted,
            )
        )
    return tuple(hits)


def _select(
    snapshot: Snapshot, ranking: Ranking, options: SearchOptions, wanted: int, count: int
) -> tuple[Chosen, int]:
    def ranks_of_ids(places: NDArray[np.int64]) -> NDArray[np.int64]:
        rows = ranking.rows[places].tolist()
        found = snapshot.documents.details(rows, characters=0)
        return alphabet_ranks([found[row].id if row in found else "" for row in rows])

    chosen: Chosen = {}
    changed = 0
    alike = Alike() if options.collapse else None
    with_text = options.collapse or wanted <= _READ_AT_ONCE
    places = best(ranking.scores.by, count, ranks_of_ids, ranking.among)
    for place, details in _details(snapshot, ranking, places.tolist(), with_text=with_text):
        if options.min_score is not None and _score(ranking.scores.by, place) < options.min_score:
            break
        if details is None:
            changed += 1
        elif alike is None or alike.is_new(Traits.of(ranking, place, details)):
            chosen[place] = details if with_text else None
        if len(chosen) == wanted:
            break
    return chosen, changed


def _details(
    snapshot: Snapshot, ranking: Ranking, places: list[int], *, with_text: bool
) -> Iterator[tuple[int, Details | None]]:
    """Yield each place with its document, or None if that is gone or has changed."""
    for start in range(0, len(places), _AT_ONCE):
        some = places[start : start + _AT_ONCE]
        rows = [int(ranking.rows[place]) for place in some]
        found = snapshot.documents.details(rows, characters=_TEXT if with_text else 0)
        for place, row in zip(some, rows, strict=True):
            details = found.get(row)
            if details is not None and ranking.hashes is not None:
                same = details.content_hash == ranking.hashes[place].tobytes()
                details = details if same else None
            yield place, details


class Traits(NamedTuple):
    """By what it is told whether two documents are nearly the same.

    Attributes
    ----------
    text
        Title and text.
    words
        All words of both.
    vector
        Its place; None where there is no index.
    """

    text: tuple[str, str]
    words: frozenset[str]
    vector: NDArray[np.float32] | None

    @classmethod
    def of(cls, ranking: Ranking, place: int, details: Details) -> Traits:
        """Look at a document."""
        words = frozenset(f"{details.title} {details.text}".casefold().split())
        vector = None if ranking.vectors is None else ranking.vectors.at(place)
        return cls((details.title, details.text), words, vector)


class Alike:
    """Knows the documents that are shown already."""

    def __init__(self) -> None:
        self._shown: list[Traits] = []
        self._texts: set[tuple[str, str]] = set()

    def is_new(self, traits: Traits) -> bool:
        """Tell whether a document differs from those shown; if so, it is shown too."""
        if traits.text in self._texts:
            return False
        if traits.vector is not None:
            # In a subspace all documents of one topic may lie close together: words must agree.
            alike = [
                seen.vector
                for seen in self._shown
                if seen.vector is not None and _share(traits.words, seen.words) >= _COMMON_WORDS
            ]
            if alike and is_near(traits.vector, np.stack(alike)):
                return False
            self._shown.append(traits)
        self._texts.add(traits.text)
        return True


def _share(words: frozenset[str], others: frozenset[str]) -> float:
    return len(words & others) / max(len(words | others), 1)


def _score(scores: NDArray[np.float32], place: int) -> float:
    return float(rounded(scores[place : place + 1])[0])


class _Leg:
    """The scores of one leg, and those of the documents that may be found."""

    def __init__(self, scores: NDArray[np.float32] | None, ranking: Ranking) -> None:
        self._scores = scores
        self._among = ranking.among

    def of(self, place: int) -> tuple[float | None, int | None]:
        """Return the score of a place, and its rank."""
        if self._scores is None:
            return None, None
        return _score(self._scores, place), rank_of(self._pool, float(self._scores[place]))

    @cached_property
    def _pool(self) -> NDArray[np.float32]:
        assert self._scores is not None  # noqa: S101
        return self._scores if self._among is None else self._scores[self._among]
