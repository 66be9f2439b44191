"""From scores to the hits that are shown: only documents that are still as they were ranked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lpisearch.records import Details, Hit
from lpisearch.search.ranking import alphabet_ranks, best, is_near, rank_of, rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.records import Passage
    from lpisearch.search.engine import Scores
    from lpisearch.settings import SearchOptions
    from lpisearch.storage import Snapshot

_MORE = 10
_COMMON_WORDS = 0.6  # of two documents that are nearly the same
_AT_ONCE = 100
_READ_AT_ONCE = 50  # up to so many documents are read with their texts as they are chosen
_TEXT = 200_000  # characters that are compared, and looked through for a passage


@dataclass(frozen=True, eq=False, slots=True)
class Ranking:
    """Documents and what ranks them.

    Attributes
    ----------
    rows
        The key of each document in the library.
    scores
        Of each document.
    among
        The places that may be found; None for all.
    hashes
        Each document's content as it was ranked; None if it was read just now.
    vectors
        Documents as rows at unit length, where there is an index.
    """

    rows: NDArray[np.int64]
    scores: Scores
    among: NDArray[np.int64] | None = None
    hashes: NDArray[np.uint8] | None = None
    vectors: NDArray[np.float32] | None = None


@dataclass(slots=True)
class Selection:
    """The documents to show.

    Attributes
    ----------
    places
        In order, those before the offset too.
    changed
        How many were passed over since they changed or went after they were ranked.
    details
        Of the places, if they were read with their texts.
    """

    places: list[int] = field(default_factory=list)
    changed: int = 0
    details: dict[int, Details] = field(default_factory=dict)


def select(snapshot: Snapshot, ranking: Ranking, options: SearchOptions) -> Selection:
    """Choose the documents to show: the best that are still what they were, and not too alike."""
    wanted = options.offset + options.k if options.k else 0
    count = wanted
    while True:
        found = _select(snapshot, ranking, options, wanted, count)
        if len(found.places) >= wanted or count >= len(ranking.rows) or not wanted:
            return found
        count = 2 * count + _MORE


def as_hits(
    snapshot: Snapshot,
    ranking: Ranking,
    selection: Selection,
    options: SearchOptions,
    passage: Callable[..., Passage],
) -> tuple[Hit, ...]:
    """Return what is shown of the chosen documents; `passage` is told `has_word`."""
    places = selection.places[options.offset :]
    read = {int(ranking.rows[place]): selection.details.get(place) for place in places}
    unread = [row for row, details in read.items() if details is None]
    details = read | (snapshot.documents.details(unread, _TEXT) if unread else {})
    hits = []
    for rank, place in enumerate(places, start=options.offset + 1):
        shown = details[int(ranking.rows[place])]
        if shown is None:
            continue
        bm25, bm25_rank = _leg(ranking.scores.bm25, place, ranking.among)
        cosine, cosine_rank = _leg(ranking.scores.cosines, place, ranking.among)
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
                snippet=passage(shown, has_word=bool(bm25)),
            )
        )
    return tuple(hits)


def _select(
    snapshot: Snapshot, ranking: Ranking, options: SearchOptions, wanted: int, count: int
) -> Selection:
    def ranks_of_ids(places: NDArray[np.int64]) -> NDArray[np.int64]:
        rows = ranking.rows[places].tolist()
        found = snapshot.documents.details(rows, characters=0)
        return alphabet_ranks([found[row].id if row in found else "" for row in rows])

    selection = Selection()
    alike = _Alike(ranking) if options.collapse else None
    with_text = options.collapse or wanted <= _READ_AT_ONCE
    places = best(ranking.scores.by, count, ranks_of_ids, ranking.among)
    for place, details in _details(snapshot, ranking, places.tolist(), with_text=with_text):
        if options.min_score is not None and _score(ranking.scores.by, place) < options.min_score:
            break
        if details is None:
            selection.changed += 1
        elif alike is None or alike.is_new(place, details):
            selection.places.append(place)
            if with_text:
                selection.details[place] = details
        if len(selection.places) == wanted:
            break
    return selection


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


class _Alike:
    """Knows the documents that are shown already."""

    def __init__(self, ranking: Ranking) -> None:
        self._vectors = ranking.vectors
        self._shown: dict[int, frozenset[str]] = {}
        self._texts: set[tuple[str, str]] = set()

    def is_new(self, place: int, details: Details) -> bool:
        """Tell whether a document differs from those shown; if so, it is shown too."""
        text = (details.title, details.text)
        if text in self._texts:
            return False
        words = frozenset(f"{details.title} {details.text}".casefold().split())
        if self._vectors is not None:
            # In a subspace all documents of one topic may lie close together: words must agree.
            alike = [at for at, seen in self._shown.items() if _share(words, seen) >= _COMMON_WORDS]
            if is_near(self._vectors[place], self._vectors[alike]):
                return False
            self._shown[place] = words
        self._texts.add(text)
        return True


def _share(words: frozenset[str], others: frozenset[str]) -> float:
    return len(words & others) / max(len(words | others), 1)


def _score(scores: NDArray[np.float32], place: int) -> float:
    return float(rounded(scores[place : place + 1])[0])


def _leg(
    scores: NDArray[np.float32] | None, place: int, among: NDArray[np.int64] | None
) -> tuple[float | None, int | None]:
    if scores is None:
        return None, None
    return _score(scores, place), rank_of(scores, float(scores[place]), among)
