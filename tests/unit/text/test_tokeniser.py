# ruff: noqa: RUF001 (look-alike characters are what a tokeniser is tested with)
from __future__ import annotations

import sqlite3
import sys
import time
import tracemalloc
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from threading import Barrier, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.model.documents import Document
from lpisearch.text import characters
from lpisearch.text import tokeniser as module
from lpisearch.text.languages import TokeniserSettings
from lpisearch.text.tokeniser import Tokeniser, Tokenisers, document_tokens

ENGLISH = Tokeniser()
FRENCH = Tokeniser(TokeniserSettings.for_language("french"))
PLAIN = Tokeniser(TokeniserSettings.for_language("none"))
FIRST_RULES = Tokeniser(TokeniserSettings(version=1))
ALL = [
    ENGLISH,
    FIRST_RULES,
    FRENCH,
    PLAIN,
    *(Tokeniser(TokeniserSettings.for_language(code)) for code in ("de", "tr", "ar", "hi", "ta")),
]

# Characters that have once been a trap: apostrophes, marks, joiners, casefolds that grow or
# compose, digits in rings, scripts without spaces, separators of every kind.
TRAPS = (
    "aAbBcCkK+#.nNeEtTİIıiſßŉǰẖ'’ʼ＇\"`_-.<=>\u0338\u0301\u0308\u0307\u0345\u3099\u00ad\u200b\u200c\u200d\ufeff"
    "\u0000\u001c\u0085\u00a0\u2028\u3000½²①ﷺﬁΣςσЖж東京タワー々〇ｶﾞサ한국어가กำแพงश्रीमान்நकि9٣"
    "\ud800\U0001f600\ufe0f\u1680;:!?。、「」"
)
texts = st.text(st.one_of(st.sampled_from(TRAPS), st.characters(codec=None)), max_size=40)


def reference(tokeniser: Tokeniser, text: str) -> list[str]:
    """Analyse the whole text at once, with neither coarse cut nor cache."""
    return [token for _, _, token in tokeniser._located(text)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" \n\t", []),
        ("The cats were running, happily!", ["cat", "run", "happili"]),
        ("well-known snake_case", ["well", "known", "snake", "case"]),
        ("Don't, don’t, DON'T", []),
        ("the boy's toys and the boys' toy", ["boy", "toy", "boy", "toy"]),
        ("'quoted' O'Neil ''twice''", ["quot", "oneil", "twice"]),
        ("rock''n''roll", ["rock", "n", "roll"]),
        ("3.14 in 2024, the 80s", ["3", "14", "2024", "80s"]),
        ("ﬁne Ｗｉｄｅ x²", ["fine", "wide", "x2"]),
        ("Straße STRASSE", ["strass", "strass"]),
        ("co\u00adoperate zero\u200bwidth", ["cooper", "zero", "width"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("東京都に", ["東京", "京都", "都に"]),
        ("京 tower京都タワー", ["京", "tower", "京都", "都タ", "タワ", "ワー"]),
        ("한국어를", ["한국", "국어", "어를"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("Миру мир", ["миру", "мир"]),
    ],
)
def test_english_rules(text: str, tokens: list[str]) -> None:
    """Each rule of the module's docstring shows in an example made by hand."""
    assert ENGLISH.tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens", "before"),
    [
        ("C++ c++11 i++", ["cplusplus", "cplusplus", "11"], ["c", "c", "11"]),
        ("(C#) F#", ["csharp", "fsharp"], ["c", "f"]),
        (".NET ASP.NET a.net", ["dotnet", "asp", "net", "net"], ["net", "asp", "net", "net"]),
        ("parseXMLFile", ["parsexmlfil", "pars", "xml", "file"], ["parsexmlfil"]),
        ("“fooBar” 'fooBar'", ["foobar", "foo", "bar"] * 2, ["foobar"] * 2),
        ("使用fooBar方法", ["使用", "foobar", "foo", "bar", "方法"], ["使用", "foobar", "方法"]),
        ("iPhone RNAs CX3CR1", ["iphon", "rnas", "cx3cr1"], ["iphon", "rnas", "cx3cr1"]),
        ("OpenSSL fooBarᵃ", ["openssl", "foobara"], ["openssl", "foobara"]),
        ("aBcDeFgH" * 4, ["abcdefgh" * 4], ["abcdefgh" * 4]),
    ],
)
def test_the_second_rules_know_signs_and_camel_case(
    text: str, tokens: list[str], before: list[str]
) -> None:
    """A library that was made by the first rules keeps its tokens."""
    assert ENGLISH.tokens(text) == tokens
    assert FIRST_RULES.tokens(text) == before


def test_names_and_camel_case_are_located_as_wholes_and_parts() -> None:
    text = "in C++, getElementById()"
    found = [text[start:end] for start, end, _ in ENGLISH.spans(text)]
    assert found == ["C++", "getElementById", "get", "Element", "Id"]


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("french", "L'amour de l’école et des chevaux", ["amour", "écol", "cheval"]),
        ("german", "Die Häuser und das Haus", ["haus", "haus"]),
        ("spanish", "los gatos y las niñas", ["gat", "niñ"]),
        ("italian", "nell'acqua della città", ["acqua", "citt"]),
        ("dutch", "de katten en de kat", ["kat", "kat"]),
        ("turkish", "İstanbul'da", ["istanbul", "da"]),
        ("none", "The cats don't", ["the", "cats", "don", "t"]),
    ],
)
def test_other_languages(language: str, text: str, tokens: list[str]) -> None:
    """Stop words, stems and the apostrophe follow the language of the settings."""
    assert Tokeniser(TokeniserSettings.for_language(language)).tokens(text) == tokens


