from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest

from lpisearch.index.postings import Bm25, GeneralIdf, Postings
from lpisearch.search.query import Query
from lpisearch.text.vocabulary import count_all_terms, general_words

TEXTS = ["sea sea ship", "cake", "", "sea cake cake cake"]


def leg(texts: list[str]) -> Bm25:
    """Return the leg over joined tokens."""
    terms, every = count_all_terms([texts])
    return Bm25(Postings.build(terms, every.matrix, every.lengths, {}))


def ask(bm25: Bm25, *words: str) -> Query:
    """Return a question of known words."""
    numbers = np.array([bm25.postings.find(word) for word in words], np.int64)
    return Query(words=numbers, weights=np.ones(len(words), np.float32))


def test_by_hand() -> None:
    """A score is the formula of the module, worked out by hand; 0 without the word."""
    bm25 = leg(TEXTS)
    found = bm25.scores(ask(bm25, "sea"))
    idf = log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    first = 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2)) * idf
    last = 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 4 / 2)) * idf
    assert found.tolist() == pytest.approx([first, 0, 0, last])


def test_words_add_up() -> None:
    bm25 = leg(TEXTS)
    question = ask(bm25, "sea", "cake")
    parts = bm25.scores(ask(bm25, "sea")) + bm25.scores(ask(bm25, "cake"))
    assert bm25.scores(question).tolist() == pytest.approx(parts.tolist())


def test_nothing_to_find() -> None:
    bm25 = leg(TEXTS)
    assert bm25.scores(ask(bm25)).tolist() == [0] * 4
    empty = leg(["", ""])
    assert empty.scores(ask(empty)).tolist() == [0, 0]


def test_rare_in_the_language() -> None:
    """Of words that are equally rare here, that which is rarer in English finds first."""
    bm25 = leg(["cheap sea", "punctur sea", "way sea", "cake"])
    question = ask(bm25, "cheap", "punctur", "way")
    assert len(set(bm25.scores(question)[:3].tolist())) == 1
    english = general_words("english")
    assert english is not None
    joined = replace(bm25, general=GeneralIdf(bm25.postings, english))
    assert joined.scores(question).argsort().tolist() == [3, 2, 0, 1]
