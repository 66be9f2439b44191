"""Query: a text parsed, its words looked up, and the documents that meet its demands.

Candidates for a phrase are found by their tokens; then their texts are read, because only the text
has endings and stop words. At most `MOST_READ` texts are read for a phrase: those that its words
rank first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.model.answers import Suggestion
from lpisearch.model.documents import Filter
from lpisearch.search import parser
from lpisearch.search.expansion import WordSource, expand, suggest
from lpisearch.search.notes import check_labels
from lpisearch.storage.filters import Prefix
from lpisearch.text.characters import WrittenPhrase

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from lpisearch.search.parser import ParsedQuery, Phrase
    from lpisearch.search.snapshot import Snapshot


MOST_READ = 100_000


def _none(kind: type) -> NDArray:  # type: ignore[type-arg]
    return np.empty(0, kind)


@dataclass(frozen=True, eq=False, slots=True)
class Query:
    """What a search looks for. A document can be a query, too: `similar`, feedback.

    Attributes
    ----------
    text
        As typed; "" for a document.
    tokens, fts_tokens
        The terms in the library's tokens, and what its full-text table is searched for.
    words, weights, counts
        The numbers of the terms in the postings of the index; how much each counts for BM25 (how
        often it occurs, unless documents moved the query); how much it counts in the subspace.
    vector
        In the subspace, at unit length; zeros if no term has a column.
    length, known
        How many terms there are, and how much of them the subspace covers (0 to 1).
    allowed, excluded
        Keys of the documents that may be found (None for all), and of those that may not.
    phrases, occurrences
        The quoted texts, and how often they occur in each document.
    feedback
        Whether the documents that are found first move the query.
    unknown_tokens, unknown
        Terms in no document; the words as typed, with suggestions.
    notes
        What the user should know about the query.
    """

    text: str = ""
    tokens: tuple[str, ...] = ()
    fts_tokens: tuple[str, ...] = ()
    words: NDArray[np.int64] = field(default_factory=lambda: _none(np.int64))
    weights: NDArray[np.float32] = field(default_factory=lambda: _none(np.float32))
    counts: Mapping[str, float] = field(default_factory=dict)
    vector: NDArray[np.float32] = field(default_factory=lambda: _none(np.float32))
    length: int = 0
    known: float = 1.0
    allowed: AbstractSet[int] | None = None
    excluded: frozenset[int] = frozenset()
    phrases: tuple[WrittenPhrase, ...] = ()
    occurrences: Mapping[int, int] = field(default_factory=dict)
    feedback: bool = True
    unknown_tokens: tuple[str, ...] = ()
    unknown: tuple[Suggestion, ...] = ()
    notes: tuple[str, ...] = ()

    def is_known(self, by: str) -> bool:
        """Tell whether a mode can rank by it: "hybrid" by its words or its vector."""
        return (by != "semantic" and bool(len(self.words))) or (by != "lexical" and self.has_vector)

    @property
    def has_vector(self) -> bool:
        """Whether it has a direction in the subspace."""
        return bool(self.vector.any())


def parse_query(text: str, snapshot: Snapshot, where: Filter) -> Query:
    """Parse a query and look up its terms, and the documents that meet its demands and a filter."""
    check_labels(where, snapshot)
    parsed = parser.parse_query(text, snapshot.tokeniser)
    query, source = _look_up(text, parsed, snapshot)
    matches = Matches(snapshot, parsed, source, where)
    unknown = _as_typed(query.unknown_tokens, parsed, text)
    return replace(
        query,
        allowed=matches.keys,
        phrases=_written(parsed),
        occurrences=matches.occurrences,
        unknown=suggest(snapshot, source, unknown),
        notes=(*query.notes, *matches.notes),
    )


def parse_words(text: str, snapshot: Snapshot) -> Query:
    """Parse a query and look up its terms and phrases, but not what matches them."""
    parsed = parser.parse_query(text, snapshot.tokeniser)
    query, _ = _look_up(text, parsed, snapshot)
    return replace(query, phrases=_written(parsed))


def parse_prose(text: str, snapshot: Snapshot) -> Query:
    """Look up the terms of prose, in which quotes, stars and minus signs have no meaning."""
    parsed = parser.parse_plain(text, snapshot.tokeniser)
    query, _ = _look_up(text, parsed, snapshot, parser.parse_plain)
    unknown = _as_typed(query.unknown_tokens, parsed, text)
    return replace(query, unknown=tuple(Suggestion(word, ()) for word in unknown))


def _look_up(
    text: str,
    parsed: ParsedQuery,
    snapshot: Snapshot,
    parse: Callable[..., ParsedQuery] = parser.parse_query,
) -> tuple[Query, WordSource]:
    """Return the terms of a query, and where the words of the library are found."""
    engine, is_current = snapshot.engine, snapshot.index_tokeniser is snapshot.tokeniser
    source = snapshot.library_words if engine is None else snapshot.index_words
    own = parsed if is_current else parse(text, snapshot.index_tokeniser)
    expansion = expand(own, source)
    query = Query() if engine is None else expansion.look_up(engine)
    query = replace(
        query,
        text=text,
        tokens=expansion.terms if is_current else parsed.tokens,
        fts_tokens=expansion.fts_tokens,
        unknown_tokens=expansion.unknown,
        notes=expansion.notes,
    )
    return query, source if is_current else snapshot.library_words


def _written(parsed: ParsedQuery) -> tuple[WrittenPhrase, ...]:
    """Return the phrases that occur in a text as they are written."""
    shown = (phrase for phrase in parsed.phrases if phrase.written and not phrase.in_title)
    return tuple(WrittenPhrase(phrase.written) for phrase in shown)


def _as_typed(tokens: Iterable[str], parsed: ParsedQuery, text: str) -> list[str]:
    """Return the words typed for tokens; pairs of characters are joined where they were."""
    typed: list[str] = []
    for token in tokens:
        word = parsed.typed.get(token, token)
        before = typed[-1] if typed else ""
        joined = before + word[1:]
        if before and before[-1:] == word[:1] and joined in text:
            typed[-1] = joined
        else:
            typed.append(word)
    return typed


@dataclass(frozen=True, slots=True)
class _TokenDemands:
    phrases: Sequence[Sequence[str]]
    excluded: Sequence[Sequence[str]]


class Matches:
    """The documents that match a filter and the demands of a query, narrowed one by one.

    Attributes
    ----------
    keys
        Of the documents; None if nothing is demanded.
    occurrences
        How often the phrases occur in each document.
    notes
        What the user should know.
    """

    def __init__(
        self, snapshot: Snapshot, parsed: ParsedQuery, source: WordSource, where: Filter
    ) -> None:
        self._snapshot, self._parsed, self._source = snapshot, parsed, source
        self._documents, self._lexical = (
            snapshot.transaction.documents,
            snapshot.transaction.lexical,
        )
        self.occurrences: Counter[int] = Counter()
        self.notes: list[str] = []
        phrases = [phrase.tokens for phrase in parsed.phrases if _needs_no_text(phrase)]
        excluded = [phrase.tokens for phrase in parsed.excluded if _needs_no_text(phrase)]
        words = [tokens[0] for tokens in excluded if len(tokens) == 1]
        excluded += [(other,) for word in words for other in self._spellings(word)]
        excluded += [(Prefix(prefix),) for prefix in parsed.excluded_prefixes]
        self.keys: AbstractSet[int] | None
        if phrases or excluded:
            self.keys = self._lexical.allowed(where, _TokenDemands(phrases, excluded))
        else:
            self.keys = snapshot.matching(where)
        self._require()
        self._exclude()
        self._require_any()

    def _require(self) -> None:
        for phrase in self._parsed.phrases:
            if not _needs_no_text(phrase):
                counts = self._counts(phrase)
                if not counts and self.keys != set():
                    self.notes.append(_in_no_document(phrase))
                self.keys = set(counts)
                self.occurrences.update(counts)

    def _exclude(self) -> None:
        for phrase in self._parsed.excluded:
            if not _needs_no_text(phrase):
                self.keys = self._remaining() - self._counts(phrase).keys()

    def _require_any(self) -> None:
        for group in self._parsed.any_of:
            counts = self._counts_any(group.alternatives)
            if group.excluded:
                self.keys = self._remaining() - counts.keys()
                continue
            if not counts and self.keys != set():
                self.notes.append(f"No document contains any of: {group.typed}")
            self.keys = set(counts)
            self.occurrences.update(counts)

    def _spellings(self, token: str) -> tuple[str, ...]:
        """Return other terms that differ from a token by accents alone."""
        return self._source.words(token).spelled_like(token, self._parsed.typed.get(token, ""))

    def _beginning(self, prefix: str) -> tuple[str, ...]:
        return self._source.words(prefix).beginning_with(prefix)

    def _remaining(self) -> AbstractSet[int]:
        return set(self._documents.keys()) if self.keys is None else self.keys

    def _counts(self, phrase: Phrase) -> dict[int, int]:
        """Return how often a phrase occurs in each document that has it."""
        candidates = self._candidates(phrase)
        if phrase.in_title:
            count = self._title_counter(phrase)
            titles = self._documents.texts(candidates, 0)
            counts = {key: count(title) for key, title, _ in titles}
        elif phrase.written:
            written = WrittenPhrase(phrase.written)
            texts = self._documents.texts(self._readable(phrase, candidates))
            counts = {key: written.count(title, text) for key, title, text in texts}
        else:
            return dict.fromkeys(candidates, 1)
        return {key: count for key, count in counts.items() if count}

    def _counts_any(self, alternatives: Sequence[Sequence[Phrase]]) -> Counter[int]:
        """Return how often the alternatives occur in each document that has one."""
        total: Counter[int] = Counter()
        for alternative in alternatives:
            counts = [self._counts(phrase) for phrase in alternative]
            common = set(counts[0]).intersection(*counts[1:])
            total.update({key: sum(own[key] for own in counts) for key in common})
        return total

    def _candidates(self, phrase: Phrase) -> AbstractSet[int]:
        if phrase.prefix:
            terms = self._beginning(phrase.prefix)
            candidates = self._lexical.candidates([terms]) if terms else set()
        elif not phrase.tokens:
            return self._remaining()
        elif phrase.written or len(phrase.tokens) == 1:
            alternatives = [(token, *self._spellings(token)) for token in phrase.tokens]
            candidates = self._lexical.candidates(alternatives)
        else:
            demands = _TokenDemands([phrase.tokens], [])
            candidates = self._lexical.allowed(Filter(), demands) or set()
        return candidates if self.keys is None else candidates & self.keys

    def _readable(self, phrase: Phrase, candidates: Collection[int]) -> Collection[int]:
        """Return the candidates whose texts are read: the best by the words of the phrase."""
        if len(candidates) <= MOST_READ:
            return candidates
        self.notes.append(
            f"“{phrase.written}”: {len(candidates):,} documents may contain it; only the first "
            f"{MOST_READ:,} were checked"
        )
        scores = dict(self._lexical.bm25(phrase.tokens)) if phrase.tokens else {}
        ranked = sorted(candidates, key=lambda key: (-scores.get(key, 0.0), key))
        return set(ranked[:MOST_READ])

    def _title_counter(self, phrase: Phrase) -> Callable[[str], int]:
        """Return a function that counts a phrase in a title."""
        tokens_of = self._snapshot.tokeniser.tokens
        if phrase.written:
            return WrittenPhrase(phrase.written).count
        if phrase.prefix:
            terms = {*self._beginning(phrase.prefix)}
            return lambda title: sum(token in terms for token in tokens_of(title))
        pattern = [{token, *self._spellings(token)} for token in phrase.tokens]

        def count(title: str) -> int:
            tokens = tokens_of(title)
            return sum(
                all(token in terms for token, terms in zip(tokens[start:], pattern, strict=False))
                for start in range(len(tokens) - len(pattern) + 1)
            )

        return count


def _in_no_document(phrase: Phrase) -> str:
    if phrase.in_title:
        return f"No title contains “{phrase.typed}”"
    stems = f'; "{phrase.written}"~ also matches other word forms' if phrase.tokens else ""
    return f"No document contains exactly “{phrase.written}”{stems}"


def _needs_no_text(phrase: Phrase) -> bool:
    """Tell whether the full-text table alone finds a phrase."""
    return not phrase.written and not phrase.in_title
