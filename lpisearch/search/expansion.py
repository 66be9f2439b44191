"""Expansion: other spellings, prefixes, and suggestions for unknown words.

All terms of a group count as one word that occurs in as many documents as they do together:

- For BM25 each has the idf of that one word, however rare it is by itself.
- In the subspace each has its share of those documents, so that the group weighs as one word.

The irregular forms of an English word (fell, fallen) and its spellings in the other English are one
word, as its regular forms are by their stem. Of a spelling without accents, or the stem of another
language, one cannot be sure: if some document has the word as typed, they count half.

A suggestion is a whole word as documents write it, from the table of the index. Without one, it is
the form nearest to what was typed among those that a few documents with the nearest stems contain.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lpisearch.model.answers import Suggestion
from lpisearch.storage.reading import Prefix
from lpisearch.text.characters import fold
from lpisearch.text.spelling import (
    Words,
    allowed_edits,
    edit_distances,
    english_bases,
    english_variants,
    merit,
)
from lpisearch.text.vocabulary import general_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lpisearch.search.engine import Engine
    from lpisearch.search.parser import ParsedQuery
    from lpisearch.search.query import Query
    from lpisearch.search.snapshot import Snapshot
    from lpisearch.text.tokeniser import Tokeniser


MOST_TERMS = 100
"""The most terms that a prefix stands for: those in the most documents."""
OTHER_SPELLING = 0.5


class WordSource(Protocol):
    """The words of an index, or of a library without one."""

    @property
    def tokeniser(self) -> Tokeniser:
        """The tokeniser of its documents."""

    @property
    def is_cheap(self) -> bool:
        """Whether other spellings of known words, too, cost next to nothing to find."""

    def has(self, token: str) -> bool:
        """Tell whether any document has a term."""

    def words(self, typed: str) -> Words:
        """Return all terms, or at least those that a word may be another spelling of."""

    def written(self) -> Words | None:
        """Return the words as documents write them; None without a table of them."""


@dataclass(frozen=True, slots=True)
class Group:
    """Terms, with their numbers of documents, that count together as a share of one word.

    `prefix` is what all of them begin with, or "" for forms and spellings of `token`. If that is
    among them, they count in its place.
    """

    terms: tuple[tuple[str, int], ...]
    share: float
    prefix: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True)
class Expansion:
    """The terms that a query stands for.

    Attributes
    ----------
    tokens
        As typed, without those that only have other spellings.
    groups
        What is searched for in addition.
    unknown
        Tokens that no document has in any spelling.
    notes
        What the user should know.
    """

    tokens: tuple[str, ...]
    groups: tuple[Group, ...]
    unknown: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def terms(self) -> tuple[str, ...]:
        """All terms that are searched for."""
        others = (term for group in self.groups for term, _ in group.terms)
        return tuple(dict.fromkeys((*self.tokens, *others)))

    @property
    def fts_tokens(self) -> tuple[str, ...]:
        """The terms for the full-text table, which counts all with one prefix as one word."""
        tokens = list(self.tokens)
        for group in self.groups:
            tokens += [Prefix(group.prefix)] if group.prefix else []
            tokens += [
                term
                for term, _ in group.terms
                if not group.prefix or term[: len(group.prefix)] != group.prefix
            ]
        return tuple(tokens)

    @property
    def forms(self) -> Mapping[str, tuple[str, ...]]:
        """The other terms that stand for each token."""
        forms: dict[str, tuple[str, ...]] = {}
        for group in self.groups:
            if group.token:
                others = tuple(term for term, _ in group.terms if term != group.token)
                forms[group.token] = forms.get(group.token, ()) + others
        return forms

    def _by_themselves(self) -> Counter[str]:
        """Count the tokens that are not in a group."""
        joined = {group.token for group in self.groups if group.token in dict(group.terms)}
        return Counter(token for token in self.tokens if token not in joined)

    def counts(self) -> Mapping[str, float]:
        """Return how much each term counts in the subspace."""
        counts = self._by_themselves()
        for group in self.groups:
            together = sum(documents for _, documents in group.terms)
            for term, documents in group.terms:
                counts[term] += group.share * documents / together  # type: ignore[assignment]
        return counts

    def weights(
        self, n_documents: int, general: Mapping[str, float] | None = None
    ) -> Mapping[str, float]:
        """Return how much each term counts for BM25 in a library of n documents.

        `general` is what is added to the idf of each; a group has that of its commonest term.
        """
        weights = self._by_themselves()
        added = general or {}
        for group in self.groups:
            together = min(sum(documents for _, documents in group.terms), n_documents)
            least = min((added.get(term, 0.0) for term, _ in group.terms), default=0.0)
            for term, documents in group.terms:
                own = _idf(documents, n_documents) + added.get(term, 0.0)
                part = group.share * (_idf(together, n_documents) + least) / own
                weights[term] += part  # type: ignore[assignment]
        return weights

    def look_up(self, engine: Engine) -> Query:
        """Return the terms as a query to an index."""
        counts = self.counts()
        query = replace(
            engine.look_up(counts, without=self.unknown),
            counts=counts,
            forms=self.forms,
            ordered=self.tokens,
            sequence=np.array([engine.postings.find(token) for token in self.tokens], np.int64),
            is_named=any(map(engine.is_in_field, self.tokens)),
        )
        if not self.groups:
            return query
        terms = [engine.postings.term(word) for word in query.words.tolist()]
        general = engine.index.general_idf
        rare = [] if general is None else general.of(query.words).tolist()
        added = dict(zip(terms, rare, strict=False))
        weights = self.weights(engine.postings.n_documents, added)
        return replace(query, weights=np.array([weights[term] for term in terms], np.float32))


def expand(parsed: ParsedQuery, source: WordSource) -> Expansion:
    """Find the terms that a query stands for."""
    groups: list[Group] = []
    unknown: list[str] = []
    replaced: set[str] = set()
    demanded = {token for phrase in parsed.read_for for token in phrase.tokens}
    for token, times in Counter(parsed.tokens).items():
        known, typed = source.has(token), parsed.typed.get(token, "")
        forms = english_spellings(token, typed, source)
        spellings = {term for term in parsed.variants.get(token, ()) if source.has(term)}
        if not known or source.is_cheap or token in demanded:
            spellings |= {*source.words(token).spelled_like(token, typed)}
        if not known:
            forms, spellings = forms | spellings, set()
        elif forms:
            forms |= {token}
        bases = set() if known or forms else _english_bases(token, typed, source)
        found = False
        for others, share in ((forms, 1.0), (spellings - forms | bases, OTHER_SPELLING)):
            every = [(term, source.words(term).documents(term)) for term in sorted(others)]
            terms = tuple(one for one in every if one[1])  # not in a title or path alone
            if terms:
                groups.append(Group(terms, times * share, token=token))
                found = True
        if not known:
            (replaced.add if found else unknown.append)(token)
    notes: list[str] = []
    for prefix in parsed.prefixes:
        group, note = _prefix(prefix, source)
        groups += [group] if group else []
        notes += [note] if note else []
    tokens = tuple(token for token in parsed.tokens if token not in replaced)
    return Expansion(tokens, tuple(groups), tuple(unknown), tuple(notes))


def _english_bases(token: str, typed: str, source: WordSource) -> set[str]:
    """Return the terms of what a common English word is derived from."""
    tokeniser = source.tokeniser.of_language("english")
    listed = general_words("english")
    if tokeniser.settings.language != "english" or listed is None or token not in listed:
        return set()
    stems = map(tokeniser.tokens, english_bases(typed.casefold()))
    return {stem[0] for stem in stems if len(stem) == 1 and source.has(stem[0])} - {token}


def english_spellings(token: str, typed: str, source: WordSource) -> set[str]:
    """Return the terms of a word in the other spelling of English."""
    tokeniser = source.tokeniser.of_language("english")
    if tokeniser.settings.language != "english":
        return set()
    stems = map(tokeniser.tokens, english_variants(typed.casefold()))
    return {stem[0] for stem in stems if len(stem) == 1 and source.has(stem[0])} - {token}


def _prefix(prefix: str, source: WordSource) -> tuple[Group | None, str]:
    words = source.words(prefix)
    terms = words.beginning_with(prefix)
    if not terms:
        return None, f"No document contains a word starting with “{prefix}”"
    note = ""
    if len(terms) > MOST_TERMS:
        note = (
            f"“{prefix}*” matches {len(terms):,} words; only the {MOST_TERMS} most common were "
            "searched"
        )
    return Group(
        tuple((term, words.documents(term)) for term in terms[:MOST_TERMS]), 1, prefix
    ), note


def _idf(documents: int, n_documents: int) -> float:
    return float(np.log1p((n_documents - documents + 0.5) / (documents + 0.5)))


# Accented Latin letters, with which another spelling may begin.
_ACCENTED = (("\u00c0", "\u0250"), ("\u1e00", "\u1f00"))


class IndexWords:
    """All words of an index; `is_live` tells whether a document with a term is still there."""

    is_cheap = True

    def __init__(
        self,
        engine: Engine,
        tokeniser: Tokeniser,
        is_live: Callable[[str], bool] = lambda _token: True,
    ) -> None:
        self._index, self.tokeniser, self._is_live = engine.index, tokeniser, is_live
        self._is_in_field = engine.is_in_field
        index = engine.index
        self._words = Words(index.lexicon, index.term_frequencies, tokeniser, index.plain_spellings)

    def has(self, token: str) -> bool:
        """Tell whether any document has a term."""
        is_in_text = self._index.postings.find(token) >= 0 and self._is_live(token)
        return is_in_text or self._is_in_field(token)

    def words(self, _typed: str) -> Words:
        """Return all terms."""
        return self._words

    def written(self) -> Words | None:
        """Return the words as documents write them; None in an earlier index."""
        lines = self._index.written_words
        if lines is None:
            return None
        return Words(lines, self._index.written_documents, self.tokeniser)


class LibraryWords:
    """The words of a library, read from its full-text table where they are needed."""

    is_cheap = False

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot, self.tokeniser = snapshot, snapshot.tokeniser
        self._words: dict[str, Words] = {}

    def has(self, token: str) -> bool:
        """Tell whether any document has a term."""
        return bool(self._snapshot.transaction.lexical.some_with(token, 1))

    def words(self, typed: str) -> Words:
        """Return the terms that begin with the first letter of a word, or with an accented one."""
        initial = fold(typed)[:1]
        if initial not in self._words:
            ranges = [(initial, chr(ord(initial) + 1))] if initial else []
            ranges += _ACCENTED if initial.isascii() else ()
            between = partial(self._snapshot.transaction.lexical.terms_between, *ranges)
            # PostgreSQL reads the words of all documents for it.
            terms = self._snapshot.remember(f"words {initial}", between) if ranges else []
            self._words[initial] = Words.of_terms(terms, self._snapshot.tokeniser)
        return self._words[initial]

    def written(self) -> None:
        """Return nothing: a library has no table of its words."""


MOST_WORDS = 5
"""The most words of a query for which suggestions are looked up."""
_TERMS = 5
_DOCUMENTS = 4
_CHARACTERS = 4_000
_SUGGESTIONS = 3


def suggest(
    snapshot: Snapshot, source: WordSource, unknown: Iterable[str]
) -> tuple[Suggestion, ...]:
    """Return for each word as typed the nearest words of documents, best first."""
    return tuple(
        Suggestion(word, _nearest(snapshot, source, word) if number < MOST_WORDS else ())
        for number, word in enumerate(unknown)
    )


def is_listed(word: str, snapshot: Snapshot) -> bool:
    """Tell whether a word is one of the common ones of its language, so hardly misspelt."""
    for tokeniser in _tokenisers(snapshot):
        listed = general_words(tokeniser.settings.of_language().language)
        if listed is not None and all(token in listed for token in tokeniser.tokens(word)):
            return True
    return False


def _tokenisers(snapshot: Snapshot) -> list[Tokeniser]:
    """Return the tokenisers of the languages of the documents."""
    return [snapshot.index_tokeniser.of_language(name) for name in snapshot.languages or ("",)]


def _nearest(snapshot: Snapshot, source: WordSource, typed: str) -> tuple[str, ...]:
    word = fold(typed)
    edits = min(allowed_edits(word), 1 if is_listed(word, snapshot) else 2)
    table = source.written()
    if table is None:
        return _nearest_read(snapshot, source.words(word), word, edits)
    near = table.nearest_written(word, _TERMS * _SUGGESTIONS, edits)
    stems = [tokeniser.tokens for tokeniser in _tokenisers(snapshot)]
    # The documents that had a word may be gone.
    live = (form for form in near if any(all(map(source.has, own(form))) for own in stems))
    return tuple(islice(live, _SUGGESTIONS))


def _nearest_read(snapshot: Snapshot, words: Words, word: str, most: int) -> tuple[str, ...]:
    """Return the nearest words as they are written, from documents with the nearest stems."""
    merits: dict[str, float] = {}
    for term, _ in words.nearest(word, _TERMS):
        keys = snapshot.transaction.lexical.some_with(term, _DOCUMENTS)
        form, edits = _surface_form(snapshot, keys, term, word)
        if edits <= most:
            merits.setdefault(form, merit(word, form, edits, words.documents(term)))
    return tuple(sorted(merits, key=lambda form: (-merits[form], form))[:_SUGGESTIONS])


def _surface_form(snapshot: Snapshot, keys: Sequence[int], term: str, word: str) -> tuple[str, int]:
    """Return the form of a term in some documents that is nearest to a word, and its edits."""
    forms: Counter[str] = Counter()
    for details in snapshot.transaction.documents.details(keys, _CHARACTERS).values():
        whole = f"{details.title}\n{details.text}"
        tokeniser = snapshot.tokeniser.of_language(details.language)
        for start, end, _ in tokeniser.spans(whole, {term}):
            forms[whole[start:end].casefold()] += 1
    written = [form for form, _ in forms.most_common()]
    if not written:  # the documents that had it are gone, or have it further on
        return "", len(word)
    edits = edit_distances(word, written)
    best = min(range(len(written)), key=edits.__getitem__)  # the most common of equals
    return written[best], edits[best]
