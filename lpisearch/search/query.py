"""Query: a text parsed, its words looked up, and the documents that meet its demands.

Candidates for a phrase are found by their tokens; then their texts are read, because only the text
has endings and stop words. At most `MOST_READ` texts are read for a phrase: those that its words
rank first.
"""

from __future__ import annotations

import glob
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.errors import BadOption, QueryFieldInvalid
from lpisearch.model.answers import Suggestion
from lpisearch.model.documents import Filter
from lpisearch.numeric.rows import positions
from lpisearch.search import parser
from lpisearch.search.compounds import Compound, consists_of
from lpisearch.search.expansion import WordSource, english_spellings, expand, is_listed, suggest
from lpisearch.search.notes import check_labels
from lpisearch.storage.reading import Prefix
from lpisearch.text.characters import WrittenPhrase

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from lpisearch.search.engine import Engine
    from lpisearch.search.parser import ParsedQuery, Phrase
    from lpisearch.search.snapshot import Snapshot

    Numbers = NDArray[np.int64]


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
    forms
        The other terms that stand for a word typed: its irregular forms, its other spellings.
    ordered, sequence
        The words as typed, in order, in the tokens of the index, and their numbers in its
        postings; below 0 for one that is in no text. None if documents are the query.
    vector
        In the subspace, at unit length; zeros if no term has a column.
    is_named
        Whether a word is in a title, a heading or a path.
    length, known
        How many terms there are, and how much of them the subspace covers (0 to 1).
    allowed, excluded
        Keys of the documents that may be found (None for all), and of those that may not.
    phrases, occurrences
        The quoted texts, and how often they occur in each document.
    compounds
        Words joined without a space, which are implied phrases.
    feedback
        Whether the documents that are found first move the query.
    unknown_tokens, unknown
        Terms in no document; the words as typed, with suggestions.
    misspelt
        What was typed, where `text` is a correction of it; else "".
    notes
        What the user should know about the query.
    language
        That of its words, if the documents have several; "" if the words do not tell.
    """

    text: str = ""
    tokens: tuple[str, ...] = ()
    fts_tokens: tuple[str, ...] = ()
    words: Numbers = field(default_factory=lambda: _none(np.int64))
    weights: NDArray[np.float32] = field(default_factory=lambda: _none(np.float32))
    counts: Mapping[str, float] = field(default_factory=dict)
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ordered: tuple[str, ...] = ()
    sequence: Numbers = field(default_factory=lambda: _none(np.int64))
    vector: NDArray[np.float32] = field(default_factory=lambda: _none(np.float32))
    is_named: bool = False
    length: int = 0
    known: float = 1.0
    allowed: AbstractSet[int] | None = None
    excluded: frozenset[int] = frozenset()
    phrases: tuple[WrittenPhrase, ...] = ()
    occurrences: Mapping[int, int] = field(default_factory=dict)
    compounds: tuple[Compound, ...] = ()
    feedback: bool = True
    unknown_tokens: tuple[str, ...] = ()
    unknown: tuple[Suggestion, ...] = ()
    misspelt: str = ""
    notes: tuple[str, ...] = ()
    language: str = ""

    def is_known(self, by: str) -> bool:
        """Tell whether a mode can rank by it: "hybrid" by its words or its vector."""
        words = bool(len(self.words)) or self.is_named
        return (by != "semantic" and words) or (by != "lexical" and self.has_vector)

    @property
    def has_vector(self) -> bool:
        """Whether it has a direction in the subspace."""
        return bool(self.vector.any())


def parse_query(text: str, snapshot: Snapshot, where: Filter, *, literal: bool = False) -> Query:
    """Parse a query and look up its terms, and the documents that meet its demands and a filter.

    A misspelt word that no document contains is replaced by the nearest that some do, unless the
    query is literal.
    """
    check_labels(where, snapshot)
    query, parsed, source = _corrected(text, snapshot, literal=literal)
    matches = Matches(snapshot, parsed, source, where)
    return replace(
        query,
        allowed=matches.keys,
        phrases=_written(parsed),
        occurrences=matches.occurrences,
        notes=(*query.notes, *matches.notes),
    )


def parse_words(text: str, snapshot: Snapshot, *, literal: bool = False) -> Query:
    """Parse a query and look up its terms and phrases, but not what matches them."""
    query, parsed, _ = _corrected(text, snapshot, literal=literal)
    return replace(query, phrases=_written(parsed))


def _corrected(
    text: str, snapshot: Snapshot, *, literal: bool
) -> tuple[Query, ParsedQuery, WordSource]:
    """Parse a query and look up its terms, after correcting words that no document contains."""
    parsed = parser.parse_query(text, *snapshot.tokenisers_of(text))
    query, source = _look_up(text, parsed, snapshot)
    tokens = dict.fromkeys(query.unknown_tokens)
    unknown = suggest(snapshot, source, _as_typed(tokens, parsed, text))
    query = replace(query, unknown=unknown)
    # What is demanded is demanded as it is typed.
    demanded = {token for phrase in (*parsed.read_for, *parsed.phrases) for token in phrase.tokens}
    kept = {parsed.typed.get(token, token) for token in demanded & tokens.keys()}
    words = {
        one.word: one.nearest[0]
        for one in unknown
        if one.nearest and one.word not in kept and not is_listed(one.word, snapshot)
    }
    if literal or not words:
        return query, parsed, source
    corrected = text
    for word, nearest in words.items():
        corrected = re.sub(rf"(?<![\w:-]){re.escape(word)}(?![\w*])", nearest, corrected)
    if corrected == text:
        return query, parsed, source
    parsed = parser.parse_query(corrected, *snapshot.tokenisers_of(corrected))
    query, source = _look_up(corrected, parsed, snapshot)
    return replace(query, unknown=unknown, misspelt=text), parsed, source


def parse_prose(text: str, snapshot: Snapshot) -> Query:
    """Look up the terms of prose, in which quotes, stars and minus signs have no meaning."""
    parsed = parser.parse_plain(text, *snapshot.tokenisers_of(text))
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
    language = snapshot.language_of(text)
    if language:  # the stem of another language is often another word
        unknown = {token for token in own.variants if not source.has(token)}
        variants = {token: own.variants[token] for token in unknown}
        own = replace(own, variants=variants)
    expansion = expand(own, source)
    query = Query() if engine is None else expansion.look_up(engine)
    query = replace(
        query,
        text=text,
        tokens=expansion.terms if is_current else parsed.tokens,
        fts_tokens=expansion.fts_tokens,
        compounds=parsed.compounds,
        feedback=not _all_identifiers(parsed),
        unknown_tokens=_without_wholes(expansion.unknown, parsed),
        notes=expansion.notes,
        language=language,
    )
    if engine is not None and is_current:
        query = weigh_in_language(query, engine, snapshot)
    return query, source if is_current else snapshot.library_words


def in_other_languages(rows: Numbers, query: Query, snapshot: Snapshot) -> Numbers:
    """Return the positions of documents in another language than a query; none if it has none."""
    documents = snapshot.languages
    if query.language not in documents or len(documents) == 1:
        return np.empty(0, np.int64)
    # The fewer ones are read.
    if 2 * documents[query.language] > sum(documents.values()):
        return positions(snapshot.in_language(query.language, other=True), rows)
    is_other = rows >= 0
    is_other[positions(snapshot.in_language(query.language), rows)] = False
    return np.flatnonzero(is_other)


def weigh_in_language(query: Query, engine: Engine, snapshot: Snapshot) -> Query:
    """Weigh the words of a query by their idf among the documents in its language.

    Words that are common there would look rare because the other languages lack them.
    """
    from lpisearch.index.postings import inverse_frequency
    from lpisearch.text.vocabulary import general_words

    rows = engine.index.document_rows
    others = in_other_languages(rows, query, snapshot)
    if not len(others) or not len(query.words):
        return query
    is_own = np.ones(len(rows), np.bool_)
    is_own[others] = False
    postings = engine.postings
    n_documents = engine.units.size - len(others)
    holders = (postings.entries(word)[0] for word in query.words.tolist())
    found = [np.count_nonzero(is_own[own]) for own in holders]
    idf = inverse_frequency(np.array(found, np.int64), n_documents)
    general = general_words(query.language)
    if general is not None:
        idf += general.idf(map(postings.term, query.words.tolist()), n_documents)
    share = idf / engine.units.idf(query.words)
    return replace(query, weights=(query.weights * share).astype(np.float32))


def _all_identifiers(parsed: ParsedQuery) -> bool:
    """Tell whether there is nothing but identifiers, which documents found first must not move."""
    identifiers = [compound for compound in parsed.compounds if compound.is_identifier]
    return consists_of(parsed.tokens, identifiers) and not parsed.prefixes


def _without_wholes(unknown: tuple[str, ...], parsed: ParsedQuery) -> tuple[str, ...]:
    """Leave out camelCase words of which a part is known."""
    wholes = {
        compound.tokens[0]
        for compound in parsed.compounds
        if not {*compound.tokens[1:]}.issubset(unknown)
    }
    return tuple(token for token in unknown if token not in wholes)


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
        transaction = snapshot.transaction
        self._documents, self._lexical = transaction.documents, transaction.lexical
        self.occurrences: Counter[int] = Counter()
        self.notes: list[str] = []
        phrases = [
            phrase.tokens
            for phrase in parsed.phrases
            if _needs_no_text(phrase) and not phrase.variants
        ]
        excluded = [
            tokens
            for phrase in parsed.excluded
            if _needs_no_text(phrase)
            for tokens in (phrase.tokens, *phrase.variants)
        ]
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
            if not _needs_no_text(phrase) or phrase.variants:
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
        """Return the other spellings of a token: without accents, in the other English."""
        typed = self._parsed.typed.get(token, "")
        others = english_spellings(token, typed, self._source)
        return (*self._source.words(token).spelled_like(token, typed), *sorted(others))

    def _beginning(self, prefix: str) -> tuple[str, ...]:
        return self._source.words(prefix).beginning_with(prefix)

    def _remaining(self) -> AbstractSet[int]:
        return set(self._documents.keys()) if self.keys is None else self.keys

    def _counts(self, phrase: Phrase) -> dict[int, int]:
        """Return how often a phrase occurs in each document that has it."""
        if phrase.kind:
            return dict.fromkeys(self._named(phrase), 1)
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

    def _named(self, phrase: Phrase) -> AbstractSet[int]:
        """Return the documents that ext:, dir:, date: or label: name."""
        found: set[int] = set()
        for where in _filters(phrase):
            check_labels(where, self._snapshot)
            found |= self._snapshot.matching(where) or set()
        return found if self.keys is None else found & self.keys

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
        else:
            every = (phrase.tokens, *phrase.variants)
            candidates = set[int]().union(*(self._with(phrase, tokens) for tokens in every))
        return candidates if self.keys is None else candidates & self.keys

    def _with(self, phrase: Phrase, tokens: tuple[str, ...]) -> AbstractSet[int]:
        """Return the documents that may contain a phrase by its tokens in one language."""
        if phrase.written or len(tokens) == 1:
            alternatives = [(token, *self._spellings(token)) for token in tokens]
            return self._lexical.candidates(alternatives)
        return self._lexical.allowed(Filter(), _TokenDemands([tokens], [])) or set()

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
        languages = self._snapshot.languages or ("",)
        tokenisers = [self._snapshot.tokeniser.of_language(name) for name in languages]
        if phrase.written:
            return WrittenPhrase(phrase.written).count
        if phrase.prefix:
            terms = {*self._beginning(phrase.prefix)}
            first = tokenisers[0].tokens
            return lambda title: sum(token in terms for token in first(title))
        patterns = [
            [{token, *self._spellings(token)} for token in tokens]
            for tokens in (phrase.tokens, *phrase.variants)
        ]

        def count(title: str) -> int:
            return max(
                _times(pattern, tokeniser.tokens(title))
                for tokeniser in tokenisers
                for pattern in patterns
            )

        return count


def _times(pattern: Sequence[AbstractSet[str]], tokens: Sequence[str]) -> int:
    """Return how often a sequence of alternatives occurs in tokens."""
    return sum(
        all(token in terms for token, terms in zip(tokens[start:], pattern, strict=False))
        for start in range(len(tokens) - len(pattern) + 1)
    )


def _filters(phrase: Phrase) -> list[Filter]:
    """Return the filters of which a document must pass one."""
    value = phrase.value
    match phrase.kind:
        case "label":
            return [Filter(labels=(value,))]
        case "dir":
            return [Filter(path=value)]
        case "date":
            from lpisearch.storage.corpus import conditions

            since, dots, until = value.partition("..")
            try:
                where = Filter(since=since, until=until if dots else since)
                conditions(where)
            except BadOption:
                where = Filter()
            if where == Filter():
                raise QueryFieldInvalid(phrase.typed, value)
            return [where]
    # In either case, packed or not: a glob has no way to ignore case.
    ending = "".join(
        f"[{one.lower()}{one.upper()}]" if one.isalpha() else glob.escape(one)
        for one in value.lstrip(".")
    )
    return [Filter(path=f"*.{ending}"), Filter(path=f"*.{ending}.gz")]


def _in_no_document(phrase: Phrase) -> str:
    if phrase.kind:
        return f"No document matches {phrase.typed}"
    if phrase.in_title:
        return f"No title contains “{phrase.typed}”"
    if not phrase.written:
        return f"No document contains “{phrase.typed}”"
    stems = f'; "{phrase.written}"~ also matches other word forms' if phrase.tokens else ""
    return f"No document contains exactly “{phrase.written}”{stems}"


def _needs_no_text(phrase: Phrase) -> bool:
    """Tell whether the full-text table alone finds a phrase."""
    return not (phrase.written or phrase.in_title or phrase.kind)
