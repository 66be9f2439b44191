"""Choose the passages to show: those with query words, or closest in meaning."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from lpisearch.search.snippets import CUT, semantic_weights, snippet
from lpisearch.terms.cutting import cut_passages
from lpisearch.terms.forms import MOST_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.records import Details, Passage, Section
    from lpisearch.search.rankings import Ranking
    from lpisearch.search.request import Request
    from lpisearch.search.view import View

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
                    from lpisearch.search.placed import placed_snippet

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
