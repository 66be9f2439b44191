"""Map, topics and label colours shared by all pages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lpisearch.web.pages.kept import kept

if TYPE_CHECKING:
    from lpisearch.records import DocumentMap, TopicReport
    from lpisearch.web.state import WebState

COLOURS = 12
PROJECTIONS = ("neighbours", "plane")


@dataclass(frozen=True)
class Drawn:
    """A map, and what is looked up in it.

    Attributes
    ----------
    map
        As the library draws it.
    """

    map: DocumentMap

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each document on the map, by its id."""
        return {name: number for number, name in enumerate(self.map.ids)}

    def topic_of(self, document: str) -> int | None:
        """Return the place of a document's topic in the report, if it is on the map."""
        number = self.number_of.get(document)
        return None if number is None else int(self.map.topics[number])


def drawn(shared: WebState, projection: str = PROJECTIONS[0], number: int | None = None) -> Drawn:
    """Return the map; the first who asks waits until it is drawn.

    Raises
    ------
    LpiSearchError
    """
    library = shared.library

    what, own = ("map", projection, number), kept(shared)

    def draw() -> Drawn:
        last: Drawn | None = own.before(what)
        previous = None if last is None else last.map
        return Drawn(library.map(projection, number=number, previous=previous))

    return own.get(what, library.state(), draw)


def drawn_already(shared: WebState) -> Drawn | None:
    """Return the map as it is drawn at first, if somebody has looked at it."""
    found: Drawn | None = kept(shared).peek(("map", PROJECTIONS[0], None), shared.library.state())
    return found


def topics(shared: WebState, number: int | None = None) -> TopicReport:
    """Return the topics.

    Raises
    ------
    LpiSearchError
    """
    library = shared.library
    return kept(shared).get(
        ("topics", number),
        library.state(),
        lambda: library.topics(number, terms=10, documents=5),
    )


def colours(shared: WebState) -> dict[str, int]:
    """Return the colour of each label: the most frequent ones have one of their own."""
    library = shared.library

    def count() -> dict[str, int]:
        facets = library.facets()
        names = [each.value for each in (*facets.labels, *facets.predicted)]
        return {name: at % COLOURS for at, name in enumerate(dict.fromkeys(names))}

    return kept(shared).get("colours", library.state(), count)
