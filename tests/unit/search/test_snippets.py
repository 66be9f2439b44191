from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.model.answers import Passage
from lpisearch.search.snippets import CUT, snippet
from lpisearch.text.languages import TokeniserSettings
from lpisearch.text.tokeniser import MOST_CHARACTERS, Tokeniser

ENGLISH = Tokeniser()
FILLER = "plain filler stands here and there. "
words = st.sampled_from(
    ["bread", "bakes", "deep", "sea", "the", "x.", "multi-agent", "東京都", "\n"]
)
texts = st.one_of(
    st.lists(words, max_size=80).map(" ".join),
    st.text(st.characters(codec=None), max_size=120),
)


def marked(passage: Passage) -> list[str]:
    """Return the words that are marked."""
    return [passage.text[start:end] for start, end in passage.marks]


def wanted(text: str) -> dict[str, float]:
    """Weigh every token of a text the same."""
    return dict.fromkeys(ENGLISH.tokens(text), 1.0)


def best_weight(text: str, weights: dict[str, float], length: int) -> float:
    """Return the weight of the best of all windows, by looking at each."""
    places = [span for span in ENGLISH.spans(" ".join(text.split())) if span[2] in weights]
    found = [0.0]
    for first, (start, _, _) in enumerate(places):
        window = [place for place in places[first:] if place[1] - start <= length]
        counts = Counter(token for _, _, token in window or [places[first]])
        found.append(sum(weights[token] * (1.2 - 0.2 / n) for token, n in counts.items()))
    return max(found)


def weight_of(passage: Passage, weights: dict[str, float]) -> float:
    """Return the weight of what a passage shows."""
    counts = Counter(token for token in ENGLISH.tokens(passage.text) if token in weights)
    return sum(weights[token] * (1.2 - 0.2 / n) for token, n in counts.items())


def test_stemmed_forms_are_marked() -> None:
    text = FILLER * 20 + "She bakes bread. He BAKED it." + FILLER * 20
    passage = snippet(text, ENGLISH, wanted("baking"))
    assert marked(passage) == ["bakes", "BAKED"]
    assert passage.text.startswith(CUT)
    assert passage.text.endswith(CUT)


def test_distinct_words_outweigh_repeats() -> None:
    text = f"{'bread ' * 30}{FILLER * 20} bread from the deep sea {FILLER * 20}"
    assert marked(snippet(text, ENGLISH, wanted("bread sea"))) == ["bread", "sea"]


def test_weights_decide() -> None:
    """The word that weighs more is shown where two do not fit into one window."""
    text = f"{FILLER * 3} the sea {FILLER * 20} some bread {FILLER * 20}"
    assert marked(snippet(text, ENGLISH, {"sea": 1.0, "bread": 2.0})) == ["bread"]
    assert marked(snippet(text, ENGLISH, {"sea": 2.0, "bread": 1.0})) == ["sea"]


def test_words_far_apart_are_no_window() -> None:
    nearly = f"bread {FILLER * 8} sea "
    text = f"{nearly}{FILLER * 20}{nearly}{FILLER * 20} bread and sea {FILLER * 20}"
    assert marked(snippet(text, ENGLISH, wanted("bread sea"))) == ["bread", "sea"]


@pytest.mark.parametrize("shift", range(0, 280, 20))
def test_a_window_is_found_wherever_it_lies(shift: int) -> None:
    decoys = f"bread {FILLER * 15}" * 12
    text = f"{decoys}{'filler ' * (shift // 7)} bread {FILLER * 4} sea {FILLER * 20}"
    assert marked(snippet(text, ENGLISH, wanted("bread sea"))) == ["bread", "sea"]


def test_equal_windows() -> None:
    """Of windows that weigh the same the first is shown."""
    text = f"{FILLER * 20} first sea {FILLER * 20} second sea {FILLER * 20}"
    assert "first sea" in snippet(text, ENGLISH, wanted("sea")).text


@pytest.mark.parametrize("weights", [{}, {"sea": 1.0}, {"filler": 0.0, "plain": -1.0}])
def test_the_beginning_where_nothing_is_wanted(weights: dict[str, float]) -> None:
    passage = snippet(FILLER * 20, ENGLISH, weights, length=40)
    assert (passage.text, passage.marks) == ("plain filler stands here and there.…", ())


@pytest.mark.parametrize("text", ["", " \n\t", "short"])
def test_short_texts_are_whole(text: str) -> None:
    assert snippet(text, ENGLISH, {}).text == text.strip()


def test_white_space_is_folded() -> None:
    passage = snippet("deep\r\n\r\n   blue\u2028\tsea", ENGLISH, wanted("sea"))
    assert passage == Passage("deep blue sea", ((10, 13),), 0, 20)


