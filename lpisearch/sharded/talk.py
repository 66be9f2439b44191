"""Run one query on all shards in lockstep and merge the top results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lpisearch.client.reading import as_hit
from lpisearch.errors import ConversationLost, ShardsUnusable
from lpisearch.indexes.scoring.steps import as_json, of_json, together
from lpisearch.records import Suggestion
from lpisearch.search.facets import Tally, added
from lpisearch.search.hits import Alike, Traits
from lpisearch.search.ranking import is_near
from lpisearch.search.sorting import SORTED, in_order
from lpisearch.settings import RELEVANCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from lpisearch.records import Facets, Hit
    from lpisearch.settings import SearchOptions
    from lpisearch.settings.asked import Asked
    from lpisearch.sharded.panel import Panel

    Reply = dict[str, Any]

T = TypeVar("T")

_TRIES = 3
_MORE = 10
_EQUAL = 0.999  # of the queries of a batch, whose texts are not compared
_MOST_NEAREST = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that may be shown: the number of its shard, and what that says of it."""

    shard: int
    said: Mapping[str, Any]


class Talk:
    """A question that all shards have scored.

    Parameters
    ----------
    panel
        The shards.
    folder
        The library, for errors.
    asked
        Gives the question for a shard, by its number.
    build
        Of which the indexes of all shards are; "" where no map says so.
    """

    def __init__(
        self,
        panel: Panel,
        folder: Path,
        asked: Callable[[int], Asked],
        build: str = "",
    ) -> None:
        self.panel, self._folder, self._build = panel, folder, build
        self.begun, self.replies = self._scored(asked)

    @property
    def missing(self) -> tuple[str, ...]:
        """The shards that did not answer."""
        known = next(iter(self.begun.values()))["shard"].get("of", 0)
        there = {reply["shard"].get("number") for reply in self.begun.values()}
        absent = self.panel.missing(self.begun)
        if len(self.panel.ends) >= known:
            return absent
        unnamed = sorted(set(range(known)) - there)[len(absent) :]
        return (*absent, *(f"shard {number + 1}/{known}" for number in unnamed))

    @property
    def by(self) -> str:
        """How it was answered."""
        ways = [str(reply["by"]) for reply in self.begun.values()]
        return "lexical" if "lexical" in ways else ways[0]

    def common_notes(self) -> list[str]:
        """Return what all shards say of the question: what one says is not in the others."""
        first, *others = (reply["notes"] for reply in self.begun.values())
        return [note for note in first if all(note in each for each in others)]

    @property
    def about(self) -> str:
        """What is to be said of its words."""
        return str(next(iter(self.begun.values()))["about"])

    def suggestions(self) -> tuple[Suggestion, ...]:
        """Return the words that no document has, with the nearest that any shard has."""
        nearest: dict[str, dict[str, None]] = {}
        for reply in self.begun.values():
            for word, near in reply["unknown"]:
                nearest.setdefault(word, {}).update(dict.fromkeys(near))
        return tuple(
            Suggestion(word, tuple(near)[:_MOST_NEAREST]) for word, near in nearest.items()
        )

    def best(self, options: SearchOptions, *, words: bool = True) -> list[Candidate]:
        """Return the documents to show in their order, those before the offset too.

        With `words` false, `collapse` goes by places alone, as for a batch.
        """
        wanted = options.offset + options.k if options.k else 0
        if options.sort != RELEVANCE:
            some = self._alone(options, max(SORTED, wanted) if wanted else 0, words=words)
            return in_order(some, lambda one: str(one.said["key"]), options.sort)[:wanted]
        return self._alone(options, wanted, words=words)

    @property
    def changed(self) -> bool:
        """Whether documents were passed over since they changed."""
        return any(reply["changed"] for reply in self.replies.values())

    def hits(self, shown: list[Candidate], first: int) -> tuple[tuple[Hit, ...], str]:
        """Return hits, the first with this rank; where there are none, what says why."""
        values = {leg: [one.said[leg] or 0.0 for one in shown] for leg in ("bm25", "cosine")}

        def finish(at: int) -> Reply:
            places = [one.said["place"] for one in shown if one.shard == at]
            return self.panel.ends[at].ask(
                "finish",
                name=self.begun[at]["id"],
                places=places,
                bm25=values["bm25"],
                cosines=values["cosine"],
            )

        replies = self._each(finish)
        given = {at: iter(reply["hits"]) for at, reply in replies.items()}
        better = [
            np.sum([reply[leg] for reply in replies.values()], axis=0, dtype=int).tolist()
            for leg in ("bm25", "cosines")
        ]
        hits: list[Hit] = []
        for number, one in enumerate(shown):
            said = next(given.get(one.shard, iter(())), None)
            if said is None:  # its shard has just gone away
                continue
            hit = as_hit(said)
            bm25, cosine = (each[number] + 1 for each in better)
            hits.append(
                replace(
                    hit,
                    rank=first + len(hits),
                    bm25_rank=bm25 if hit.bm25 else None,
                    cosine_rank=None if hit.cosine is None else cosine,
                )
            )
        none = [reply["none"] for reply in replies.values()]
        return tuple(hits), none[0] if not hits and all(none) else ""

    def facets(self) -> Facets:
        """Count all that may be found."""
        return counted(
            self._each(lambda at: self.panel.ends[at].ask("tally", name=self.begun[at]["id"])),
            lambda common: self._each(
                lambda at: self.panel.ends[at].ask(
                    "tally", name=self.begun[at]["id"], common=common
                )
            ),
        )

    def _scored(self, asked: Callable[[int], Asked]) -> tuple[dict[int, Reply], dict[int, Reply]]:
        """Let all shards score in step; begin anew without one that goes away meanwhile."""
        while True:
            begun = self.panel.each(lambda at, end: end.ask("begin", asked=asked(at)))
            self._check(begun)
            replies = begun
            while len(replies) == len(begun) and next(iter(replies.values()))["said"]:
                replies = self._step(begun, replies)
            if len(replies) == len(begun):
                return begun, replies

    def _step(self, begun: Mapping[int, Reply], replies: Mapping[int, Reply]) -> dict[int, Reply]:
        """Tell every shard what all have said; return what they say to that."""
        heard = as_json(together([of_json(reply["said"]) for reply in replies.values()]))
        return self.panel.each(
            lambda at, end: end.ask("step", name=begun[at]["id"], heard=heard), list(begun)
        )

    def _each(self, work: Callable[[int], Reply]) -> dict[int, Reply]:
        """Ask the shards that have scored; one that goes away is missing from here on."""
        found = self.panel.each(lambda at, _end: work(at), list(self.begun))
        self.begun = {at: reply for at, reply in self.begun.items() if at in found}
        return found

    def _check(self, begun: Mapping[int, Reply]) -> None:
        """Refuse shards that do not fit together."""
        facts = {at: reply["shard"] for at, reply in begun.items()}
        builds = {at: str(each.get("build", "")) for at, each in facts.items()}
        expected = self._build or next(iter(builds.values()))
        for at, build in builds.items():
            if not build or build != expected:
                reason = f"{self.panel.ends[at].name} is from a different build than the others"
                raise ShardsUnusable(self._folder, reason)
        numbers = [each["number"] for each in facts.values()]
        if len(set(numbers)) < len(numbers):
            named = ", ".join(self.panel.names(facts))
            raise ShardsUnusable(self._folder, f"two of these are the same shard: {named}")

    def _alone(self, options: SearchOptions, wanted: int, *, words: bool) -> list[Candidate]:
        """Return the best, of those that are nearly the same one."""
        count = wanted
        while True:
            ordered = self._in_order()
            if not options.collapse:
                return ordered[:wanted]
            chosen = _unlike(ordered[:count], wanted) if words else _apart(ordered[:count], wanted)
            more = any(reply["more"] for reply in self.replies.values())
            if len(chosen) >= wanted or not wanted or (not more and count >= len(ordered)):
                return chosen
            count = 2 * count + _MORE
            if more:
                most = count
                self.replies = self._each(
                    lambda at, most=most: self.panel.ends[at].ask(  # type: ignore[misc]
                        "best", name=self.begun[at]["id"], most=most
                    )
                )

    def _in_order(self) -> list[Candidate]:
        """Put the best of all shards in one order; of equal scores the later id comes first."""
        every = [
            Candidate(at, said) for at, reply in self.replies.items() for said in reply["best"]
        ]
        every.sort(key=lambda one: str(one.said["id"]), reverse=True)
        every.sort(key=lambda one: -float(one.said["score"]))
        return every


