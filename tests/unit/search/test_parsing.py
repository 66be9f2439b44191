from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.search.parser import AnyOf, ParsedQuery, Phrase, parse_plain, parse_query
from lpisearch.text.languages import TokeniserSettings
from lpisearch.text.tokeniser import Tokeniser

ENGLISH = Tokeniser()
Tokens = tuple[str, ...]
# Signs that mean something to us or to FTS5 among letters, and anything else.
SIGNS = "\"“”„«»-+*^:(){}'’\u0000\u200b\u0301\ud800 \n\tab5Éж東京한م\U0001f600"
MULTI, DEEP = ("multi", "agent"), ("deep", "sea")
texts = st.text(st.one_of(st.sampled_from(SIGNS), st.characters(codec=None)), max_size=60)


@pytest.mark.parametrize(
    ("text", "tokens", "phrases", "excluded"),
    [
        ("", [], [], []),
        ("Baking the bread", ["bake", "bread"], [], []),
        ('"multi agent" systems', ["multi", "agent", "system"], [("multi", "agent")], []),
        ("“multi agent” systems", ["multi", "agent", "system"], [("multi", "agent")], []),
        ("«multi agent» „deep sea“", ["multi", "agent", "deep", "sea"], [MULTI, DEEP], []),
        ('"multi-agent"', ["multi", "agent"], [("multi", "agent")], []),
        ("multi-agent", ["multi", "agent"], [], []),
        ("sea -ships", ["sea"], [], [("ship",)]),
        ("-ships sea", ["sea"], [], [("ship",)]),
        ('sea -"deep blue" fish', ["sea", "fish"], [], [("deep", "blue")]),
        ("sea -multi-agent", ["sea"], [], [("multi", "agent")]),
        ("sea - ships", ["sea", "ship"], [], []),
        ("git --force", ["git", "forc"], [], []),
        ('sea -"deep blue', ["sea", "deep", "blue"], [], []),
        ('an "open quote', ["open", "quot"], [], []),
        ('5" and 7" pipes', ["5", "7", "pipe"], [], []),
        ('"windows 95" disk', ["window", "95", "disk"], [("window", "95")], []),
        ('sea"blue whale"s', ["sea", "blue", "whale", "s"], [("blue", "whale")], []),
        ('-sea"blue whale"', ["blue", "whale"], [("blue", "whale")], [("sea",)]),
        ('"of the" ships -the', ["ship"], [()], []),
        ('"" “” -""', [], [], []),
        ('"sea sea" "sea sea" -a1 -a1', ["sea"] * 4, [("sea", "sea")], [("a1",)]),
        ("cats AND dogs NOT NEAR(birds)", ["cat", "dog", "near", "bird"], [], []),
        ("-東京都 大阪", ["大阪"], [], [("東京", "京都")]),
        ('"שלום עולם"', ["שלום", "עולם"], [("שלום", "עולם")], []),
        ("\x00\x1b[31m \U0001f600", ["31m"], [], []),
    ],
)
def test_the_rules(
    text: str, tokens: list[str], phrases: list[Tokens], excluded: list[Tokens]
) -> None:
    """Each rule of the module's docstring shows in an example made by hand."""
    parsed = parse_query(text, ENGLISH)
    assert parsed.tokens == tuple(tokens)
    assert [phrase.tokens for phrase in parsed.phrases] == phrases
    assert [phrase.tokens for phrase in parsed.excluded] == excluded
    assert parsed.prefixes == parsed.excluded_prefixes == ()


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ('"Baking bread"', Phrase(("bake", "bread"), "Baking bread")),
        ("„Zum Meer“", Phrase(("zum", "meer"), "Zum Meer")),
        ('"Baking bread"~', Phrase(("bake", "bread"))),
        ('"to be or not to be"', Phrase((), "to be or not to be")),
        ('"multi-agent"', Phrase(("multi", "agent"), "multi-agent")),
    ],
)
def test_what_is_quoted_is_kept_as_written(text: str, phrase: Phrase) -> None:
    assert parse_query(text, ENGLISH).phrases == (phrase,)
    assert parse_query(f"-{text}", ENGLISH).excluded == (phrase,)


@pytest.mark.parametrize("text", ['"of the"~', '"?!"', '-"--"', '""~'])
def test_a_phrase_without_anything_to_find_asks_for_nothing(text: str) -> None:
    assert parse_query(text, ENGLISH) == ParsedQuery(())


@pytest.mark.parametrize(
    ("text", "tokens", "prefixes", "excluded"),
    [
        ("comput* costs", ["cost"], ["comput"], []),
        ("NEAR(Birds*)", ["near"], ["birds"], []),
        ("multi-agen*", ["multi"], ["agen"], []),
        ("sea -ship*", ["sea"], [], ["ship"]),
        ("Brömm* brömm*", [], ["brömm"], []),
        ("a* b *c 2 * 3 **bold** x*y", ["b", "c", "2", "3", "bold", "x", "y"], [], []),
        ("東京*", ["東京"], [], []),
    ],
)
def test_a_prefix_has_a_star(
    text: str, tokens: list[str], prefixes: list[str], excluded: list[str]
) -> None:
    parsed = parse_query(text, ENGLISH)
    assert parsed.tokens == tuple(tokens)
    assert parsed.prefixes == tuple(prefixes)
    assert parsed.excluded_prefixes == tuple(excluded)


def _said(phrase: Phrase) -> str:
    """Write a demand as it is typed."""
    said = phrase.prefix + "*" if phrase.prefix else " ".join(phrase.tokens)
    return ("title:" if phrase.in_title else "") + (
        f'"{phrase.written}"' if phrase.written else said
    )


