# ruff: noqa: RUF001 (letters of all scripts are the point)
"""The language of a document, of a library and of a query; the kinds of documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.model.documents import CHANGES, GENERATED, LICENCE, Document
from lpisearch.text.languages import NO_LANGUAGE, available_languages
from lpisearch.text.traits import (
    Evidence,
    function_words,
    kind_of,
    kinds_named,
    language_of,
    language_of_query,
    languages,
    languages_note,
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


VERSIONS = "Version 1.2\n- mended\n\n1.1\n- more\n\n* 1.0.0 (2024-05-01)\n- first\n"
PROSE = "A history of the harbour.\nIt was built in 1.5 years.\n"


@pytest.mark.parametrize(
    ("path", "title", "text", "kind", "reason"),
    [
        ("/a/LICENSE", "", "Do as you like.", LICENCE, "it is named LICENSE"),
        ("/a/license.html", "", "x", LICENCE, "it is named license.html"),
        ("/a/LICENSE-MIT.txt", "", "x", LICENCE, "it is named LICENSE-MIT.txt"),
        ("/doc/tar/copyright", "", "x", LICENCE, "it is named copyright"),
        ("/a/COPYING.LESSER", "", "x", LICENCE, "it is named COPYING.LESSER"),
        ("/a/GPL-3.0", "", "x", LICENCE, "it is named GPL-3.0"),
        (
            "/a/terms.txt",
            "",
            "   GNU GENERAL PUBLIC LICENSE\n   Version 3",
            LICENCE,
            "it begins with “GNU GENERAL PUBLIC LICENSE”",
        ),
        ("/a/license.py", "", "x = 1", "", ""),
        ("/a/licensing.html", "Licensing", "How to buy one.", "", ""),
        ("/a/notes.txt", "", "I read the Apache License today.", "", ""),
        ("/a/ChangeLog", "", "x", CHANGES, "it is named ChangeLog"),
        ("/a/changelog.Debian.gz", "", "x", CHANGES, "it is named changelog.Debian.gz"),
        ("/a/RELEASE-NOTES.md", "", "x", CHANGES, "it is named RELEASE-NOTES.md"),
        (
            "/a/NEWS",
            "",
            VERSIONS,
            CHANGES,
            "it is named NEWS, and lines begin with versions or dates",
        ),
        (
            "/a/r.html",
            "E.2. Release Notes",
            VERSIONS,
            CHANGES,
            "its title is “E.2. Release Notes”, and lines begin with versions or dates",
        ),
        ("/a/history.txt", "", PROSE, "", ""),
        ("/a/changes.py", "", "x = 1", "", ""),
        ("/a/climate-changes.txt", "", PROSE, "", ""),
        ("/d/searchindex.js", "", "x", GENERATED, "it is named searchindex.js"),
        ("/d/search-index-2.json", "", "x", GENERATED, "it is named search-index-2.json"),
        ("/d/genindex-A.html", "Index", "x", GENERATED, "it is named genindex-A.html"),
        ("/d/style.min.css", "", "x", GENERATED, "it is named style.min.css"),
        ("/d/package-lock.json", "", "x", GENERATED, "it is named package-lock.json"),
        (
            "/d/app.js",
            "",
            "f();" * 2000,
            GENERATED,
            "its lines have 8,000 characters on average",
        ),
        ("/d/app.js", "", "f();\n" * 2000, "", ""),
        ("/d/one-paragraph.txt", "", "word " * 2000, "", ""),
        ("/d/search.html", "Search", "How to search.", "", ""),
    ],
)
def test_kinds(path: str, title: str, text: str, kind: str, reason: str) -> None:
    assert kind_of(path, Document(title, text)) == (kind, reason)


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("Licence of the fonts", {LICENCE}),
        ("gpl-3 or LGPL", {LICENCE}),
        ("changelog tar", {CHANGES}),
        ("what's new in 1.2", {CHANGES}),
        ("style.min.css", {GENERATED}),
        ("searchindex.js", {GENERATED}),
        ("how to exchange a wheel", set()),
        ("newsagents in Leeds", set()),
    ],
)
def test_a_query_may_name_a_kind(query: str, kinds: set[str]) -> None:
    assert kinds_named(query) == kinds