def again(work: Callable[[], T]) -> T:
    """Ask once more where a shard has lost what it knew, since its index was replaced meanwhile."""
    for _ in range(_TRIES - 1):
        try:
            return work()
        except ConversationLost:
            continue
    return work()


def counted(tallies: Mapping[int, Reply], below: Callable[[str], Mapping[int, Reply]]) -> Facets:
    """Add up what the documents of shards consist of; `below` counts below a folder."""
    whole = Tally.together([Tally(**each) for each in tallies.values()])
    folders = added(each["folders"] for each in below(whole.folder).values())
    return whole.facets(folders)


def _traits(one: Candidate) -> Traits:
    text, words, vector = one.said["traits"]
    place = None if vector is None else np.array(vector, np.float32)
    return Traits(text, frozenset(words), place)


def _unlike(ordered: list[Candidate], wanted: int) -> list[Candidate]:
    alike = Alike()
    chosen: list[Candidate] = []
    for one in ordered:
        if len(chosen) == wanted:
            break
        if alike.is_new(_traits(one)):
            chosen.append(one)
    return chosen


def _apart(ordered: list[Candidate], wanted: int) -> list[Candidate]:
    chosen: list[Candidate] = []
    vectors: list[Any] = []
    for one in ordered:
        if len(chosen) == wanted:
            break
        vector = _traits(one).vector
        if vector is None or not vectors or not is_near(vector, np.stack(vectors), _EQUAL):
            chosen.append(one)
            vectors += [] if vector is None else [vector]
    return chosen
