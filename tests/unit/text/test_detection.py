# ruff: noqa: RUF001 (letters of all scripts are the point)
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.text.detection import (
    Evidence,
    function_words,
    language_of,
    language_of_query,
    languages,
    languages_note,
)
from lpisearch.text.languages import NO_LANGUAGE, available_languages

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
    assert _language(text) == "english"


def test_every_stemmed_language_can_be_detected() -> None:
    assert set(languages()) == set(available_languages()) - {NO_LANGUAGE}
    sizes = [sum(own in of for of in function_words().values()) for own in languages()]
    assert min(sizes) >= 25
    assert max(sizes) <= 60


@given(st.text())
def test_any_text_is_looked_at(text: str) -> None:
    assert _language(text) in {"", *available_languages()}


def test_most_documents_decide() -> None:
    evidence = Evidence()
    evidence.add([GERMAN] * 3 + [ENGLISH] + ["x = 1"])
    assert evidence.language == "german"


def test_short_documents_tell_together() -> None:
    titles, names = Evidence(), Evidence()
    titles.add(["Hund und Baum", "Katze mit Hut", "Maus ohne Haus", "die Uhr", "Tag des Herrn"])
    names.add(["Hund", "Katze", "1 2 3"])
    assert not titles.counts
    assert titles.language == "german"
    assert names.language == "english"


@pytest.mark.parametrize(
    ("text", "stated", "language"),
    [
        (GERMAN, "", "german"),
        ("", "", "english"),
        ("Hund", "", "english"),
        ("Hund", "de-AT", "german"),
        (ENGLISH, "de", "english"),
        (
            "Los Angeles Rams, Los Angeles Lakers and Los Angeles Clippers are of the city",
            "",
            "english",
        ),
        ("Ödülü kazananı İşaret çevirisini yaparken", "", "turkish"),
        (
            "Internet2是一个由来自研究、教育、工业和政府各界的成员领导的网络, Qwest, NLR",
            "",
            "chinese",
        ),
        ("ハチは飼い主の帰りを待っていた。", "", "japanese"),
        ("고양이는 집에 있다", "", "korean"),
        ("The word “Straße” is German for a street, and Göthe lived in one.", "", "english"),
    ],
)
def test_the_language_of_a_document(text: str, stated: str, language: str) -> None:
    assert language_of(text, "english", stated) == language


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("wie flicke ich einen Reifen", "german"),
        ("how do I mend a tyre", "english"),
        ("¿Quién ganó la copa?", "spanish"),
        ("kaçıncı yüzyılda", "turkish"),
        ("linux kernel 6.1", ""),
        ("北京", "chinese"),
        ("", ""),
    ],
)
def test_the_language_of_a_query(query: str, language: str) -> None:
    documents = {"english": 900, "german": 30, "spanish": 20, "catalan": 1, "turkish": 5}
    assert language_of_query(query, documents) == language


def test_the_note_names_the_languages() -> None:
    assert languages_note({"german": 1}) == "Language: german in 1 document; language fixes one"
    counts = {"german": 3, "english": 9, "french": 2, "dutch": 1, "danish": 1, "irish": 1}
    assert languages_note(counts) == (
        "Languages: english in 9 of 17 documents, german in 3, french in 2, danish in 1, "
        "dutch in 1, 1 more; language fixes one"
    )
