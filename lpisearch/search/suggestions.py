"""Spelling suggestions for words that no document contains.

Terms are stems: the nearest are looked up, then read in a few documents as they are written there,
and the writing that is nearest to what was typed is told.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lpisearch.records import Suggestion
from lpisearch.terms.folding import fold
from lpisearch.terms.spelling import allowed_edits, edit_distances, merit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lpisearch.search.expansion import WordSource
    from lpisearch.storage import Snapshot
    from lpisearch.terms.tokeniser import Tokeniser

MOST_WORDS = 5
"""For so many words of a query, at most, nearest ones are looked up."""
_TERMS = 5
_DOCUMENTS = 4
_CHARACTERS = 4_000
# A stem that differs so little may be meant, though documents have it in another form: one that
# was not seen counts against it.
_OTHER_FORM = 1.6
_UNSEEN = 0.5
_TOLD = 3


def suggest(
    snapshot: Snapshot, tokeniser: Tokeniser, source: WordSource, typed: Iterable[str]
) -> tuple[Suggestion, ...]:
    """Return for each word the nearest that documents have, best first; maybe none."""
    suggestions = []
    for number, word in enumerate(typed):
        if number >= MOST_WORDS:
            suggestions.append(Suggestion(word, ()))
            continue
        normal = fold(word)
        words = source.words(normal)
        ranked: dict[str, float] = {}
        for term, cost in words.nearest(normal, _TERMS):
            rows = snapshot.lexical.some_with(term, _DOCUMENTS)
            if not rows:
                continue  # the documents that had it are gone
            form, edits = _as_written(snapshot, tokeniser, rows, term, normal)
            if edits <= allowed_edits(normal) or cost <= _OTHER_FORM:
                least = min(edits, cost + _UNSEEN)
                ranked.setdefault(form, merit(normal, form, least, words.documents(term)))
        best = sorted(ranked, key=lambda form: (-ranked[form], form))
        suggestions.append(Suggestion(word, tuple(best[:_TOLD])))
    return tuple(suggestions)


def _as_written(
    snapshot: Snapshot, tokeniser: Tokeniser, rows: Sequence[int], term: str, word: str
) -> tuple[str, int]:
    """Return how documents write a term, as nearly as possible like a word, and how near."""
    forms: Counter[str] = Counter()
    for _, title, text in snapshot.documents.texts(rows, _CHARACTERS):
        whole = f"{title}\n{text}"
        for start, end, _ in tokeniser.spans(whole, {term}):
            forms[whole[start:end].casefold()] += 1
    written = [form for form, _ in forms.most_common()] or [term]
    edits = edit_distances(word, written)
    best = min(range(len(written)), key=edits.__getitem__)  # the commonest of equals
    return written[best], edits[best]
