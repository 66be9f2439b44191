"""Spellings, prefixes, word sources, suggestions.

In goes a parsed query and the words of the library, out comes how much each term counts. All terms
of a group count as one word that is in as many documents as they are together:

- For BM25 each has the idf of that one word, however rare it is by itself.
- In the subspace each has its share of those documents, so that the group weighs as one word.

A word that some document has as it was typed counts whole, its other spellings half; where none
has it, they count whole.

Terms are stems: the nearest are looked up, then read in a few documents as they are written there,
and the writing that is nearest to what was typed is told.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from threading import local
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lpisearch.model.answers import Suggestion
from lpisearch.storage.filters import Prefix
from lpisearch.text.characters import fold
from lpisearch.text.spelling import Words, allowed_edits, edit_distances, merit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.index.snapshot import Reading
    from lpisearch.search.engine import Engine
    from lpisearch.search.parser import ParsedQuery
    from lpisearch.search.query import Question
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.text.tokeniser import Tokeniser


MOST_TERMS = 100
"""A prefix stands for so many at most, those in the most documents."""
OTHER_SPELLING = 0.5


class WordSource(Protocol):
    """The words of an index, or of a library without one."""

    @property
    def everywhere(self) -> bool:
        """Whether other spellings cost next to nothing to find, of words that are known too."""

    def has(self, token: str) -> bool:
        """Tell whether any document has a term."""

    def words(self, typed: str) -> Words:
        """Return all terms, or at least those that a word may be another spelling of."""


@dataclass(frozen=True, slots=True)
class Group:
    """Terms that count together as one word.

    Attributes
    ----------
    terms
        With the number of documents of each.
    share
        How much of a word they count.
    prefix
        What all of them begin with; "" for spellings.
    """

    terms: tuple[tuple[str, int], ...]
    share: float
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Expanded:
    """How much each term counts.

    Attributes
    ----------
    tokens
        As typed, without those that only have other spellings.
    groups
        What is looked for beside them.
    unknown
        Tokens that no document has, in no spelling.
    notes
        What the user should know.
    """

    tokens: tuple[str, ...]
    groups: tuple[Group, ...]
    unknown: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def terms(self) -> tuple[str, ...]:
        """All terms that are looked for."""
        others = (term for group in self.groups for term, _ in group.terms)
        return tuple(dict.fromkeys((*self.tokens, *others)))

    @property
    def in_table(self) -> tuple[str, ...]:
        """What the full-text table is asked for: it counts all that begin alike as one word."""
        tokens = list(self.tokens)
        for group in self.groups:
            tokens += [Prefix(group.prefix)] if group.prefix else []
            tokens += [
                term
                for term, _ in group.terms
                if not group.prefix or term[: len(group.prefix)] != group.prefix
            ]
        return tuple(tokens)

    def counts(self) -> Mapping[str, float]:
        """Return how much each term counts in the subspace."""
        counts: Counter[str] = Counter(self.tokens)
        for group in self.groups:
            together = sum(documents for _, documents in group.terms)
            for term, documents in group.terms:
                counts[term] += group.share * documents / together  # type: ignore[assignment]
        return counts

    def weights(self, documents: int) -> Mapping[str, float]:
        """Return how much each term counts for BM25, of so many documents."""
        weights: Counter[str] = Counter(self.tokens)
        for group in self.groups:
            together = min(sum(each for _, each in group.terms), documents)
            for term, each in group.terms:
                part = group.share * _idf(together, documents) / _idf(each, documents)
                weights[term] += part  # type: ignore[assignment]
        return weights


def expand(parsed: ParsedQuery, source: WordSource) -> Expanded:
    """Find the terms that a query stands for."""
    groups: list[Group] = []
    unknown: list[str] = []
    only_otherwise: set[str] = set()
    demanded = {token for phrase in parsed.read_for for token in phrase.tokens}
    for token, times in Counter(parsed.tokens).items():
        known = source.has(token)
        if known and not source.everywhere and token not in demanded:
            continue
        words = source.words(token)
        like = words.spelled_like(token, parsed.typed.get(token, ""))
        if like:
            share = times * (OTHER_SPELLING if known else 1)
            groups.append(Group(tuple((term, words.documents(term)) for term in like), share))
            only_otherwise.update(() if known else {token})
        elif not known:
            unknown.append(token)
    tokens = tuple(token for token in parsed.tokens if token not in only_otherwise)
    notes = []
    for prefix in parsed.prefixes:
        group, note = _prefix(prefix, source)
        groups.extend(group)
        notes.extend(note)
    return Expanded(tokens, tuple(groups), tuple(unknown), tuple(notes))


def asked_of(engine: Engine, expanded: Expanded) -> Question:
    """Return the terms of a query as an index sees them."""
    question = engine.ask(expanded.counts())
    if not expanded.groups:
        return question
    weights = expanded.weights(engine.postings.n_documents)
    terms = map(engine.postings.term, question.words.tolist())
    return replace(question, weights=np.array([weights[term] for term in terms], np.float32))


def _prefix(prefix: str, source: WordSource) -> tuple[Iterator[Group], list[str]]:
    words = source.words(prefix)
    terms = words.beginning_with(prefix)
    if not terms:
        return iter(()), [f"No document contains a word starting with “{prefix}”"]
    notes = []
    if len(terms) > MOST_TERMS:
        notes.append(
            f"“{prefix}*” matches {len(terms):,} words; only the {MOST_TERMS} most common were "
            "searched"
        )
    some = tuple((term, words.documents(term)) for term in terms[:MOST_TERMS])
    return iter((Group(some, 1, prefix),)), notes


def _idf(documents: int, of: int) -> float:
    idf: NDArray[np.float64] = np.log1p((of - documents + 0.5) / (documents + 0.5))
    return float(idf)


# Latin letters with accents, by which another spelling may begin.
_ACCENTED = (("\u00c0", "\u0250"), ("\u1e00", "\u1f00"))


class IndexWords:
    """All words of an index."""

    everywhere = True

    def __init__(self, engine: Engine, tokeniser: Tokeniser) -> None:
        self._postings = engine.postings
        postings = engine.postings
        frequencies = postings.frequencies()
        self._words = Words(postings.lexicon, postings.lexicon_starts, frequencies, tokeniser)

    def has(self, token: str) -> bool:
        """Tell whether any document has a term."""
        return self._postings.find(token) >= 0

    def words(self, _typed: str) -> Words:
        """Return all terms."""
        return self._words


class OpenWords(local):
    """The words of the index that a thread asked last: a stemmer is not shared."""

    def __init__(self) -> None:
        self._last: tuple[Engine, IndexWords] | None = None

    def of(self, engine: Engine, tokeniser: Tokeniser) -> IndexWords:
        """Return the words of an index, whose tokeniser is given."""
        if self._last is None or self._last[0] is not engine:
            self._last = engine, IndexWords(engine, tokeniser)
        return self._last[1]


class LibraryWords:
    """The words of a library, read from its full-text table where they are needed."""

    everywhere = False

    def __init__(self, reading: Reading, tokeniser: Tokeniser) -> None:
        self._reading = reading
        self._tokeniser = tokeniser
        self._read: dict[str, Words] = {}

    def has(self, token: str) -> bool:
        """Tell whether any document has a term."""
        return bool(self._reading.snapshot.lexical.some_with(token, 1))

    def words(self, typed: str) -> Words:
        """Return the terms that begin with the first letter of a word, or with an accented one."""
        initial = fold(typed)[:1]
        if initial not in self._read:
            ranges = [(initial, chr(ord(initial) + 1))] if initial else []
            ranges += _ACCENTED if initial.isascii() else ()
            between = partial(self._reading.snapshot.lexical.terms_between, *ranges)
            # PostgreSQL reads the words of all documents for it.
            terms = self._reading.remember(f"words {initial}", between) if ranges else []
            self._read[initial] = Words.of_terms(terms, self._tokeniser)
        return self._read[initial]


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
    snapshot: ReadTransaction, tokeniser: Tokeniser, source: WordSource, typed: Iterable[str]
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
    snapshot: ReadTransaction, tokeniser: Tokeniser, rows: Sequence[int], term: str, word: str
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
