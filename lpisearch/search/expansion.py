"""Expand a typed word to its spellings, and a prefix to its words.

In goes a parsed query and the words of the library, out comes how much each term counts. All terms
of a group count as one word that is in as many documents as they are together:

- For BM25 each has the idf of that one word, however rare it is by itself.
- In the subspace each has its share of those documents, so that the group weighs as one word.

A word that some document has as it was typed counts whole, its other spellings half; where none
has it, they count whole.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lpisearch.storage import Prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from lpisearch.indexes.scoring.engine import Engine
    from lpisearch.indexes.scoring.question import Question
    from lpisearch.search.parsing import ParsedQuery
    from lpisearch.terms.spelling import Words

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
