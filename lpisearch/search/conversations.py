"""Cache of query state on a shard between two scoring steps."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.errors import ConversationLost
from lpisearch.indexes.scoring.scores import Scores
from lpisearch.indexes.scoring.steps import as_json
from lpisearch.search.ranking import rounded
from lpisearch.search.rankings import Ranking, by_occurrences, by_scores, ranks_anything

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from lpisearch.indexes.scoring.engine import Engine
    from lpisearch.indexes.scoring.scores import UnitScores
    from lpisearch.indexes.scoring.steps import Said
    from lpisearch.search.request import Request
    from lpisearch.search.view import View
    from lpisearch.settings.asked import Asked

MOST_CONVERSATIONS = 200
_LEAST_CONVERSATIONS = 8
_SECONDS = 60.0
_MOST_BYTES = 1 << 30
_BYTES = 24  # of the scores that are kept of each document and passage
_NONE = np.empty(0, np.int64)


@dataclass(eq=False, slots=True)
class Conversation:
    """One question, scored step by step.

    Attributes
    ----------
    by
        What the ranking is by, in the end.
    used
        When it was last asked for.
    part
        What scores, until all is scored.
    scored, ranking
        What came of it; a question that ranks nothing has a ranking alone.
    """

    asked: Asked
    engine: Engine
    request: Request
    by: str
    used: float = field(default_factory=time.monotonic)
    part: Generator[Said, Said, UnitScores] | None = None
    scored: UnitScores | None = None
    ranking: Ranking | None = None

    @classmethod
    def begin(cls, engine: Engine, request: Request, asked: Asked) -> Conversation:
        """Begin to score, or say at once what the ranking is."""
        options, question = asked.options, request.question
        talk = cls(asked, engine, request, options.by)
        if request.occurrences and not ranks_anything(request, options.by):
            talk.by, talk.ranking = "lexical", by_occurrences(request)
        elif question is None or not ranks_anything(request, options.by):
            talk.ranking = _nothing()
        else:
            feedback, weight = request.feedback, options.semantic_weight
            talk.part = engine.scoring(question, options.by, feedback=feedback, weight=weight)
        return talk

    def step(self, heard: Said | None) -> dict[str, Any] | None:
        """Go on by a step; return what is said then, None where all is scored."""
        if self.part is None:
            return None
        try:
            return as_json(next(self.part) if heard is None else self.part.send(heard))
        except StopIteration as end:
            self.scored, self.part = end.value, None
        scores = self.scored.scores
        if self.asked.plain:  # a batch ranks all documents
            scores = replace(scores, evidence=None)
        self.ranking = by_scores(self.engine, scores, self.request, self.by)
        return None

    def check(self, view: View) -> None:
        """Refuse to go on over another index than the one that was begun with.

        Raises
        ------
        ConversationLost
        """
        if view.engine is not self.engine:
            raise ConversationLost

    def ranked(self) -> Ranking:
        """Return the ranking, once all is scored.

        Raises
        ------
        ConversationLost
        """
        if self.ranking is None:
            raise ConversationLost
        return self.ranking

    def findable(self) -> NDArray[np.int64]:
        """Return the keys of all that may be found, those that `collapse` hides too."""
        ranking, options = self.ranked(), self.asked.options
        places = slice(None) if ranking.among is None else ranking.among
        rows = ranking.rows[places]
        if options.min_score is None:
            return rows
        return np.asarray(rows[rounded(ranking.scores.by[places]) >= options.min_score])


class Conversations:
    """A few questions, each for a short time; any number of threads may ask."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Conversation] = OrderedDict()
        self._lock = Lock()

    def keep(self, name: str, talk: Conversation) -> None:
        """Keep one, in the place of those that are old or too many."""
        with self._lock:
            old = time.monotonic() - _SECONDS
            for each in [key for key, other in self._kept.items() if other.used < old]:
                del self._kept[each]
            room = _MOST_BYTES // (_BYTES * max(len(talk.engine.units.certainty), 1))
            while len(self._kept) >= max(min(room, MOST_CONVERSATIONS), _LEAST_CONVERSATIONS):
                self._kept.popitem(last=False)
            self._kept[name] = talk

    def drop(self, name: str) -> None:
        """Forget one, if it is there."""
        with self._lock:
            self._kept.pop(name, None)

    def find(self, name: str) -> Conversation:
        """Return one that is used now.

        Raises
        ------
        ConversationLost
        """
        with self._lock:
            talk = self._kept.get(name)
        if talk is None:
            raise ConversationLost
        talk.used = time.monotonic()
        return talk


def _nothing() -> Ranking:
    none = np.empty(0, np.float32)
    return Ranking(_NONE, Scores(none, none, None, found=False))