def test_a_passage_begins_with_its_sentence() -> None:
    text = f"{FILLER * 9}Far out in the sea there are fish. {FILLER * 9}"
    assert snippet(text, ENGLISH, wanted("fish")).text.startswith("…Far out in the sea")


def test_words_are_not_cut() -> None:
    text = "alpha beta gamma delta epsilon " * 10 + "sea " + "alpha beta gamma delta epsilon " * 10
    for length in range(5, 120):
        passage = snippet(text, ENGLISH, wanted("sea"), length=length)
        assert marked(passage) == ["sea"]
        assert set(passage.text.strip(CUT).split()) <= set(text.split())
        assert len(passage.text) <= length + 2 * len(CUT)


@pytest.mark.parametrize(
    ("text", "title", "shown"),
    [
        ("Bread\n\nBaking is an art.", "Bread", "Baking is an art."),
        ("Bread: baking is an art.", "Bread", "baking is an art."),
        ("Breadth first.", "Bread", "Breadth first."),
        ("Bread", "Bread", "Bread"),
        ("Baking bread", "Bread", "Baking bread"),
        ("Deep  sea. Fish", "Deep\nsea", "Fish"),
    ],
)
def test_the_title_is_not_shown_twice(text: str, title: str, shown: str) -> None:
    assert snippet(text, ENGLISH, {}, title=title).text == shown


def test_only_the_strongest_are_marked() -> None:
    weights = {"deep": 1.0, "sea": 3.0, "fish": 2.0}
    passage = snippet("deep sea fish in the sea", ENGLISH, weights, most_marked=2)
    assert marked(passage) == ["sea", "fish", "sea"]
    assert snippet("deep sea", ENGLISH, weights, most_marked=0).marks == ()


def test_scripts_without_spaces() -> None:
    tokeniser = Tokeniser(TokeniserSettings.for_language("none"))
    passage = snippet(
        "漢字" * 2000 + "東京都" + "漢字" * 2000, tokeniser, {"東京": 1.0, "京都": 1.0}
    )
    assert marked(passage) == ["東京都"]
    assert len(passage.text) <= 202


def test_a_long_text_is_looked_at_in_part() -> None:
    beginning = (FILLER * MOST_CHARACTERS)[: MOST_CHARACTERS - 100]
    near, far = f"{beginning} sea ", f"{beginning}{FILLER * 10} sea "
    assert marked(snippet(near + FILLER, ENGLISH, wanted("sea"))) == ["sea"]
    passage = snippet(far, ENGLISH, wanted("sea"))
    assert passage.text.startswith("plain filler")
    assert passage.text.endswith(CUT)

    def seconds(text: str) -> float:
        start = time.process_time()
        snippet(text, ENGLISH, wanted("sea"))
        return time.process_time() - start

    assert seconds(far + FILLER * 300_000) < 20 * max(seconds(far), 0.002)


@given(
    texts, st.sets(st.sampled_from(["bread", "bake", "deep", "agent", "東京"])), st.integers(1, 90)
)
def test_what_a_passage_is(text: str, tokens: set[str], length: int) -> None:
    passage = snippet(text, ENGLISH, dict.fromkeys(tokens, 1.0), length=length)
    folded = " ".join(text.split())
    bare = passage.text.removeprefix(CUT) if not folded.startswith(passage.text) else passage.text
    assert bare in folded or bare.removesuffix(CUT) in folded
    assert len(passage.text.splitlines()) <= 1
    longest = max((end - start for start, end in passage.marks), default=0)
    assert len(passage.text) <= max(length, longest) + 2 * len(CUT)
    for word in marked(passage):
        assert tokens & set(ENGLISH.tokens(word))


@given(
    st.lists(words, max_size=60).map(" ".join),
    st.dictionaries(
        st.sampled_from(["bread", "bake", "deep", "sea", "agent"]), st.integers(1, 9).map(float)
    ),
    st.integers(70, 200),
)
def test_the_best_window_is_found(text: str, weights: dict[str, float], length: int) -> None:
    passage = snippet(text, ENGLISH, weights, length=length)
    assert weight_of(passage, weights) >= best_weight(text, weights, length) - 1e-9


@given(texts, st.integers(1, 60), st.sampled_from(["", "bread", "deep sea"]))
def test_a_passage_says_where_it_stands(text: str, length: int, title: str) -> None:
    passage = snippet(text, ENGLISH, wanted(text[:20]), length=length, title=title)
    shown = passage.text.removeprefix(CUT).removesuffix(CUT)
    there = text[passage.start : passage.end]
    if CUT not in text:
        assert "".join(there.split()) == "".join(shown.split())
    assert there == there.strip()
