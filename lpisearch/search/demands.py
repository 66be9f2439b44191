"""Which documents meet what a query demands: filters, phrases as they are written, exclusions.

Candidates are found by their tokens; then the text of each is looked at, because only the text
knows its endings and its stop words. At most `MOST_READ` texts are read for a phrase, those that
the words of the phrase rank first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lpisearch.storage import Prefix
from lpisearch.terms.phrases import WrittenPhrase

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from lpisearch.records import Filter
    from lpisearch.search.parsing import ParsedQuery, Phrase
    from lpisearch.storage import Snapshot

    Spellings = Callable[[str], Sequence[str]]

MOST_READ = 100_000


@dataclass(slots=True)
class Demanded:
    """What a query demands, looked up.

    Attributes
    ----------
    rows
        Keys of the documents that meet it; None if nothing is demanded.
    occurrences
        How often the phrases stand in each document.
    notes
        What the user should know.
    """

    rows: set[int] | None
    occurrences: Counter[int] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _ByTokens:
    phrases: Sequence[Sequence[str]]
    excluded: Sequence[Sequence[str]]


def demanded(
    snapshot: Snapshot, where: Filter, parsed: ParsedQuery, spellings: Spellings
) -> Demanded:
    """Find the documents that pass a filter and meet the demands of a query.

    Parameters
    ----------
    spellings
        Gives other terms that are a token but for accents.

    Raises
    ------
    BadOption
        A date of the filter is none.
    """
    phrases = [phrase.tokens for phrase in parsed.phrases if not phrase.written]
    excluded = [phrase.tokens for phrase in parsed.excluded if not phrase.written]
    excluded += [(other,) for (one,) in filter(_is_word, excluded) for other in spellings(one)]
    excluded += [(Prefix(prefix),) for prefix in parsed.excluded_prefixes]
    found = Demanded(snapshot.lexical.allowed(where, _ByTokens(phrases, excluded)))
    for phrase in parsed.phrases:
        if phrase.written:
            counts = _written(snapshot, phrase, found, spellings)
            if not counts and found.rows != set():
                found.notes.append(_in_no_document(phrase))
            found.rows = set(counts)
            found.occurrences.update(counts)
    for phrase in parsed.excluded:
        if phrase.written:
            counts = _written(snapshot, phrase, found, spellings)
            every = set(snapshot.documents.keys()) if found.rows is None else found.rows
            found.rows = every - counts.keys()
    return found


def _written(
    snapshot: Snapshot, phrase: Phrase, found: Demanded, spellings: Spellings
) -> dict[int, int]:
    """Return how often a phrase stands in each document, of those that are still in question."""
    if phrase.tokens:
        alternatives = [(token, *spellings(token)) for token in phrase.tokens]
        candidates = snapshot.lexical.candidates(alternatives)
        if found.rows is not None:
            candidates &= found.rows
    else:
        candidates = set(snapshot.documents.keys()) if found.rows is None else found.rows
    if len(candidates) > MOST_READ:
        found.notes.append(
            f"“{phrase.written}”: {len(candidates):,} documents may have it; "
            f"the first {MOST_READ:,} were read"
        )
        candidates = _first(snapshot, phrase, candidates)
    written = WrittenPhrase(phrase.written)
    counts = {
        row: written.count(title, text) for row, title, text in snapshot.documents.texts(candidates)
    }
    return {row: count for row, count in counts.items() if count}


def _first(snapshot: Snapshot, phrase: Phrase, candidates: Collection[int]) -> set[int]:
    scores = dict(snapshot.lexical.bm25(phrase.tokens)) if phrase.tokens else {}
    ranked = sorted(candidates, key=lambda row: (-scores.get(row, 0.0), row))
    return set(ranked[:MOST_READ])


def _in_no_document(phrase: Phrase) -> str:
    stems = f'; "{phrase.written}"~ looks for its stems' if phrase.tokens else ""
    return f"in no document as it is written: “{phrase.written}”{stems}"


def _is_word(phrase: Sequence[str]) -> bool:
    return len(phrase) == 1
