"""Sort the best results by date, title or path."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from lpisearch.search.hits import select
from lpisearch.settings import RELEVANCE
from lpisearch.terms.folding import fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.records import Details
    from lpisearch.search.hits import Chosen
    from lpisearch.search.rankings import Ranking
    from lpisearch.settings import SearchOptions
    from lpisearch.storage import Snapshot

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
    snapshot: Snapshot, ranking: Ranking, options: SearchOptions
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
