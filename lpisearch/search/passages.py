"""Passages of a hit, marked words, and surface forms."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.model.answers import Mark, Passage
from lpisearch.numeric.rows import numbers_of
from lpisearch.search import snippets
from lpisearch.text.languages import TokeniserSettings
from lpisearch.text.spans import cut_passages
from lpisearch.text.tokeniser import MOST_CHARACTERS, Tokeniser, usual_forms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.model.documents import Details, Section
    from lpisearch.search.compounds import Compound
    from lpisearch.search.engine import Scores
    from lpisearch.search.query import Query
    from lpisearch.search.snapshot import Snapshot
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.text.characters import WrittenPhrase

    Span = tuple[int, int]


_MARKED = 8
_AROUND = 500  # characters on each side of a phrase that is in no passage


@dataclass(frozen=True)
class Passages:
    """Finds at most so many passages of each document; `sections` are by the keys of documents."""

    snapshot: Snapshot
    query: Query
    scores: Scores
    sections: Mapping[int, tuple[Section, ...]]
    most: int

    def of(self, number: int, details: Details, *, has_word: bool) -> tuple[Passage, ...]:
        """Return what to show of a document, which contains a word of the query or not."""
        row = int(self.scores.rows[number])
        sections = self.sections.get(row, ())
        spans = self._spans(number, row) or self._beyond(row, details)
        if not spans:
            whole = self._passage(details.text, details, has_word=has_word)
            return (_within(whole, details.text, sections),)
        parts = self._parts(row, spans, details)
        passages: list[Passage] = []
        for (start, _), part in zip(spans, parts, strict=True):
            passage = self._passage(part, details, has_word=False)
            # Pages of a manual say the same about many things: once is enough.
            if all(_letters(passage) != _letters(other) for other in passages):
                passages.append(_within(passage, part, sections, start))
        return tuple(passages)

    def explained(self, number: int, details: Details) -> tuple[list[str], str]:
        """Return the tokens and the text whose cosine a hit has: of the best passage, or all."""
        row = int(self.scores.rows[number])
        span = self._best(number, 1)
        if not span:
            tokens = self.snapshot.transaction.documents.tokens([row])[0].split()
            return tokens, f"{details.title}\n{details.text}"
        (part,) = self._parts(row, span, details)
        text = f"{details.title}\n{part}"
        tokeniser = self.snapshot.index_tokeniser.of_language(details.language)
        return tokeniser.tokens(text), text

    def _parts(self, row: int, spans: Sequence[Span], details: Details) -> list[str]:
        """Return parts of a text: of its beginning if that was read far enough."""
        if max(end for _, end in spans) <= len(details.text):
            return [details.text[start:end] for start, end in spans]
        return self.snapshot.transaction.documents.parts([(row, *span) for span in spans])

    def _best(self, number: int, most: int) -> list[Span]:
        engine = self.snapshot.engine
        return [] if engine is None else engine.best_passages(self.scores, number, most)

    def _spans(self, number: int, row: int) -> list[Span]:
        """Return the passages to show of a long document, first of all one with a phrase."""
        spans = self._best(number, self.most)
        if not spans or not self._sought:
            return spans
        ((_, _, text),) = self.snapshot.transaction.documents.texts([row])
        quoted = next(filter(None, (phrase.find(text) for phrase in self._sought)), None)
        if quoted is None:
            return spans
        start, end = quoted
        about = [span for span in spans if span[0] <= start and end <= span[1]]
        first = about or [(max(start - _AROUND, 0), min(end + _AROUND, len(text)))]
        return [*first, *(span for span in spans if span not in first)][: self.most]

    def _beyond(self, row: int, details: Details) -> list[Span]:
        """Return where the words are in a text that is too long to search closely."""
        if len(details.text) < MOST_CHARACTERS:
            return []
        ((_, _, text),) = self.snapshot.transaction.documents.texts([row])
        joined = self.snapshot.tokeniser.of_language(details.language).joined
        weights = self._words
        best, most = [], 0.0
        for span in cut_passages(text, self.sections.get(row, ()), joined):
            weight = sum(weights[token] for token in weights.keys() & span.tokens.split())
            if weight > most:
                best, most = [(span.start, span.end)], weight
        return best

    def _passage(self, text: str, details: Details, *, has_word: bool) -> Passage:
        title, engine = details.title, self.snapshot.engine
        tokeniser = self.snapshot.tokeniser.of_language(details.language)
        weights, most = self._words, None
        unmarked = not has_word and next(tokeniser.spans(text, weights), None) is None
        if unmarked and engine is not None:
            index, vector = engine.index, self.query.vector
            if not index.is_linear:
                return snippets.placed_snippet(index, vector, text, tokeniser, title=title)
            weights, most = (
                snippets.semantic_weights(index, vector, tokeniser.tokens(text)),
                _MARKED,
            )
        sought = snippets.Sought(self._sought, self.query.compounds)
        return snippets.snippet(text, tokeniser, weights, title, most_marked=most, sought=sought)

    @cached_property
    def _sought(self) -> tuple[WrittenPhrase | Compound, ...]:
        """The phrases to show: quoted ones, then identifiers."""
        identifiers = (one for one in self.query.compounds if one.is_identifier)
        return (*self.query.phrases, *identifiers)

    @cached_property
    def _words(self) -> Mapping[str, float]:
        """The weight of each word: how rare it is, if the index knows it."""
        weights = dict.fromkeys(self.query.tokens, 1.0)
        engine = self.snapshot.engine
        return weights if engine is None else weights | engine.rarity(self.query)


def _letters(passage: Passage) -> str:
    return "".join(filter(str.isalnum, passage.text)).casefold()


def _within(passage: Passage, text: str, sections: Sequence[Section], begun: int = 0) -> Passage:
    """Say where a passage is in its document, a part of whose text begins somewhere."""
    at = passage.start
    if begun:
        passage = replace(passage, start=begun + at, end=begun + passage.end)
    if not sections:
        return passage
    if passage.marks:
        line = passage.text.removeprefix(snippets.CUT).removesuffix(snippets.CUT)
        is_cut = passage.text.startswith(snippets.CUT)
        at = snippets.unfolded(text, line, passage.marks[0][0] - is_cut, at)
    before = sections[: bisect_right([one.start for one in sections], begun + at)]
    page = next((one.name for one in reversed(before) if one.kind == "page"), "")
    return replace(passage, section=before[-1] if before else None, page=page)


MOST_NEAR = 6
"""The most distinct near words of a text that are marked."""
_LEAST = 0.3  # of the share of the nearest


def marks(query: Query, snapshot: Snapshot, text: str) -> tuple[Mark, ...]:
    """Return the words of a text that belong to a query or are near to it, in their order.

    Near words are those that add most to the cosine of the query and the text, by the linear map. A
    method without one marks only the words of the query.
    """
    own, tokeniser = frozenset(query.tokens), snapshot.tokeniser.of_text(text)
    near = _near(query, snapshot, text, own, tokeniser)
    quoted = (Mark(*span) for phrase in query.phrases if (span := phrase.find(text)))
    compounds = (Mark(*span) for compound in query.compounds for span in compound.spans(text))
    words = (
        Mark(start, end, near.get(token, 0.0))
        for start, end, token in tokeniser.spans(text, own | near.keys())
    )
    return tuple(_joined(sorted([*quoted, *compounds, *words])))


def _near(
    query: Query, snapshot: Snapshot, text: str, own: frozenset[str], tokeniser: Tokeniser
) -> Mapping[str, float]:
    engine, is_current = snapshot.engine, snapshot.tokeniser is snapshot.index_tokeniser
    if engine is None or not query.has_vector or not engine.index.is_linear or not is_current:
        return {}
    shares = snippets.semantic_weights(engine.index, query.vector, tokeniser.tokens(text))
    others = {token: share for token, share in shares.items() if token not in own}
    best = sorted(others, key=lambda token: (-others[token], token))[:MOST_NEAR]
    least = _LEAST * max(others.values(), default=0.0)
    return {token: others[token] for token in best if others[token] >= least}


def _joined(marks: Iterable[Mark]) -> list[Mark]:
    """Join marks that overlap, as pairs of characters do; a word of the query goes before."""
    joined: list[Mark] = []
    for mark in marks:
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
    transaction: ReadTransaction,
    stems: Iterable[str],
    cosines: NDArray[np.float64] | None = None,
    tokeniser: Tokeniser | None = None,
) -> dict[str, str]:
    """Find the most frequent form of each stem of an index in a few documents.

    They are the documents with the largest cosines, or the first ones if none are given.
    """
    postings = index.postings
    holders: dict[str, NDArray[np.integer]] = {}
    numbers: dict[int, None] = {}
    for stem in sorted(set(stems)):
        term = postings.find(stem)
        if term < 0:
            continue  # every document that had it was deleted
        holders[stem] = first = postings.entries(term)[0]
        if cosines is not None:
            first = first[np.argsort(-cosines[first], kind="stable")]
        numbers |= dict.fromkeys(first[:_READ_DOCUMENTS].tolist())
    chosen = np.array(list(numbers), np.int64)
    found = [(stem, numbers_of(chosen, own) >= 0) for stem, own in holders.items()]
    rows = index.document_rows[chosen].tolist()
    of_row = {row: {stem for stem, has in found if has[at]} for at, row in enumerate(rows)}
    tokeniser = tokeniser or Tokeniser(TokeniserSettings.from_dict(index.manifest.tokeniser))
    written: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    left = defaultdict[str, int](lambda: MOST_CHARACTERS)
    traits = transaction.documents.traits_of(rows)
    for row, title, text in transaction.documents.texts(rows, _READ_CHARACTERS):
        language = traits[row].language if row in traits else ""
        read = f"{title}\n{text}"[: left[language]]
        left[language] -= min(len(read) + 1, left[language])
        spans = tokeniser.of_language(language).spans(read, of_row[row])
        written[language] += ((token, read[start:end]) for start, end, token in spans)
    forms: dict[str, str] = {}
    for own in written.values():
        forms = usual_forms(own) | forms
    return forms