@pytest.mark.parametrize(
    ("text", "phrases", "excluded"),
    [
        ("title:Bread oven", ["title:bread"], []),
        ('title:"rye bread" -title:draft', ['title:"rye bread"'], ["title:draft"]),
        ('Title:comput* -title:"a draft"', ["title:comput*"], ['title:"a draft"']),
        ("title:the", ['title:"the"'], []),
        ("subtitle:bread title: bread title:-", [], []),
    ],
)
def test_a_title_is_asked_for(text: str, phrases: list[str], excluded: list[str]) -> None:
    parsed = parse_query(text, ENGLISH)
    assert [_said(phrase) for phrase in parsed.phrases] == phrases
    assert [_said(phrase) for phrase in parsed.excluded] == excluded


@pytest.mark.parametrize(
    ("text", "alternatives", "tokens"),
    [
        ("bread OR loaves", [["bread"], ["loav"]], ["bread", "loav"]),
        ("ovens bread OR loaves yeast", [["bread"], ["loav"]], ["oven", "bread", "loav", "yeast"]),
        (
            'a* x1 OR "rye bread" OR comput*',
            [["x1"], ['"rye bread"'], ["comput*"]],
            ["x1", "rye", "bread"],
        ),
        ("(rye bread OR leaven)", [["rye", "bread"], ["leaven"]], ["rye", "bread", "leaven"]),
        ("title:sea OR (deep blue)", [["title:sea"], ["deep", "blue"]], ["sea", "deep", "blue"]),
        ('"sea OR land"', None, ["sea", "land"]),
        ("sea OR", None, ["sea"]),
        ("OR sea", None, ["sea"]),
        ("sea or land", None, ["sea", "land"]),
        ("sea (land) and NEAR(OR)", None, ["sea", "land", "near"]),
        ("sea OR -land", None, ["sea"]),
        ("the OR of", None, []),
    ],
)
def test_alternatives_stand_between_ors(
    text: str, alternatives: list[list[str]] | None, tokens: list[str]
) -> None:
    parsed = parse_query(text, ENGLISH)
    found = [
        [[_said(one) for one in each] for each in group.alternatives] for group in parsed.any_of
    ]
    assert found == ([] if alternatives is None else [alternatives])
    assert parsed.tokens == tuple(tokens)
    assert not any(group.excluded for group in parsed.any_of)


def test_alternatives_may_be_excluded() -> None:
    parsed = parse_query("bread -(rye OR deep sea)", ENGLISH)
    assert parsed.tokens == ("bread",)
    assert parsed.any_of == (
        AnyOf(((Phrase(("rye",)),), (Phrase(("deep",)), Phrase(("sea",)))), excluded=True),
    )


def test_words_are_known_as_they_were_typed() -> None:
    typed = parse_query('Computing "Baking bread" -draft', ENGLISH).typed
    assert typed == {"comput": "Computing", "bake": "Baking", "bread": "bread"}


def test_in_a_plain_text_no_sign_asks_for_anything() -> None:
    parsed = parse_plain('a "quoted phrase" -draft comput*', ENGLISH)
    assert parsed == ParsedQuery(("quot", "phrase", "draft", "comput"))


@given(texts)
def test_any_text_is_a_query(text: str) -> None:
    parsed = parse_query(text, ENGLISH)
    known = set(ENGLISH.tokens(text))
    demands = parsed.phrases + parsed.excluded
    assert {*parsed.tokens, *(token for each in demands for token in each.tokens)} <= known
    assert all(each.tokens or each.written for each in demands)


@given(texts)
def test_text_without_signs_is_only_tokenised(text: str) -> None:
    plain = text.translate(dict.fromkeys(map(ord, '"“”„«»-*'), " "))
    parsed = parse_query(plain, ENGLISH)
    tokens = tuple(ENGLISH.tokens(plain))
    assert parsed == ParsedQuery(tokens, compounds=parsed.compounds)


@given(st.lists(st.sampled_from(["sea", "blue whales", "-ship", '"a deep sea"', "日本"])))
def test_pieces_add_up(pieces: list[str]) -> None:
    parsed = parse_query(" ".join(pieces), ENGLISH)
    parts = [parse_query(piece, ENGLISH) for piece in pieces]
    assert parsed.tokens == sum((part.tokens for part in parts), ())
    assert set(parsed.phrases) == {phrase for part in parts for phrase in part.phrases}
    assert set(parsed.excluded) == {phrase for part in parts for phrase in part.excluded}


def test_the_language_is_the_tokenisers() -> None:
    french = Tokeniser(TokeniserSettings.for_language("french"))
    assert parse_query("“les chevaux” -l’école", french) == ParsedQuery(
        ("cheval",), (Phrase(("cheval",), "les chevaux"),), (Phrase(("écol",)),)
    )


@pytest.mark.parametrize(
    "sign",
    [
        *('"', "“", "„", "«", ' -"', " -a", '5"', ' -“"„', "-", "a*", "ab*"),
        *("(", "a OR ", "(a OR ", "-(", "title:", "a ( ", "( OR ", '"a" ', "OR ", "(a ) "),
    ],
)
def test_a_megabyte_of_signs_takes_no_more_than_linear_time(sign: str) -> None:
    def seconds(size: int) -> float:
        text = (sign * size)[:size]
        start = time.process_time()
        parse_query(text, ENGLISH)
        return time.process_time() - start

    # Quadratic time would be 100 times 10.
    assert seconds(1_000_000) < 40 * max(seconds(100_000), 0.005)
