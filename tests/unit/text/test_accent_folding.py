from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.text.characters import fold, folded_spellings, normalise


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
    """What a keyboard lacks is left out; marks that make another letter are kept."""
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
    """German and Danish letters are also written with an e."""
    assert folded_spellings(word) == spellings


@given(st.text())
def test_a_folded_text_is_its_own(text: str) -> None:
    """Folding twice changes nothing more, and needs no more than the normal form."""
    once = fold(normalise(text))
    assert fold(once) == once
