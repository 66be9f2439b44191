"""Shard side of a query: scores its documents in step with the other shards.

All that goes in and out is JSON, so that a shard may be in this process or behind a server. A
question is a conversation: `begin` takes it, each `step` brings what all shards have said, and the
last answers with the best of this shard. `finish` gives the hits that are shown. What is kept
between is in memory, of few questions and for a short time; no transaction stays open.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from lpisearch.errors import ConversationLost, IndexNotFound, NotOfShards
from lpisearch.indexes.scoring.steps import of_json
from lpisearch.records import Document, Filter
from lpisearch.records.wire import hit_record, reason_record
from lpisearch.search.conversations import Conversation, Conversations
from lpisearch.search.hits import Traits, as_hits, select
from lpisearch.search.likeness import like_words, moved_by_words
from lpisearch.search.notes import about_words, why_none
from lpisearch.search.passages import Passages
from lpisearch.search.ranking import rank_of, rounded
from lpisearch.search.request import plain_request_of, request_of
from lpisearch.search.sorting import sort_key
from lpisearch.settings import RELEVANCE, SearchOptions
from lpisearch.terms.documents import document_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.indexes.session import Session
    from lpisearch.search.rankings import Ranking
    from lpisearch.search.request import Request
    from lpisearch.search.searcher import Searcher
    from lpisearch.search.view import View
    from lpisearch.settings.asked import Asked

_NOT_SAID = (ValueError, TypeError, IndexError, AttributeError, ArithmeticError)
_TEXT = 200_000  # characters that are compared, as for hits


class ShardSide:
    """Answers for one shard; any number of threads may ask.

    Parameters
    ----------
    session, searcher
        The library of the shard, open.
    """

    def __init__(self, session: Session, searcher: Searcher) -> None:
        self._session, self._searcher = session, searcher
        self._talks = Conversations()

    def facts(self, index: str) -> dict[str, Any]:
        """Say of which build the shard is."""
        return dict(self._session.index(index).manifest.shard)

    def state(self) -> dict[str, Any]:
        """Give the mark of the shard as it is."""
        return {"state": self._searcher.state()}

    def tokens(self, name: str = "", title: str = "", text: str = "") -> dict[str, Any]:
        """Give the tokens of a document of the shard, with its key, or those of any other."""
        with self._searcher.view(SearchOptions(), part=True) as view:
            if not name:
                joined = document_tokens(view.tokeniser, Document(title=title, text=text))
                return {"id": "", "key": None, "tokens": joined}
            key = view.snapshot.documents.only(name)
            identity = view.snapshot.documents.details([key], 0)[key].id
            return {"id": identity, "key": key, "tokens": view.snapshot.corpus.tokens([key])[0]}

    def begin(self, asked: Asked) -> dict[str, Any]:
        """Take a question; say of it what `step` says, and what is to be known of its words."""
        with self._searcher.view(asked.options, part=True) as view:
            if view.engine is None:
                raise view.reading.trouble or IndexNotFound(asked.options.index, ())
            request = _request(view, asked)
            talk = Conversation.begin(view.engine, request, asked)
            options, said = asked.options, talk.step(None)
            best = {} if said else _best(view, talk, options.offset + options.k)
            notes = {
                "notes": list(request.notes),
                "about": about_words(replace(request, unknown=()), talk.by),
                "unknown": [[each.word, list(each.nearest)] for each in request.unknown],
                "behind": bool(view.reading.behind()),
                "shard": dict(view.engine.index.manifest.shard),
            }
        name = secrets.token_hex(8)
        self._talks.keep(name, talk)
        return {"id": name, "by": talk.by, "said": said} | notes | best

    def step(self, name: str, heard: Mapping[str, Any]) -> dict[str, Any]:
        """Go on with what all shards have said; say the next, or which are the best."""
        talk = self._talks.find(name)
        options = talk.asked.options
        try:
            said = talk.step(of_json(heard))
        except _NOT_SAID as error:
            raise NotOfShards("it does not belong to this step") from error
        if said is not None:
            return {"said": said}
        with self._searcher.view(options, part=True) as view:
            talk.check(view)
            found = _best(view, talk, options.offset + options.k)
        if talk.asked.plain and not options.collapse:
            self._talks.drop(name)  # of a batch nothing more is asked
        return {"said": None} | found

    def best(self, name: str, most: int) -> dict[str, Any]:
        """Say which documents are the best: more than were said before."""
        talk = self._talks.find(name)
        with self._searcher.view(talk.asked.options, part=True) as view:
            return _best(view, talk, most)

    def finish(
        self, name: str, places: Sequence[int], bm25: Sequence[float], cosines: Sequence[float]
    ) -> dict[str, Any]:
        """Give the hits of some places, and how many documents are better than some by each leg."""
        talk = self._talks.find(name)
        ranking, options = talk.ranked(), replace(talk.asked.options, offset=0)
        if not all(0 <= place < len(ranking.rows) for place in places):
            raise NotOfShards("there is no such place")
        with self._searcher.view(options, part=True) as view:
            talk.check(view)
            rows = [int(ranking.rows[place]) for place in places]
            sections = view.snapshot.documents.sections(rows)
            passages = Passages(view, talk.request, ranking, sections)
            explain = None
            if options.explain:
                explain = view.explainer(talk.request, passages, talk.asked.text)
            chosen = dict.fromkeys(places)
            hits = as_hits(view.snapshot, ranking, chosen, options, passages.of, explain=explain)
            self._talks.drop(name)
            return {
                "hits": [hit_record(hit) for hit in hits],
                "bm25": _better(ranking, ranking.scores.bm25, bm25),
                "cosines": _better(ranking, ranking.scores.cosines, cosines),
                "none": "" if len(hits) else why_none(view.snapshot, options),
            }

    def reason(self, name: str, document: str) -> dict[str, Any]:
        """Say why a document of this shard stands where it does."""
        from lpisearch.search.reasons import reason_in

        talk = self._talks.find(name)
        with self._searcher.view(talk.asked.options, part=True) as view:
            talk.check(view)
            if talk.scored is None:
                raise ConversationLost
            options, text = talk.asked.options, talk.asked.text
            found = reason_in(view, talk.request, talk.scored, document, options=options, text=text)
            self._talks.drop(name)
            return reason_record(found)

    def tally(
        self, name: str = "", where: Filter | None = None, common: str | None = None
    ) -> dict[str, Any]:
        """Count what may be found, or what passes a filter; with `common` what lies below it."""
        talk = self._talks.find(name) if name else None
        options = talk.asked.options if talk else SearchOptions()
        with self._searcher.view(options, part=True) as view:
            if talk:
                keys: NDArray[np.int64] | None = talk.findable()
            else:
                allowed = view.snapshot.lexical.allowed(where or Filter())
                keys = None if allowed is None else np.array(sorted(allowed), np.int64)
            columns = view.columns.of(view.snapshot)
            if common is not None:
                return {"folders": columns.folders(common, keys)}
            found = columns.tally(keys)
            names = ("total", "labels", "predicted", "splits", "formats", "dates", "paths")
            return {each: getattr(found, each) for each in names}

    def known(self, where: Filter) -> dict[str, Any]:
        """Give the labels of the shard, given and predicted, where a filter names any."""
        with self._session.reading() as snapshot:
            return {
                "label": snapshot.labels.counts() if where.labels else {},
                "predicted": snapshot.labels.predicted_counts() if where.predicted else {},
            }


def _request(view: View, asked: Asked) -> Request:
    """Turn what was asked into what is looked for."""
    left_out = frozenset(asked.left_out)
    if asked.document is not None:
        allowed = view.reading.passing(asked.options.where)
        return like_words(view, asked.document.split(), allowed, left_out)
    if asked.plain:
        allowed = view.reading.passing(asked.options.where)
        return replace(plain_request_of(view, asked.text), allowed=allowed)
    request = request_of(view, asked.text, asked.options.where)
    if not asked.like and not asked.unlike:
        return request
    wanted, unwanted = ([each.split() for each in some] for some in (asked.like, asked.unlike))
    return moved_by_words(view, request, wanted, unwanted, left_out)


def _best(view: View, talk: Conversation, most: int) -> dict[str, Any]:
    """Say of the best documents what is needed to put them between those of other shards."""
    ranking, options = talk.ranked(), talk.asked.options
    wanted = replace(options, k=most, offset=0, collapse=False)
    chosen, changed = select(view.snapshot, ranking, wanted)
    rows = [int(ranking.rows[place]) for place in chosen]
    length = _TEXT if options.collapse else 0
    details = view.snapshot.documents.details(rows, length) if rows else {}
    found = []
    for place, row in zip(chosen, rows, strict=True):
        shown = details[row]
        said: dict[str, Any] = {
            "place": place,
            "id": shown.id,
            "score": float(rounded(ranking.scores.by[place : place + 1])[0]),
            "bm25": _leg(ranking.scores.bm25, place),
            "cosine": _leg(ranking.scores.cosines, place),
        }
        if options.sort != RELEVANCE:
            said["key"] = sort_key(options.sort, shown)
        if options.collapse:
            traits = Traits.of(ranking, place, shown)
            words = sorted(crc32(each.encode()) for each in traits.words)
            vector = None if traits.vector is None else traits.vector.tolist()
            text = crc32(f"{shown.title}\0{shown.text}".encode())
            said["traits"] = [text, words, vector]
        found.append(said)
    return {"best": found, "changed": changed, "more": len(found) == most and most > 0}


def _leg(scores: NDArray[np.float32] | None, place: int) -> float | None:
    return None if scores is None else float(scores[place])


def _better(
    ranking: Ranking, scores: NDArray[np.float32] | None, values: Sequence[float]
) -> list[int]:
    """Return how many documents that may be found are better than each of some scores."""
    if scores is None:
        return [0] * len(values)
    pool = scores if ranking.among is None else scores[ranking.among]
    return [rank_of(pool, value) - 1 for value in values]
