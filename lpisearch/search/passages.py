"""Passages of a hit, marks, surface forms."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.model.answers import Mark
from lpisearch.search.snippets import CUT, semantic_weights, snippet
from lpisearch.text.languages import TokeniserSettings
from lpisearch.text.spans import cut_passages
from lpisearch.text.tokeniser import MOST_CHARACTERS, Tokeniser, surface_forms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.model.answers import Passage
    from lpisearch.model.documents import Details, Section
    from lpisearch.search.query import Request
    from lpisearch.search.ranking import Ranking
    from lpisearch.search.searcher import View
    from lpisearch.storage.store import ReadTransaction

    Span = tuple[int, int]


MOST = 3  # passages of a long document
_MARKED = 8
_AROUND = 500  # characters beside a phrase that stands in no passage


@dataclass(frozen=True)
class Passages:
    """Finds the passages of each document that was found.

    Attributes
    ----------
    view
        The library and the index that answered, if one did.
    request
        What was asked.
    ranking
        What ranked.
    sections
        Of the documents that are shown, by key.
    """

    view: View
    request: Request
    ranking: Ranking
    sections: Mapping[int, tuple[Section, ...]]

    def of(self, place: int, details: Details, *, has_word: bool) -> tuple[Passage, ...]:
        """Return what to show of a document, told whether a word of the query is in it."""
        row = int(self.ranking.rows[place])
        sections = self.sections.get(row, ())
        spans = self._spans(place, row) or self._beyond(row, details)
        if not spans:
            whole = self._passage(details.text, details.title, has_word=has_word)
            return (_within(whole, details.text, sections),)
        parts = self.view.snapshot.documents.parts([(row, *span) for span in spans])
        found: list[Passage] = []
        for (start, _), part in zip(spans, parts, strict=True):
            shown = self._passage(part, details.title, has_word=False)
            # Pages of a manual say the same of many things: what is shown once tells enough.
            if all(_letters(shown) != _letters(each) for each in found):
                found.append(_within(shown, part, sections, start))
        return tuple(found)

    def explained(self, place: int, details: Details) -> tuple[list[str], str]:
        """Return the tokens and the text whose cosine a hit shows: of the best passage, or all."""
        row = int(self.ranking.rows[place])
        span = self._best(place, 1)
        if not span:
            tokens = self.view.snapshot.corpus.tokens([row])[0].split()
            return tokens, f"{details.title}\n{details.text}"
        (part,) = self.view.snapshot.documents.parts([(row, *span[0])])
        text = f"{details.title}\n{part}"
        return self.view.index_tokeniser.tokens(text), text

    def _best(self, place: int, most: int) -> list[Span]:
        engine = self.view.engine
        return [] if engine is None else engine.best_passages(self.ranking.scores, place, most)

    def _spans(self, place: int, row: int) -> list[Span]:
        """Return the passages to show of a long document; first of all one with what was quoted."""
        spans = self._best(place, MOST)
        if not spans or not self.request.phrases:
            return spans
        ((_, _, text),) = self.view.snapshot.documents.texts([row])
        quoted = next(filter(None, (each.find(text) for each in self.request.phrases)), None)
        if quoted is None:
            return spans
        start, end = quoted
        about = [span for span in spans if span[0] <= start and end <= span[1]]
        first = about or [(max(start - _AROUND, 0), min(end + _AROUND, len(text)))]
        return [*first, *(span for span in spans if span not in first)][:MOST]

    def _beyond(self, row: int, details: Details) -> list[Span]:
        """Return where the words are in a text that is too long to be looked through closely."""
        if len(details.text) < MOST_CHARACTERS:
            return []
        ((_, _, text),) = self.view.snapshot.documents.texts([row])
        joined, weights = self.view.tokeniser.joined, self._words
        best, most = [], 0.0
        for span in cut_passages(text, self.sections.get(row, ()), joined):
            weight = sum(weights[token] for token in weights.keys() & span.tokens.split())
            if weight > most:
                best, most = [(span.start, span.end)], weight
        return best

    def _passage(self, text: str, title: str, *, has_word: bool) -> Passage:
        view, request = self.view, self.request
        wanted, most = self._words, None
        if not has_word and view.engine is not None and request.question is not None:
            tokens = view.tokeniser.tokens(text)
            if not self._words.keys() & tokens:
                index, vector = view.engine.index, request.question.vector
                if not index.is_linear:
                    from lpisearch.search.snippets import placed_snippet

                    return placed_snippet(index, vector, text, view.tokeniser, title=title)
                wanted = semantic_weights(index, vector, tokens)
                most = _MARKED
        return snippet(
            text,
            view.tokeniser,
            wanted,
            title=title,
            most_marked=most,
            phrases=request.phrases,
        )

    @cached_property
    def _words(self) -> Mapping[str, float]:
        """How much each word weighs: by how rare it is, where an index knows it."""
        weights = dict.fromkeys(self.request.tokens, 1.0)
        if self.view.engine is None or self.request.question is None:
            return weights
        return weights | self.view.engine.rarity(self.request.question)


def _letters(passage: Passage) -> str:
    return "".join(filter(str.isalnum, passage.text)).casefold()


def _within(passage: Passage, text: str, sections: Sequence[Section], begun: int = 0) -> Passage:
    """Say where a passage is in its document, a part of whose text begins somewhere."""
    at = begun + _first_mark(passage, text)
    before = sections[: bisect_right([one.start for one in sections], at)]
    page = next((one.name for one in reversed(before) if one.kind == "page"), "")
    return replace(
        passage,
        start=begun + passage.start,
        end=begun + passage.end,
        section=before[-1] if before else None,
        page=page,
    )


def _first_mark(passage: Passage, text: str) -> int:
    """Return where the first mark of a passage is in the text, or the passage if it has none."""
    if not passage.marks:
        return passage.start
    said = passage.text[: passage.marks[0][0]].removeprefix(CUT)
    left = len(said.replace(" ", ""))
    signs = (at for at in range(passage.start, passage.end) if not text[at].isspace())
    return next(islice(signs, left, None), passage.start)


MOST_NEAR = 6
"""So many different near words of a text are marked."""
_LEAST = 0.3  # of the share of the nearest


def marks(view: View, request: Request, text: str) -> tuple[Mark, ...]:
    """Return the words of a text that have to do with a query, in their order.

    Near words are told by the linear map: those that add most to the cosine of the query and the
    text. Where the map is not linear, the query's own words alone are marked.
    """
    own = frozenset(request.tokens)
    near = _near(view, request, text, own)
    quoted = (Mark(*span) for each in request.phrases if (span := each.find(text)))
    found = (
        Mark(start, end, near.get(token, 0.0))
        for start, end, token in view.tokeniser.spans(text, own | near.keys())
    )
    return tuple(_joined(sorted([*quoted, *found])))


def _near(view: View, request: Request, text: str, own: frozenset[str]) -> Mapping[str, float]:
    engine, question = view.engine, request.question
    if engine is None or question is None or not question.has_place or not engine.index.is_linear:
        return {}
    if view.tokeniser is not view.index_tokeniser:
        return {}
    shares = semantic_weights(engine.index, question.vector, view.tokeniser.tokens(text))
    others = {token: share for token, share in shares.items() if token not in own}
    best = sorted(others, key=lambda token: (-others[token], token))[:MOST_NEAR]
    least = _LEAST * max(others.values(), default=0.0)
    return {token: others[token] for token in best if others[token] >= least}


def _joined(found: Iterable[Mark]) -> list[Mark]:
    """Join marks that overlap, as pairs of characters do; a word of the query goes before."""
    joined: list[Mark] = []
    for mark in found:
        if joined and mark.start < joined[-1].end:
            last = joined[-1]
            near = last.near if last.near == 0 else mark.near
            joined[-1] = Mark(last.start, max(last.end, mark.end), near)
        else:
            joined.append(mark)
    return joined


_READ_DOCUMENTS = 3
_READ_CHARACTERS = 8000


def written_forms(
    index: SubspaceIndex,
    snapshot: ReadTransaction,
    stems: Iterable[str],
    cosines: NDArray[np.float64] | None = None,
) -> dict[str, str]:
    """Find how some documents of each stem mostly write it.

    Parameters
    ----------
    index
        Whose stems they are.
    snapshot
        Of the library.
    stems
        Terms of the index.
    cosines
        Of all documents: the nearest are asked; the first that come to hand if none are given.
    """
    postings = index.postings
    places: dict[int, None] = {}
    for stem in stems:
        number = postings.find(stem)
        if number < 0:
            continue  # every document that had it was deleted
        start, stop = postings.posting_starts[number : number + 2].tolist()
        holders = postings.posting_places[start:stop]
        if cosines is not None:
            holders = holders[np.argsort(-cosines[holders], kind="stable")]
        places |= dict.fromkeys(holders[:_READ_DOCUMENTS].tolist())
    rows = index.document_rows[list(places)].tolist()
    found = snapshot.documents.details(rows, _READ_CHARACTERS).values()
    text = "\n".join(f"{each.title}\n{each.text}" for each in found)
    settings = TokeniserSettings.from_dict(index.manifest.tokeniser)
    return surface_forms(text, Tokeniser(settings))
