"""Scores to ranking, sorting, hits.

Scores are compared to six decimals, so that equal documents tie whatever the processor rounds.
Ties are broken by the document's id, the last in the alphabet first, as TREC does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from lpisearch.index.snapshot import Keys
from lpisearch.model.answers import Hit
from lpisearch.numeric.threads import largest
from lpisearch.options import RELEVANCE
from lpisearch.search.engine import Scores
from lpisearch.text.characters import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from lpisearch.model.answers import Explanation, Passage
    from lpisearch.model.documents import Details
    from lpisearch.numeric.packed_rows import PackedRows
    from lpisearch.options import SearchOptions
    from lpisearch.search.engine import Engine
    from lpisearch.search.query import Question, Request
    from lpisearch.storage.store import ReadTransaction

    Chosen = dict[int, Details | None]


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
    vectors: PackedRows | None = None


def ranks_anything(request: Request, by: str) -> bool:
    """Tell whether the words of a query rank anything."""
    return request.question.is_known(by) if request.question else bool(request.tokens)


def by_index(
    engine: Engine, question: Question, request: Request, by: str, weight: float | None
) -> Ranking:
    """Rank all documents of an index."""
    scored = engine.unit_scores(question, by, feedback=request.feedback, weight=weight)
    return by_scores(engine, scored.scores, request, by)


def by_scores(engine: Engine, units: Scores, request: Request, by: str) -> Ranking:
    """Rank all documents of an index by the scores of its units."""
    scores = units.of_documents(engine.units)
    places = among(engine, request, scores, by)
    return Ranking(engine.rows, scores, places, engine.hashes, engine.places)


def by_table(snapshot: ReadTransaction, request: Request) -> Ranking:
    """Rank by SQLite's own full-text index: it knows only the documents with a word."""
    tokens = request.tokens if request.in_table is None else request.in_table
    found = snapshot.lexical.bm25(tokens, request.allowed) if tokens else []
    kept = [pair for pair in found if pair[0] not in request.left_out]
    bm25 = np.array([score for _, score in kept], np.float32)
    rows = np.array([row for row, _ in kept], np.int64)
    return Ranking(rows, Scores(bm25, bm25, None, found=bool(kept)))


def by_occurrences(request: Request) -> Ranking:
    """Rank by how often phrases without a word that ranks stand in a document."""
    kept = sorted(set(request.allowed or ()) - request.left_out)
    counts = np.array([request.occurrences.get(row, 0) for row in kept], np.float32)
    return Ranking(np.array(kept, np.int64), Scores(counts, counts, None, found=bool(kept)))


def among(engine: Engine, request: Request, scores: Scores, by: str) -> NDArray[np.int64] | None:
    """Return the places of the documents that may be found, or None for all."""
    if not scores.found:
        return np.empty(0, np.int64)
    places = _allowed_places(engine, request)
    shown = scores.by > 0 if by == "lexical" else scores.evidence
    if shown is None:
        return places
    return np.flatnonzero(shown) if places is None else places[shown[places]]


def _allowed_places(engine: Engine, request: Request) -> NDArray[np.int64] | None:
    if request.allowed is None and not request.left_out:
        return None
    out = _places(engine, request.left_out)
    if request.allowed is None:
        return np.asarray(np.delete(np.arange(len(engine.rows)), out))
    return np.setdiff1d(_places(engine, request.allowed), out, assume_unique=True)


def _places(engine: Engine, keys: AbstractSet[int]) -> NDArray[np.int64]:
    """Return the places of documents, in order, leaving out those that are not indexed."""
    rows = keys.ascending if isinstance(keys, Keys) else Keys(keys).ascending
    # Keys ascend in an index, as they do in the library.
    at = np.searchsorted(engine.rows, rows)
    inside = at < len(engine.rows)
    at, rows = at[inside], rows[inside]
    return np.asarray(at[engine.rows[at] == rows])


DECIMALS = 6
_STEP = 10.0**-DECIMALS
NEAR = 0.98


