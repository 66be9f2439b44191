"""Query: words, vector, required phrases.

Candidates are found by their tokens; then the text of each is looked at, because only the text
knows its endings and its stop words. At most `MOST_READ` texts are read for a phrase, those that
the words of the phrase rank first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.index.fusion import known_part
from lpisearch.model.answers import Suggestion
from lpisearch.model.documents import Filter
from lpisearch.numeric.rows import SparseRows
from lpisearch.search.expansion import LibraryWords, asked_of, expand, suggest
from lpisearch.search.parser import parse_plain, parse_query
from lpisearch.storage.filters import Prefix
from lpisearch.text.characters import WrittenPhrase

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from lpisearch.index.postings import Postings
    from lpisearch.index.snapshot import Reading
    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.search.expansion import WordSource
    from lpisearch.search.parser import ParsedQuery, Phrase
    from lpisearch.search.searcher import View
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.text.tokeniser import Tokeniser


@dataclass(frozen=True, eq=False, slots=True)
class Request:
    """What is looked for.

    Attributes
    ----------
    tokens
        Its words.
    question
        The same for the index; None without one.
    allowed
        Keys of the documents that may be found; None for all.
    left_out
        Keys of those that may not.
    feedback
        Whether the documents that are found first may move the question towards them.
    in_table
        What the full-text table is asked for, if not the tokens.
    phrases, occurrences
        What was quoted, and how often it stands in each document.
    counts
        How much each term counts in the subspace.
    unknown_tokens, unknown
        Terms that are in no document; the words, and what may have been meant.
    notes
        What is to be said of the query.
    """

    tokens: tuple[str, ...]
    question: Question | None = None
    allowed: AbstractSet[int] | None = None
    left_out: frozenset[int] = frozenset()
    feedback: bool = True
    in_table: tuple[str, ...] | None = None
    phrases: tuple[WrittenPhrase, ...] = ()
    occurrences: Mapping[int, int] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)
    unknown_tokens: tuple[str, ...] = ()
    unknown: tuple[Suggestion, ...] = ()
    notes: tuple[str, ...] = ()


def request_of(view: View, text: str, where: Filter) -> Request:
    """Take a query apart: the terms it stands for, and the documents that meet its demands.

    Raises
    ------
    BadOption
        A date of the filter is none.
    """
    parsed = parse_query(text, view.tokeniser)
    of_library = LibraryWords(view.reading, view.tokeniser)
    request, words = _terms_of(view, text, parsed, of_library)

    def spellings(token: str) -> tuple[str, ...]:
        typed = parsed.typed.get(token, "")
        return words.words(token).spelled_like(token, typed)

    def beginning(prefix: str) -> tuple[str, ...]:
        return words.words(prefix).beginning_with(prefix)

    meant = Words(view.tokeniser, spellings, beginning)
    found = demanded(view.reading, where, parsed, meant)
    unknown = _as_typed(request.unknown_tokens, parsed, text)
    return replace(
        request,
        allowed=found.rows,
        phrases=_written(parsed),
        occurrences=found.occurrences,
        unknown=suggest(view.snapshot, view.tokeniser, words, unknown),
        notes=(*request.notes, *found.notes),
    )


def words_of(view: View, text: str) -> Request:
    """Take a query apart as far as its words and phrases go: nothing is said of what it finds."""
    parsed = parse_query(text, view.tokeniser)
    request, _ = _terms_of(view, text, parsed, LibraryWords(view.reading, view.tokeniser))
    return replace(request, phrases=_written(parsed))


def plain_request_of(view: View, text: str) -> Request:
    """Take prose for a query: quotes, stars and minus signs in it ask for nothing."""
    parsed = parse_plain(text, view.tokeniser)
    of_library = LibraryWords(view.reading, view.tokeniser)
    request, _ = _terms_of(view, text, parsed, of_library, plain=True)
    unknown = _as_typed(request.unknown_tokens, parsed, text)
    return replace(request, unknown=tuple(Suggestion(word, ()) for word in unknown))


def _written(parsed: ParsedQuery) -> tuple[WrittenPhrase, ...]:
    """Return the phrases that stand somewhere in a text as they are written."""
    shown = (phrase for phrase in parsed.phrases if phrase.written and not phrase.in_title)
    return tuple(WrittenPhrase(phrase.written) for phrase in shown)


def _as_typed(tokens: Iterable[str], parsed: ParsedQuery, text: str) -> list[str]:
    """Return what was typed for tokens: words, and pairs of characters joined where they were."""
    found: list[str] = []
    for token in tokens:
        word = parsed.typed.get(token, token)
        before = found[-1] if found else ""
        joined = before + word[1:]
        if before and before[-1:] == word[:1] and joined in text:
            found[-1] = joined
        else:
            found.append(word)
    return found


def _terms_of(
    view: View, text: str, parsed: ParsedQuery, of_library: LibraryWords, *, plain: bool = False
) -> tuple[Request, WordSource]:
    """Find the terms of a query; return what is asked for, and where the library's words are."""
    engine = view.engine
    if engine is None:
        expanded = expand(parsed, of_library)
        request = Request(expanded.terms, in_table=expanded.in_table)
        return replace(request, unknown_tokens=expanded.unknown, notes=expanded.notes), of_library
    source = view.words.of(engine, view.index_tokeniser)
    is_current = view.index_tokeniser is view.tokeniser
    parse = parse_plain if plain else parse_query
    expanded = expand(parsed if is_current else parse(text, view.index_tokeniser), source)
    request = Request(
        expanded.terms if is_current else parsed.tokens,
        asked_of(engine, expanded),
        in_table=expanded.in_table,
        counts=expanded.counts(),
        unknown_tokens=expanded.unknown,
        notes=expanded.notes,
    )
    return request, source if is_current else of_library


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

    snapshot: ReadTransaction
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


