# ruff: noqa: RUF001 (letters of all scripts are the point)
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.errors import BadOption
from lpisearch.text.languages import (
    NO_LANGUAGE,
    Evidence,
    TokeniserSettings,
    available_languages,
    function_words,
    languages,
    newest_list,
    stop_words,
)
from lpisearch.text.tokeniser import Tokeniser


def test_settings_survive_json() -> None:
    for language in available_languages():
        settings = TokeniserSettings.for_language(language)
        assert TokeniserSettings.from_dict(json.loads(json.dumps(settings.as_dict()))) == settings


def test_default_is_english_with_its_list() -> None:
    assert TokeniserSettings() == TokeniserSettings.for_language("english")
    assert TokeniserSettings().stop_words == "english-1"
    assert TokeniserSettings().stems_alike


def test_language_can_be_a_code_in_any_case() -> None:
    assert TokeniserSettings.for_language(" DE ").language == "german"
    assert TokeniserSettings.for_language("fi").stop_words == ""


@pytest.mark.parametrize(("typed", "meant"), [("englsh", "english"), ("deutch", "dutch")])
def test_unknown_language_suggests_the_nearest(typed: str, meant: str) -> None:
    with pytest.raises(BadOption, match=f"language: unknown language “{typed}” .*mean {meant}"):
        TokeniserSettings.for_language(typed)


def test_unknown_list_or_newer_rules_are_refused() -> None:
    with pytest.raises(BadOption, match="english-99"):
        TokeniserSettings(stop_words="english-99")
    with pytest.raises(BadOption, match="version 2"):
        TokeniserSettings.from_dict({**TokeniserSettings().as_dict(), "version": 2})


def test_another_stemmer_is_recognised() -> None:
    assert not TokeniserSettings(stemmer="snowball-2.0.0").stems_alike


@pytest.mark.parametrize("language", [name for name in available_languages() if newest_list(name)])
def test_stop_words_never_become_tokens(language: str) -> None:
    tokeniser = Tokeniser(TokeniserSettings.for_language(language))
    listed = stop_words(newest_list(language))
    assert 60 < len(listed) < 260
    assert tokeniser.joined(" ".join(listed).upper()) == ""


def test_lists_name_the_languages_they_are_for() -> None:
    listed = {name for name in available_languages() if newest_list(name)}
    assert listed >= {
        "english", "german", "french", "spanish", "italian", "portuguese", "dutch", "swedish",
    }  # fmt: skip
    assert stop_words("") == frozenset()


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
    assert evidence.describe("german") == (
        "Language: german (detected in 3 of 5 documents; english in 1, all treated as german; "
        "language changes it)"
    )


def test_short_documents_tell_together() -> None:
    titles, names = Evidence(), Evidence()
    titles.add(["Hund und Baum", "Katze mit Hut", "Maus ohne Haus", "die Uhr", "Tag des Herrn"])
    names.add(["Hund", "Katze", "1 2 3"])
    assert not titles.counts
    assert titles.language == "german"
    assert names.language == "english"
    assert "3 documents" in names.describe("english")