def test_thai_gives_pairs_of_letters_with_their_marks() -> None:
    first, second, third, fourth = "กิ", "น", "น\u0e49\u0e4d", "า"
    assert ENGLISH.tokens("กินน้ำ") == [first + second, second + third, third + fourth]


@given(texts)
def test_coarse_cut_changes_nothing(text: str) -> None:
    for tokeniser in ALL:
        assert tokeniser.tokens(text) == reference(tokeniser, text)


@pytest.mark.parametrize("tokeniser", [ENGLISH, FRENCH])
def test_coarse_cut_holds_for_every_character(tokeniser: Tokeniser) -> None:
    for plane in range(0, 0x20000, 0x1000):
        text = " ".join(
            f"K{char}k<{char}'{char}N{char} eF{char}g{char}Ef"
            for char in map(chr, range(plane, plane + 0x1000))
        )
        assert tokeniser.tokens(text) == reference(tokeniser, text)


def test_capitals_with_marks_fold_as_small_letters_do() -> None:
    marks = [
        mark for mark in map(chr, range(sys.maxunicode)) if unicodedata.category(mark)[0] == "M"
    ]
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        text = " ".join(letter + mark for mark in marks)
        assert PLAIN.tokens(text) == reference(PLAIN, text)


@given(texts)
def test_spans_are_the_same_tokens_in_order(text: str) -> None:
    for tokeniser in ALL:
        spans = list(tokeniser.spans(text))
        assert [token for _, _, token in spans] == tokeniser.tokens(text)
        assert all(0 <= start < end <= len(text) for start, end, _ in spans)
        assert [start for start, _, _ in spans] == sorted(start for start, _, _ in spans)


BEGINNINGS = "bak happ hop d l t v sk gentl earl relat possib rat organ cr ag stud c x net Par naïv"
ENDINGS = (
    "e ed es ing ying ies ied y ly ily ability ation ational ization ness fulness s's t's C# .NET"
)


@pytest.mark.parametrize("language", sorted(module._KEEP_BEGINNINGS))
def test_wanted_tokens_are_those_of_all(language: str) -> None:
    tokeniser = Tokeniser(TokeniserSettings(language=language))
    text = " ".join(
        f"{first}{last} o'{first}{last}, Pre-{first}{last}XML\tc++"
        for first in BEGINNINGS.split()
        for last in ENDINGS.split()
    )
    every = list(tokeniser.spans(text))
    for token in {token for _, _, token in every}:
        assert list(tokeniser.spans(text, {token})) == [span for span in every if span[2] == token]


def test_spans_point_into_the_text_as_given() -> None:
    text = "The ﬁne Café’s  co\u00adop, 東京都"
    found = [(text[start:end], token) for start, end, token in ENGLISH.spans(text)]
    assert found == [
        ("ﬁne", "fine"),
        ("Café’s", "café"),
        ("co\u00adop", "coop"),
        ("東京", "東京"),
        ("京都", "京都"),
    ]


def is_of_a_word(char: str) -> bool:
    """Tell letters, numbers and marks, and characters that Python's own table has not yet."""
    category = unicodedata.category(char)
    return category[0] in "LNM" or category == "Cn"


