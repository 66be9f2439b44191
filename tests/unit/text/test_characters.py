from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.text.characters import WrittenPhrase, fold, folded_spellings, has_words, normalise


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Brömmelmeier", "brommelmeier"),
        ("BRO\u0308MMELMEIER", "brommelmeier"),
        ("Straße, Ærø, Łódź", "strasse, aero, lodz"),
        ("Ελλάδα", "ελλαδα"),
        ("ещё мой", "еще мой"),
        ("がか ガ", "がか ガ"),
        ("हिन्दी", "हिन्दी"),
        ("co\u00adop ﬁne", "coop fine"),
        ("plain ASCII", "plain ascii"),
    ],
)
def test_accents_go_and_letters_stay(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("word", "spellings"),
    [
        ("Müller", ("muller", "mueller")),
        ("Øre", ("ore", "oere")),
        ("résumé", ("resume",)),
        ("plain", ("plain",)),
    ],
)
def test_umlauts_have_two_spellings(word: str, spellings: tuple[str, ...]) -> None:
    assert folded_spellings(word) == spellings


@given(st.text())
def test_a_folded_text_is_its_own(text: str) -> None:
    once = fold(normalise(text))
    assert fold(once) == once


@pytest.mark.parametrize(
    ("written", "text", "count"),
    [
        ("state of the art", "State-of-the-Art; the state\n of the  art.", 2),
        ("state of the art", "state of the arts", 0),
        ("account", "accountant, subaccount, account_id, ACCOUNT's", 2),
        ("multi-agent", "multi agent multiagent", 1),
        ("don't", "don’t dont", 1),
        ("résumé", "RESUME re\u0301sume\u0301", 2),
        ("東京", "東京都と東京", 2),
        ("windows 東京", "Windows東京", 1),
        ("कल", "कल कला", 1),
        ("3.14", "3.14 and 13.14 and 3.145", 1),
        ("a.b*c", "a b c", 1),
        ("C++", "c++ and C", 2),
    ],
)
def test_a_phrase_is_found_whole(written: str, text: str, count: int) -> None:
    assert WrittenPhrase(written).count(text) == count


def test_a_phrase_does_not_reach_over_two_texts() -> None:
    assert WrittenPhrase("deep sea").count("The deep", "sea is blue") == 0
    assert WrittenPhrase("deep sea").count("Deep sea", "A deep sea") == 2


@pytest.mark.parametrize(
    ("text", "expected"), [("?!", False), ("", False), ("a", True), ("東", True)]
)
def test_signs_are_no_words(text: str, *, expected: bool) -> None:
    assert has_words(text) == expected


@pytest.mark.parametrize(
    ("written", "text", "found"),
    [
        ("strasse", "Die Straße, Ærø", "Straße"),
        ("aero", "Die Straße, Ærø", "Ærø"),
        ("resume", "a re\u0301sume\u0301.", "re\u0301sume\u0301"),
        ("plain words", "Some plain  words", "plain  words"),
    ],
)
def test_a_phrase_is_found_where_it_stands(written: str, text: str, found: str) -> None:
    place = WrittenPhrase(written).find(text)
    assert place is not None
    assert text[slice(*place)] == found
    assert WrittenPhrase("elsewhere").find(text) is None
