"""Find the documents that match filters, phrases and exclusions.

Candidates are found by their tokens; then the text of each is looked at, because only the text
knows its endings and its stop words. At most `MOST_READ` texts are read for a phrase, those that
the words of the phrase rank first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lpisearch.records import Filter
from lpisearch.storage import Prefix
from lpisearch.terms.phrases import WrittenPhrase

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from collections.abc import Set as AbstractSet

    from lpisearch.indexes.opening import Reading
    from lpisearch.search.parsing import ParsedQuery, Phrase
    from lpisearch.storage import Snapshot
    from lpisearch.terms.tokeniser import Tokeniser

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

    rows: AbstractSet[int] | None
    occurrences: Counter[int] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _ByTokens:
    phrases: Sequence[Sequence[str]]
    excluded: Sequence[Sequence[str]]


def demanded(reading: Reading, where: Filter, parsed: ParsedQuery, words: Words) -> Demanded:
    """Find the documents that pass a filter and meet the demands of a query.

    Parameters
    ----------
    reading
        The documents.
    words
        What other terms a token or the beginning of a word stands for.

    Raises
    ------
    BadOption
        A date of the filter is none.
    """
    phrases = [phrase.tokens for phrase in parsed.phrases if _is_of_tokens(phrase)]
    excluded = [phrase.tokens for phrase in parsed.excluded if _is_of_tokens(phrase)]
    excluded += [(other,) for (one,) in filter(_is_word, excluded) for other in words.spelled(one)]
    excluded += [(Prefix(prefix),) for prefix in parsed.excluded_prefixes]
    snapshot = reading.snapshot
    found = Demanded(
        snapshot.lexical.allowed(where, _ByTokens(phrases, excluded))
        if phrases or excluded
        else reading.passing(where)
    )
    finder = _Finder(snapshot, words, found)
    for phrase in parsed.phrases:
        if not _is_of_tokens(phrase):
            counts = finder.counts(phrase)
            if not counts and found.rows != set():
                found.notes.append(_in_no_document(phrase))
            found.rows = set(counts)
            found.occurrences.update(counts)
    for phrase in parsed.excluded:
        if not _is_of_tokens(phrase):
            found.rows = finder.within() - finder.counts(phrase).keys()
    for group in parsed.any_of:
        met = finder.any_of(group.alternatives)
        if not met and not group.excluded and found.rows != set():
            found.notes.append(f"No document contains any of: {group.typed}")
        found.rows = finder.within() - met.keys() if group.excluded else set(met)
        found.occurrences.update({} if group.excluded else met)
    return found


@dataclass(frozen=True, slots=True)
class Words:
    """What a token and the beginning of a word stand for in a library.

    Attributes
    ----------
    tokeniser
        Of the library.
    spelled
        Gives other terms that are a token but for accents.
    beginning
        Gives the terms that begin so.
    """

    tokeniser: Tokeniser
    spelled: Callable[[str], Sequence[str]]
    beginning: Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds what has a phrase, of the documents that are still in question."""

    snapshot: Snapshot
    words: Words
    found: Demanded

    def within(self) -> AbstractSet[int]:
        """Return the documents that are still in question."""
        rows = self.found.rows
        return set(self.snapshot.documents.keys()) if rows is None else rows

    def counts(self, phrase: Phrase) -> dict[int, int]:
        """Return how often a phrase stands in each document, at least once."""
        candidates = self._candidates(phrase)
        if phrase.in_title:
            return self._in_titles(phrase, candidates)
        if phrase.written:
            return self._written(phrase, candidates)
        return dict.fromkeys(candidates, 1)

    def any_of(self, alternatives: Sequence[Sequence[Phrase]]) -> Counter[int]:
        """Return how often the alternatives stand in each document that has one."""
        met: Counter[int] = Counter()
        for alternative in alternatives:
            each = [self.counts(phrase) for phrase in alternative]
            common = set(each[0]).intersection(*each[1:])
            met.update({row: sum(counts[row] for counts in each) for row in common})
        return met

    def _candidates(self, phrase: Phrase) -> AbstractSet[int]:
        lexical = self.snapshot.lexical
        if phrase.prefix:
            terms = self.words.beginning(phrase.prefix)
            candidates = lexical.candidates([terms]) if terms else set()
        elif not phrase.tokens:
            return self.within()
        elif phrase.written or _is_word(phrase.tokens):
            alternatives = [(token, *self.words.spelled(token)) for token in phrase.tokens]
            candidates = lexical.candidates(alternatives)
        else:
            candidates = lexical.allowed(Filter(), _ByTokens([phrase.tokens], [])) or set()
        return candidates if self.found.rows is None else candidates & self.found.rows

    def _written(self, phrase: Phrase, candidates: AbstractSet[int]) -> dict[int, int]:
        if len(candidates) > MOST_READ:
            self.found.notes.append(
                f"“{phrase.written}”: {len(candidates):,} documents may contain it; only the "
                f"first {MOST_READ:,} were checked"
            )
            candidates = _first(self.snapshot, phrase, candidates)
        written = WrittenPhrase(phrase.written)
        counts = {
            row: written.count(title, text)
            for row, title, text in self.snapshot.documents.texts(candidates)
        }
        return {row: count for row, count in counts.items() if count}

    def _in_titles(self, phrase: Phrase, candidates: AbstractSet[int]) -> dict[int, int]:
        """Look through the titles alone: there is no limit to how many."""
        count = _title_counter(phrase, self.words)
        titles = self.snapshot.documents.texts(candidates, 0)
        counts = {row: count(title) for row, title, _ in titles}
        return {row: number for row, number in counts.items() if number}


def _title_counter(phrase: Phrase, words: Words) -> Callable[[str], int]:
    """Return what counts how often a phrase stands in a title."""
    if phrase.written:
        return WrittenPhrase(phrase.written).count
    if phrase.prefix:
        terms = {*words.beginning(phrase.prefix)}
        return lambda title: sum(token in terms for token in words.tokeniser.tokens(title))
    wanted = [{token, *words.spelled(token)} for token in phrase.tokens]

    def count(title: str) -> int:
        tokens = words.tokeniser.tokens(title)
        return sum(
            all(token in meant for token, meant in zip(tokens[start:], wanted, strict=False))
            for start in range(len(tokens) - len(wanted) + 1)
        )

    return count


def _first(snapshot: Snapshot, phrase: Phrase, candidates: Collection[int]) -> set[int]:
    scores = dict(snapshot.lexical.bm25(phrase.tokens)) if phrase.tokens else {}
    ranked = sorted(candidates, key=lambda row: (-scores.get(row, 0.0), row))
    return set(ranked[:MOST_READ])


def _in_no_document(phrase: Phrase) -> str:
    if phrase.in_title:
        return f"No title contains “{phrase.typed}”"
    stems = f'; "{phrase.written}"~ also matches other word forms' if phrase.tokens else ""
    return f"No document contains exactly “{phrase.written}”{stems}"


def _is_of_tokens(phrase: Phrase) -> bool:
    """Tell what the full-text table finds by itself."""
    return not phrase.written and not phrase.in_title


def _is_word(phrase: Sequence[str]) -> bool:
    return len(phrase) == 1