@given(texts)
def test_tokens_hold_letters_numbers_and_marks_only(text: str) -> None:
    for tokeniser in ALL:
        for token in tokeniser.tokens(text):
            assert 0 < len(token) <= module.LONGEST_WORD
            assert not any(
                char.isascii() and not (char.islower() or char.isdigit()) for char in token
            )
            assert all(is_of_a_word(char) for char in token)


@pytest.fixture(scope="module")
def fts5() -> Iterator[sqlite3.Connection]:
    """Make a table as the library makes it, with a view of the terms it found."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE texts USING fts5(tokens, tokenize='ascii')")
        connection.execute("CREATE VIRTUAL TABLE found USING fts5vocab(texts, 'instance')")
        yield connection


@given(texts)
def test_fts5_takes_tokens_as_they_are(fts5: sqlite3.Connection, text: str) -> None:
    for tokeniser in ALL:
        fts5.execute("DELETE FROM texts")
        fts5.execute("INSERT INTO texts VALUES (?)", (tokeniser.joined(text),))
        rows = fts5.execute("SELECT term FROM found ORDER BY offset")
        assert [term for (term,) in rows] == tokeniser.tokens(text)


def test_words_of_more_than_64_characters_are_dropped() -> None:
    assert ENGLISH.tokens("b" * 64 + " " + "b" * 65 + " é" + "b" * 64) == ["b" * 64]


@pytest.mark.parametrize(
    "unit", ["a", "'", "a'", "é", "é\u2014", "東", "ที่", "a\u0301\u0323", "\u00ad"]
)
def test_two_megabytes_without_a_space(unit: str) -> None:
    tokeniser = Tokeniser()
    started = time.process_time()
    tokeniser.joined(unit * (2_000_000 // len(unit.encode())))
    assert time.process_time() - started < 20  # quadratic work would take hours
    assert not tokeniser._chunks


@pytest.mark.parametrize("stretch", [40, 41, 42, 43, 100])
@given(text=st.text("東京ก\u0e31\u0e48 aé'", min_size=100, max_size=300))
def test_long_texts_are_cut_as_short_ones(text: str, stretch: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(characters, "STRETCH", 10**6)
        whole = [Tokeniser(one.settings).joined(text) for one in ALL]
        patch.setattr(characters, "STRETCH", stretch)
        patch.setattr(module, "BLOCK_BYTES", stretch)
        assert [Tokeniser(one.settings).joined(text) for one in ALL] == whole


def test_a_long_text_takes_memory_in_proportion() -> None:
    for text in ("東京" * 1_000_000, "".join(f"{number:x} " for number in range(500_000))):
        cut = Tokeniser(PLAIN.settings)
        cut.joined(text[:1000])
        tracemalloc.start()
        joined = cut.joined(text)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10 * sys.getsizeof(joined) + 64_000_000


def test_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHED_CHUNKS", 10)
    tokeniser = Tokeniser()
    text = " ".join(f"w{number}" for number in range(95))
    assert tokeniser.joined(text) == text
    assert len(tokeniser._chunks) <= 10


def test_order_of_texts_does_not_matter() -> None:
    texts_in_a_row = ["Boys' toys", "boys", "東京 boys'", "BOYS’"]
    fresh = [Tokeniser().tokens(text) for text in texts_in_a_row]
    one = Tokeniser()
    assert [one.tokens(text) for text in reversed(texts_in_a_row)] == fresh[::-1]


@pytest.mark.parametrize(
    ("title", "text", "tokens"),
    [
        ("", "Bread rises", "bread rise"),
        ("Leaven", "Bread rises", "leaven leaven bread rise"),
        ("Leaven", "Leaven\n\nBread rises", "leaven leaven bread rise"),
        ("Rye  bread", "\n Rye bread\nrises", "rye bread rye bread rise"),
        ("Leaven", "", "leaven leaven"),
    ],
)
def test_the_words_of_a_title_count_twice(title: str, text: str, tokens: str) -> None:
    assert document_tokens(Tokeniser(), Document(title, text)) == tokens


def test_a_thread_goes_on_with_the_tokeniser_of_one_that_ended() -> None:
    tokenisers, both, made = Tokenisers(), Barrier(2), list[Tokeniser]()

    def use() -> None:
        made.append(tokenisers.of({}))
        both.wait(20)

    for _ in range(2):
        threads = [Thread(target=use) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert made[0] is not made[1]
    assert {*map(id, made[:2])} == {*map(id, made[2:])}
