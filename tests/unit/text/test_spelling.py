from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.text.spelling import (
    Words,
    allowed_edits,
    edit_distances,
    english_bases,
    english_variants,
)
from lpisearch.text.tokeniser import Tokeniser

TERMS = {
    "accommod": 7,
    "bound": 50,
    "boundari": 30,
    "brommelmei": 1,
    "brömmelmeier": 2,
    "comput": 90,
    "computex": 1,
    "happi": 4,
    "postgr": 130,
    "postgresql": 300,
    "replac": 200,
    "replic": 40,
    "résumé": 3,
    "straße": 1,
    "東京": 5,
}


@pytest.fixture(scope="module")
def words() -> Words:
    """Return the terms above."""
    return Words.of_terms(TERMS.items(), Tokeniser())


def test_every_term_is_detected(words: Words) -> None:
    assert {term: words.documents(term) for term in TERMS} == TERMS
    assert words.documents("postg") == words.documents("") == words.documents("zzz") == 0
    assert words.documents("\ud800") == 0


@pytest.mark.parametrize(
    ("token", "typed", "like"),
    [
        ("brommelmei", "Brommelmeier", ("brömmelmeier",)),
        ("brömmelmeier", "Brömmelmeier", ("brommelmei",)),
        ("broemmelmei", "Broemmelmeier", ("brömmelmeier",)),
        ("resum", "resume", ("résumé",)),
        ("résumé", "résumés", ()),
        ("comput", "computer", ()),
    ],
)
def test_spellings_without_accents(
    words: Words, token: str, typed: str, like: tuple[str, ...]
) -> None:
    assert words.spelled_like(token, typed) == like


@pytest.mark.parametrize(
    ("prefix", "terms"),
    [
        ("comput", ("comput", "computex")),
        ("computi", ("comput",)),
        ("happy", ("happi",)),
        ("replication", ("replic",)),
        ("xyz", ()),
        ("東", ("東京",)),
    ],
)
def test_prefixes(words: Words, prefix: str, terms: tuple[str, ...]) -> None:
    """Terms that begin so, the commonest first; else what is left of it after stemming."""
    assert words.beginning_with(prefix) == terms


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("postgrse", "postgr"),
        ("acommodation", "accommod"),
        ("replciation", "replic"),
        ("boundry", "boundari"),
        ("ab", None),
        ("zzzzzzz", None),
    ],
)
def test_the_nearest_terms(words: Words, word: str, first: str | None) -> None:
    near = [term for term, _ in words.nearest(word, 3)]
    assert first in near if first else near == []


def test_no_terms() -> None:
    """An empty library has no words, and answers."""
    empty = Words.of_terms([], Tokeniser())
    assert empty.nearest("postgres", 3) == []
    assert empty.spelled_like("muller", "Müller") == empty.beginning_with("mull") == ()


@pytest.mark.parametrize(
    ("word", "term", "edits"),
    [
        ("abcd", "abcd", 0),
        ("abcd", "abdc", 1),
        ("abcd", "bcd", 1),
        ("abcd", "xabcd", 1),
        ("abcd", "dcba", 3),
        ("ca", "abc", 3),
        ("ö", "o", 1),
        ("", "abc", 3),
    ],
)
def test_edit_distances(word: str, term: str, edits: int) -> None:
    """Exchanged, added, missing and transposed letters count one each."""
    assert edit_distances(word, [term, "another"])[0] == edits


@given(st.text("abö", max_size=6), st.lists(st.text("abö", min_size=1, max_size=6), max_size=5))
def test_distances_of_many_are_those_of_each(word: str, terms: list[str]) -> None:
    together = edit_distances(word, terms)
    assert together == [edit_distances(word, [term])[0] for term in terms]
    if word:
        assert together == [edit_distances(term, [word])[0] for term in terms]


def test_an_ending_may_be_left_out() -> None:
    assert edit_distances("replication", ["replic"], 5) == [0]
    assert edit_distances("replication", ["replic"], 3) == [2]


def test_short_words_are_not_guessed() -> None:
    assert [allowed_edits("x" * length) for length in (3, 4, 6, 7)] == [0, 1, 1, 2]


def test_irregular_forms_are_those_of_the_word_itself() -> None:
    assert english_variants("riding") == ("rode", "ridden")
    assert english_variants("rid") == english_variants("cam") == ()


def test_what_a_word_is_derived_from() -> None:
    assert "nerve" in english_bases("nervous")
    assert "fog" in english_bases("foggy")
    assert "fast" in english_bases("fastest")
    assert not english_bases("train")