def _first(snapshot: ReadTransaction, phrase: Phrase, candidates: Collection[int]) -> set[int]:
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


@dataclass(frozen=True, eq=False, slots=True)
class Question:
    """A query in the numbers of an index.

    Attributes
    ----------
    words
        Numbers of its terms in the postings.
    weights
        How much each counts for BM25: how often it is in the query, unless it was made of
        documents.
    vector
        Its place in the subspace at unit length; zeros if no word has a column.
    unknown
        Words that are in no document.
    length
        How many words it has, unknown ones too.
    known
        How much of it the map knows, from 0 to 1: see `known_part` in fusion.py.
    """

    words: NDArray[np.int64]
    weights: NDArray[np.float32]
    vector: NDArray[np.float32]
    unknown: tuple[str, ...] = ()
    length: int = 0
    known: float = 1.0

    def is_known(self, by: str) -> bool:
        """Whether a leg has anything to go by: "lexical" and "semantic" are one, "hybrid" both."""
        words = bool(len(self.words)) and by != "semantic"
        return words or (self.has_place and by != "lexical")

    @property
    def has_place(self) -> bool:
        """Whether it lies anywhere in the subspace."""
        return bool(self.vector.any())


def ask(
    index: SubspaceIndex, postings: Postings, tokens: Iterable[str] | Mapping[str, float]
) -> Question:
    """Find the terms of a query and place it as the documents were placed.

    Tokens may be counted already, and count in parts.
    """
    counted = Counter(tokens)
    numbers = {token: postings.find(token) for token in counted}
    known = {numbers[token]: count for token, count in counted.items() if numbers[token] >= 0}
    words = np.array(sorted(known), np.int64)
    counts = np.array([known[number] for number in words.tolist()], np.float32)
    unknown = tuple(token for token in counted if numbers[token] < 0)
    return Question(
        words,
        counts,
        place(index, postings, words, counts),
        unknown,
        length=round(sum(counted.values())),
        known=_known(postings, words, counts, [counted[token] for token in unknown]),
    )


def _known(
    postings: Postings,
    words: NDArray[np.int64],
    counts: NDArray[np.float32],
    unknown: Sequence[int],
) -> float:
    nowhere = np.zeros(len(unknown), np.int64)
    return known_part(
        np.concatenate([counts, np.array(unknown, np.float32)]),
        np.concatenate([postings.frequencies(words), nowhere]),
        np.concatenate([postings.lexicon_columns[words] >= 0, nowhere.astype(np.bool_)]),
        postings.n_documents,
    )


def place(
    index: SubspaceIndex,
    postings: Postings,
    words: NDArray[np.int64],
    counts: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Place counts of terms where a document with them would lie."""
    columns = postings.lexicon_columns[words]
    known = columns >= 0
    columns, counts = columns[known], counts[known]
    weights = index.weighting.weigh_query(columns, counts)
    rows = SparseRows.of_query(columns, weights, index.n_terms)
    return np.asarray(index.place(rows)[0])
