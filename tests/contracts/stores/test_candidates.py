"""Which documents a filter and a phrase allow, what is shown of them, and what they score."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from lpisearch.errors import BadOption
from lpisearch.model.documents import Filter
from lpisearch.storage.store import ReadTransaction, Store


@dataclass(frozen=True)
class Asked:
    """What a parsed query asks of a document."""

    phrases: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[tuple[str, ...], ...] = ()


RECORDS: list[dict[str, Any]] = [
    {
        "id": "bread",
        "title": "Bread",
        "text": "Baking bread with yeast, and more bread.",
        "labels": ["food", "home"],
        "date": "2024-05-01",
        "metadata": {"year": 2024, "tags": ["oven", 7], "draft": True, "by": "Ann"},
    },
    {
        "id": "ships",
        "title": "Ships",
        "text": "A ship is baking in the sun; the sea is deep and blue.",
        "labels": ["sea"],
        "date": "2024-05-31T23:59:00",
        "metadata": {"year": 2023.5, "tags": [], "draft": False, 'od"d key.$': "x"},
    },
    {
        "id": "fish",
        "title": "Fish",
        "text": "Deep blue, blue deep. Bread for fish.",
        "labels": ["sea", "food"],
        "date": "2023",
        "metadata": {"year": "2024", "tags": {"a": "oven"}, "draft": None},
    },
    {"id": "empty", "title": "Nothing", "text": "No date, no label."},
]
BREAD, SHIPS, FISH, EMPTY = 1, 2, 3, 4


@pytest.fixture
def snapshot(store: Store, fill: Callable[..., None]) -> Iterator[ReadTransaction]:
    """Give a library of four documents, whose keys are 1 to 4."""
    fill(store, RECORDS)
    with store.reading() as snapshot:
        yield snapshot


def test_nothing_asked(snapshot: ReadTransaction) -> None:
    """Without any condition there is no set, which is not the same as an empty one."""
    assert snapshot.lexical.allowed(Filter()) is None
    assert snapshot.lexical.allowed(Filter(), Asked(((),), ((),))) is None
    assert snapshot.lexical.allowed(Filter(labels=("none",))) == set()


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        (Filter(labels=("food",)), {BREAD, FISH}),
        (Filter(labels=("food", "sea")), {BREAD, SHIPS, FISH}),
        (Filter(path="f*"), {FISH}),
        (Filter(since="2024"), {BREAD, SHIPS}),
        (Filter(since="2024-05"), {BREAD, SHIPS}),
        (Filter(since="2024-05-02"), {SHIPS}),
        (Filter(since="2023"), {BREAD, SHIPS, FISH}),
        (Filter(since="2023-01"), {BREAD, SHIPS, FISH}),
        (Filter(since="2023-02"), {BREAD, SHIPS}),
        (Filter(until="2024"), {BREAD, SHIPS, FISH}),
        (Filter(until="2024-05"), {BREAD, SHIPS, FISH}),
        (Filter(until="2024-05-31"), {BREAD, SHIPS, FISH}),
        (Filter(until="2024-05-31 23:58"), {BREAD, FISH}),
        (Filter(since="2024-05-31T23:59:00", until="2024-05-31T23:59:00"), {SHIPS}),
        (Filter(until="2024-05-30"), {BREAD, FISH}),
        (Filter(until="2023"), {FISH}),
        (Filter(until="2022"), set()),
        (Filter(since="2024", until="2024-05-01"), {BREAD}),
        (Filter(metadata=(("year", "2024"),)), {BREAD, FISH}),
        (Filter(metadata=(("year", "2024.0"),)), {BREAD}),
        (Filter(metadata=(("year", "2023.5"),)), {SHIPS}),
        (Filter(metadata=(("by", "Ann"),)), {BREAD}),
        (Filter(metadata=(("by", "ann"),)), set()),
        (Filter(metadata=(("tags", "oven"),)), {BREAD}),
        (Filter(metadata=(("tags", "7"),)), {BREAD}),
        (Filter(metadata=(("draft", "true"),)), {BREAD}),
        (Filter(metadata=(("draft", "False"),)), {SHIPS}),
        (Filter(metadata=(("draft", "1"),)), set()),
        (Filter(metadata=(("draft", "null"),)), {FISH}),
        (Filter(metadata=(('od"d key.$', "x"),)), {SHIPS}),
        (Filter(metadata=(("year", "2024"), ("by", "Ann"))), {BREAD}),
        (Filter(metadata=(("missing", ""),)), set()),
        (Filter(labels=("food",), since="2024", metadata=(("by", "Ann"),)), {BREAD}),
    ],
    ids=str,
)
def test_filters(snapshot: ReadTransaction, where: Filter, rows: set[int]) -> None:
    """Each condition keeps the documents that pass it, and all conditions must hold."""
    assert snapshot.lexical.allowed(where) == rows


@pytest.mark.parametrize("date", ["yesterday", "24", "2024-13", "2024-5", "2024-05-32", "2024-"])
def test_what_is_no_date_is_refused(snapshot: ReadTransaction, date: str) -> None:
    with pytest.raises(BadOption, match=f"since: “{date}” is not a date"):
        snapshot.lexical.allowed(Filter(since=date))
    with pytest.raises(BadOption, match=f"until: “{date}” is not a date"):
        snapshot.lexical.allowed(Filter(until=date))


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        (Asked((("deep", "blue"),)), {SHIPS, FISH}),
        (Asked((("blue", "deep"),)), {FISH}),
        (Asked((("bread",),)), {BREAD, FISH}),
        (Asked((("bread",), ("deep", "blue"))), {FISH}),
        (Asked((("bread",), ("ship",))), set()),
        (Asked((), (("bread",),)), {SHIPS, EMPTY}),
        (Asked((), (("blue", "deep"), ("yeast",))), {SHIPS, EMPTY}),
        (Asked((("bread",),), (("fish",),)), {BREAD}),
        (Asked((("deep", "sea"),)), set()),
    ],
)
def test_phrases_and_exclusions(snapshot: ReadTransaction, asked: Asked, rows: set[int]) -> None:
    assert snapshot.lexical.allowed(Filter(), asked) == rows


def test_demands_and_filters_together(snapshot: ReadTransaction) -> None:
    asked = Asked((("bread",),), (("yeast",),))
    assert snapshot.lexical.allowed(Filter(labels=("food",)), asked) == {FISH}
    assert snapshot.lexical.allowed(Filter(labels=("none",)), asked) == set()


def test_many_exclusions(snapshot: ReadTransaction) -> None:
    """More exclusions than one expression holds are all heeded."""
    words = tuple((f"w{number}",) for number in range(1000))
    assert snapshot.lexical.allowed(Filter(), Asked((), (*words, ("ship",)))) == {
        BREAD,
        FISH,
        EMPTY,
    }


def test_details(snapshot: ReadTransaction) -> None:
    """What is shown of each row, with labels in their order; an unknown row is left out."""
    found = snapshot.documents.details([FISH, EMPTY, 99])
    assert found.keys() == {FISH, EMPTY}
    fish = found[FISH]
    assert fish[:3] == ("fish", "Fish", ("sea", "food"))
    assert fish.path == "/notes/all.jsonl"
    assert fish.date == "2023"
    assert fish.text == RECORDS[2]["text"]
    assert found[EMPTY].labels == ()


def test_details_of_part_of_the_text(snapshot: ReadTransaction) -> None:
    assert snapshot.documents.details([BREAD], characters=6)[BREAD].text == "Baking"
    assert snapshot.documents.details([BREAD], characters=0)[BREAD].text == ""
    assert snapshot.documents.details(list(range(2000)))[BREAD].id == "bread"


def test_known_labels(snapshot: ReadTransaction) -> None:
    """Every label is named once, in order."""
    assert snapshot.labels.names() == ["food", "home", "sea"]


def test_a_phrase_of_any_length_is_looked_for_whole(
    store: Store, fill: Callable[..., None]
) -> None:
    words = [f"w{number}" for number in range(500)]
    fill(store, [{"id": "a", "text": " ".join(words)}, {"id": "b", "text": " ".join(words[:300])}])
    with store.reading() as snapshot:
        whole, beginning = tuple(words), tuple(words[:200])
        assert snapshot.lexical.allowed(Filter(), Asked((whole,))) == {1}
        assert snapshot.lexical.allowed(Filter(), Asked((beginning,))) == {1, 2}
        assert snapshot.lexical.allowed(Filter(), Asked((), (whole,))) == {2}


def test_candidates_have_any_of_the_tokens(snapshot: ReadTransaction) -> None:
    found = snapshot.lexical.bm25(["bread", "blue"])
    assert [key for key, _ in found] == [BREAD, SHIPS, FISH]
    scores = dict(found)
    assert scores[SHIPS] < scores[BREAD]
    assert min(scores.values()) > 0
    assert snapshot.lexical.bm25([]) == []
    assert snapshot.lexical.bm25(["unknown"]) == []


def test_a_token_given_twice_counts_twice(snapshot: ReadTransaction) -> None:
    single = dict(snapshot.lexical.bm25(["bread"]))
    many = dict(snapshot.lexical.bm25(["bread"] * 200))
    assert many == pytest.approx({key: 200 * score for key, score in single.items()})


def test_only_allowed_documents_are_candidates(snapshot: ReadTransaction) -> None:
    scores = dict(snapshot.lexical.bm25(["bread", "blue"]))
    allowed = {FISH, EMPTY, 99}
    assert snapshot.lexical.bm25(["bread", "blue"], allowed) == [(FISH, scores[FISH])]
    assert snapshot.lexical.bm25(["bread", "blue"], set(range(20_000))) == list(scores.items())
    assert snapshot.lexical.bm25(["bread", "blue"], set()) == []


def test_terms_are_counted_by_their_documents(snapshot: ReadTransaction) -> None:
    tokens = snapshot.documents.tokens(snapshot.documents.keys())
    every = {token for joined in tokens for token in joined.split()}
    assert snapshot.lexical.count_terms(1) == len(every)
    common = [token for token in every if sum(token in one.split() for one in tokens) > 1]
    assert snapshot.lexical.count_terms(2) == len(common)
    assert snapshot.lexical.count_terms(5) == 0


@pytest.mark.parametrize(
    "word", ["AND", "NEAR(bread blue)", "bre*", "blue OR bread", "-blue bread", "'", ""]
)
def test_no_sign_in_a_token_means_anything(snapshot: ReadTransaction, word: str) -> None:
    assert snapshot.lexical.bm25([word]) == []
    assert snapshot.lexical.allowed(Filter(), Asked(((word,),))) == set()
