"""Word scores: BM25, and where the words of a query stand.

To the BM25 of a unit is added, in standard deviations of the BM25 of all documents:

- title: the share of the query's idf that is in the title, and of it in headings;
- path: the share in the folders and in the name of the file; a name whose words are all in the
  query, and rare as words of names, counts as much as a good text: it is what was looked for;
- near: neighbouring words of the query that stand near each other (index/positions.py), of the best
  units by BM25.

A word that is in a field alone, as in the name of a file, counts as one that is in no text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.index.fusion import Standard
from lpisearch.index.positions import FOLDER, HEADING, NAME, PAIR_SHARE, TITLE, Pairs, count_pairs
from lpisearch.index.postings import saturation
from lpisearch.numeric.threads import largest
from lpisearch.text.characters import are_overlapping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from lpisearch.search.engine import Units
    from lpisearch.search.query import Query

    Floats = NDArray[np.float32]
    Integers = NDArray[np.integer[Any]]
    Numbers = NDArray[np.int64]


TITLE_SHARE = 1.5
HEADING_SHARE = 0.75
FOLDER_SHARE = 0.5
NAME_SHARE = 1.0
WHOLE_NAME_SHARE = 5.0
NEAR_UNITS = 200
"""How many of the best units are searched for words that stand near each other."""


@dataclass(frozen=True, eq=False, slots=True)
class WordScores:
    """What the words of a query are worth in each unit.

    Attributes
    ----------
    bm25
        BM25 alone.
    total
        With what is added for titles, paths and nearness, by the names of these in `parts`.
    standard
        How both are standardised: by the mean and deviation of the BM25 of documents.
    """

    bm25: Floats
    total: Floats
    standard: Standard
    parts: Mapping[str, Floats]


def score_words(query: Query, units: Units) -> WordScores:
    """Score all units by the words of a query."""
    bm25 = units.bm25(query)
    standard = units.word_standard(query, bm25)
    if not query.ordered and not query.forms:
        return WordScores(bm25, bm25, standard, {})
    scaled = standard
    if not standard.inverse:  # no text has a word, or all are alike
        scaled = Standard(standard.mean, np.float32(1))
    parts = dict(_fields(query, units, scaled)) | dict(_near(query, units, bm25))
    if not parts:
        return WordScores(bm25, bm25, standard, {})
    standard = scaled
    total = bm25.copy()
    for name in parts:
        if name != "near":
            parts[name] /= standard.inverse
        total += parts[name]
    return WordScores(bm25, total, standard, parts)


class _Word(NamedTuple):
    """A word of a query in fields: units and bits; its idf, and its share of the query's.

    `absent` are the documents that have it in their name, but not in their text.
    """

    units: Integers
    bits: Integers
    idf: float
    share: np.float32
    absent: Numbers
    named: int  # documents with it in their name


def _words(query: Query, units: Units) -> list[_Word]:
    """Return the words of a query that are in a text or a field, in any of their forms."""
    if units.fields is None:
        return []
    words: list[_Word] = []
    total = 0.0
    for typed in dict.fromkeys((*query.ordered, *query.forms)):
        forms = (typed, *query.forms.get(typed, ()))
        numbers = np.array([units.postings.find(form) for form in forms], np.int64)
        places, bits = units.fields.units_with_any(forms)
        if not len(places) and numbers.max() < 0:
            continue
        idf = float(units.idf_of(forms, numbers)[numbers >= 0].min(initial=np.inf))
        idf = min(idf, float(units.idf_of([typed], np.array([-1]))[0]))
        total += idf
        if not len(places):
            continue
        named = places[(bits & NAME) > 0].astype(np.int64)
        is_absent = ~units.documents_with(numbers[numbers >= 0], named).any(axis=0)
        number = units.named_documents(forms, len(named))
        words.append(_Word(places, bits, idf, np.float32(idf), named[is_absent], number))
    return [word._replace(share=np.float32(word.idf / max(total, 1e-9))) for word in words]


def _fields(query: Query, units: Units, standard: Standard) -> Iterator[tuple[str, Floats]]:
    """Yield what titles and paths add to each unit, in deviations."""
    words = _words(query, units)
    if not words or units.fields is None:
        return
    n, owners = units.documents, units.owners
    title, path = (np.zeros(len(units.certainty), np.float32) for _ in range(2))
    names, matched = np.zeros(n, np.float32), np.zeros(n, np.float32)
    rarest = np.log1p(units.size)
    for places, bits, idf, share, absent, number in words:
        for bit, worth, into in (
            (TITLE, TITLE_SHARE, title),
            (HEADING, HEADING_SHARE, title),
            (FOLDER, FOLDER_SHARE, path),
            (NAME, NAME_SHARE, path),
        ):
            own = places[(bits & bit) > 0]
            if units.passages is None:
                own = own[own < n]
            into[own] += np.float32(worth) * share
        named = places[(bits & NAME) > 0]
        if len(named):
            rarity = np.log(units.size / number + 1)
            names[named] += share * np.float32(rarity / rarest)
            matched[named] += 1
            once = saturation(np.ones(len(absent)), units.words[0].half_saturation[absent])
            path[absent] += standard.inverse * np.float32(min(idf, rarity)) * once
    if matched.any():
        sizes = np.maximum(units.fields.name_sizes, 1)
        path[:n] += np.float32(WHOLE_NAME_SHARE) * names * np.minimum(matched / sizes, 1)
    for name, values in (("title", title), ("path", path)):
        values[n:] += values[:n][owners]
        if values.any():
            yield name, values


def _near(query: Query, units: Units, bm25: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield what neighbouring words of the query that stand near each other add to each unit."""
    pairs = _pairs(query, units)
    if not len(pairs.weights) or not units.sequences:
        return
    pool = bm25.copy()
    pool[units.owners] = 0  # long documents: their passages stand for them
    best = np.flatnonzero(pool > 0)
    best = best[np.sort(largest(pool[best], NEAR_UNITS))]
    terms, first = units.terms_in_order(best)
    units_at, pairs_at, counts, _ = count_pairs(terms, first, pairs, len(units.postings))
    if not len(counts):
        return
    values = np.zeros(len(bm25), np.float32)
    worth = saturation(counts, units.half_at(best[units_at]))
    np.add.at(values, best[units_at], np.float32(PAIR_SHARE) * pairs.weights[pairs_at] * worth)
    np.maximum.at(values, units.owners, values[units.documents :])
    yield "near", values


def _pairs(query: Query, units: Units) -> Pairs:
    """Return the neighbouring words of a query that are both known.

    Overlapping pairs of characters are no two words: they stand together wherever they are.
    """
    first, second = query.sequence[:-1], query.sequence[1:]
    is_pair = (first >= 0) & (second >= 0) & (first != second)
    for at in np.flatnonzero(is_pair).tolist():
        is_pair[at] = not are_overlapping(*query.ordered[at : at + 2])
    n_terms = len(units.postings)
    both, times = np.unique(first[is_pair] * n_terms + second[is_pair], return_counts=True)
    first, second = np.divmod(both, n_terms)
    mean = (units.idf(first) + units.idf(second)) / np.float32(2)
    return Pairs(first, second, mean * times.astype(np.float32))