def best(
    scores: NDArray[np.float32],
    count: int,
    ranks_of_ids: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    among: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Return the places of the best scores in order.

    Parameters
    ----------
    scores
        Of every place.
    count
        How many are wanted; there are fewer if there are not as many.
    ranks_of_ids
        Gives, for some places, the ranks of their ids in the alphabet. Asked only of ties.
    among
        The only places that may be found.
    """
    pool = scores if among is None else scores[among]
    count = min(count, len(pool))
    if count <= 0:
        return np.empty(0, np.int64)
    chosen = np.arange(len(pool))
    if count < len(pool):
        border = pool[largest(pool, count)].min()
        chosen = np.flatnonzero(pool >= border - _STEP)  # with all that tie with the last
    places = chosen if among is None else among[chosen]
    values = rounded(scores[places])
    order = np.lexsort((_later_first(places, values, ranks_of_ids), -values))
    return places[order[:count]]


def rounded(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return scores as they are compared and shown."""
    return np.asarray(scores.astype(np.float64).round(DECIMALS) + 0.0)  # + 0: no -0


def _later_first(
    places: NDArray[np.int64],
    values: NDArray[np.float64],
    ranks_of_ids: Callable[[NDArray[np.int64]], NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Return a key for each place that puts the later id first; zeros where nothing ties."""
    key = np.zeros(len(places), np.int64)
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    tied = sizes[group] > 1
    if tied.any():
        key[tied] = -ranks_of_ids(places[tied])
    return key


def rank_of(scores: NDArray[np.float32], score: float) -> int:
    """Return the rank of a score among others, from 1: one more than how many are better."""
    return 1 + int(np.count_nonzero(scores > np.float32(score)))


def alphabet_ranks(ids: list[str]) -> NDArray[np.int64]:
    """Return the rank of each id in the order of its characters' code points."""
    ranks = np.empty(len(ids), np.int64)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return ranks


def is_near(vector: NDArray[np.float32], others: NDArray[np.float32], least: float = NEAR) -> bool:
    """Tell whether a document is nearly the same as one of others (rows), by their cosine."""
    return bool(len(others)) and bool((others @ vector).max() >= least)


T = TypeVar("T")

SORTED = 100
"""So many of the best are sorted, or as many as are asked for: beyond, hits have little to do
with the query, and the newest of all documents with one of its words is not what is looked for."""

_KEYS: dict[str, Callable[[Details], str]] = {
    "date": lambda details: details.date,
    "oldest": lambda details: details.date,
    "title": lambda details: fold(details.title),
    "path": lambda details: details.path,
}


def select_sorted(
    snapshot: ReadTransaction, ranking: Ranking, options: SearchOptions
) -> tuple[Chosen, int]:
    """Choose the documents to show, as `select` does, in the order that is asked for.

    What has no date or title comes last; of equals, the better one comes first.
    """
    if options.sort == RELEVANCE:
        return select(snapshot, ranking, options)
    wanted = options.offset + options.k if options.k else 0
    among = replace(options, k=max(SORTED, wanted) if wanted else 0, offset=0)
    chosen, changed = select(snapshot, ranking, among)
    rows = {place: int(ranking.rows[place]) for place in chosen}
    details = snapshot.documents.details(list(rows.values()), characters=0)
    keys = {place: _KEYS[options.sort](details[row]) for place, row in rows.items()}
    places = in_order(list(chosen), keys.__getitem__, options.sort)
    return {place: chosen[place] for place in places[:wanted]}, changed


def in_order(best: list[T], key: Callable[[T], str], sort: str) -> list[T]:
    """Return documents, best first, in another order; those without a key come last."""
    known = [each for each in best if key(each)]
    known.sort(key=key, reverse=sort == "date")
    return known + [each for each in best if not key(each)]


_MORE = 10
_COMMON_WORDS = 0.6  # of two documents that are nearly the same
_AT_ONCE = 100
_READ_AT_ONCE = 50  # up to so many documents are read with their texts as they are chosen
_TEXT = 200_000  # characters that are compared, and looked through for a passage


def select(
    snapshot: ReadTransaction, ranking: Ranking, options: SearchOptions
) -> tuple[Chosen, int]:
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
    snapshot: ReadTransaction,
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
    snapshot: ReadTransaction, ranking: Ranking, options: SearchOptions, wanted: int, count: int
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
    snapshot: ReadTransaction, ranking: Ranking, places: list[int], *, with_text: bool
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
