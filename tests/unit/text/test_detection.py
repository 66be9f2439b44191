# ruff: noqa: RUF001 (letters of all scripts are the point)
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.text.languages import (
    NO_LANGUAGE,
    Evidence,
    available_languages,
    function_words,
    languages,
)

GERMAN = "Das ist der Hund, und die Katze sitzt nicht auf dem Baum."
ENGLISH = "This is the dog, and it was not on the tree with a cat."


def _language(text: str) -> str:
    """Return what a text tells of its language."""
    evidence = Evidence()
    evidence.add([text])
    return next(iter(evidence.counts), "")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "german"),
        (ENGLISH, "english"),
        ("Le chat est dans la maison, et il ne sort pas avec nous.", "french"),
        ("El gato está en la casa y no sale con los perros del vecino.", "spanish"),
        ("O gato não está em casa, mas ele também tem uma porta.", "portuguese"),
        ("Il gatto è nella casa, che non è più della nonna.", "italian"),
        ("Katten är inte i huset, och den vill inte gå ut.", "swedish"),
        ("Hvad er det, der bliver af dem efter krigen, og nogle af os?", "danish"),
        ("Hva er det som blir av dem etter krigen, og noen av oss?", "norwegian"),
        ("Kissa ei ole talossa, mutta se on myös ulkona.", "finnish"),
        ("Кошка была в доме, но она не хотела из него выходить.", "russian"),
        ("Мачка је у кући, али није хтела да изађе из ње.", "serbian"),
        ("Η γάτα είναι στο σπίτι και δεν θα βγει από την πόρτα.", "greek"),
        ("القط في البيت ولم يخرج من الباب حتى الآن على كل حال", "arabic"),
        ("گربه در خانه است و از در بیرون نمی رود", "persian"),
        ("ハチは飼い主の帰りを待っていた。", NO_LANGUAGE),
        ("北京是中国的首都,也是一座有三千年历史的城市。", NO_LANGUAGE),
        ("x = [1, 2, 3]", ""),
        ("ship boat harbour sail anchor tide", ""),
        ("Quicksort", ""),
        ("", ""),
    ],
)
def test_a_sentence_tells_its_language(text: str, language: str) -> None:
    """A sentence is enough; names and code tell nothing."""
    assert _language(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "ls [OPTION]... [FILE]...\nSort the entries if none of -cftuvSUX nor --sort is specified.",
        "if name in seen and not is_new(name):\n    raise KeyError  # the one that was given by it",
        "PageRank: an algorithm for the ranking of pages; see also HITS and SALSA.",
    ],
)
def test_technical_english_is_english(text: str) -> None:
    """Manual pages and code with comments are not taken for another language."""
    assert _language(text) == "english"


def test_every_stemmed_language_can_be_told() -> None:
    """Each language that a library can have has function words, about as many as the others."""
    assert set(languages()) == set(available_languages()) - {NO_LANGUAGE}
    sizes = [sum(own in of for of in function_words().values()) for own in languages()]
    assert min(sizes) >= 25
    assert max(sizes) <= 60


@given(st.text())
def test_any_text_is_looked_at(text: str) -> None:
    """No text raises, and the answer is a language or nothing."""
    assert _language(text) in {"", *available_languages()}


def test_most_documents_decide() -> None:
    """A library of several languages takes that of most documents, and says what it holds."""
    evidence = Evidence()
    evidence.add([GERMAN] * 3 + [ENGLISH] + ["x = 1"])
    assert evidence.language == "german"
    assert evidence.describe("german") == (
        "Language: german (detected in 3 of 5 documents; english in 1, all treated as german; "
        "language changes it)"
    )


def test_short_documents_tell_together() -> None:
    """Where no document tells by itself, all of them do; where none tells, it is English."""
    titles, names = Evidence(), Evidence()
    titles.add(["Hund und Baum", "Katze mit Hut", "Maus ohne Haus", "die Uhr", "Tag des Herrn"])
    names.add(["Hund", "Katze", "1 2 3"])
    assert not titles.counts
    assert titles.language == "german"
    assert names.language == "english"
    assert "3 documents" in names.describe("english")
