from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.errors import BadOption
from lpisearch.records import Filter
from lpisearch.storage.sqlite import matching
from lpisearch.storage.sqlite.matching import (
    allowed_rows,
    bm25_rows,
    hit_details,
    known_labels,
    match_expression,
)
from lpisearch.storage.sqlite.schema import open_library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

SIGNS = "\"'*^:+-(){}.,\\\0 \n\ud800\udfff\u00e9\u0301\U0001f600aAbB1"
any_text = st.text(st.one_of(st.sampled_from(SIGNS), st.characters(codec=None)), max_size=8)
few_words = st.lists(st.sampled_from(["a", "b", "ab", "é"]), max_size=6)


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
def connection(
    library: Path, folder: Callable[..., Path], ingest: Callable[..., Any]
) -> Iterator[Connection]:
    """Open a library of four documents, whose rows are 1 to 4."""
    ingest(folder({"all.jsonl": "\n".join(map(json.dumps, RECORDS))}))
    with open_library(library) as database, database.reading() as connection:
        yield connection


def _fts(texts: Sequence[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(tokens, tokenize='ascii')")
    connection.executemany("INSERT INTO f VALUES (?)", [(text,) for text in texts])
    return connection


def _as_fts5_cuts(text: str) -> list[str]:
    """Cut as the tokenizer `ascii` does, from its documentation."""
    sendable = re.sub("[\ud800-\udfff]", " ", text)
    return re.findall(r"[0-9a-z\u0080-\U0010ffff]+", sendable.translate(_LOWER))


_LOWER = {ord(sign): ord(sign.lower()) for sign in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


@given(st.lists(any_text, max_size=4), st.lists(st.lists(any_text, max_size=3), max_size=4))
def test_any_text_is_matched_as_the_tokens_it_is(
    texts: list[str], phrases: list[list[str]]
) -> None:
    """Whatever is quoted, FTS5 takes it, and finds just the texts that have one of the phrases."""
    texts = [re.sub("[\ud800-\udfff]", " ", text) for text in texts]
    texts += [" ".join(phrase).encode("utf-8", "replace").decode() for phrase in phrases]
    expression = match_expression(phrases)
    wanted = [[part for token in phrase for part in _as_fts5_cuts(token)] for phrase in phrases]
    expected = [
        row for row, text in enumerate(texts, 1) if any(_has(text, one) for one in wanted if one)
    ]
    with closing(_fts(texts)) as connection:
        if not expression:
            assert not any(phrases)
            return
        found = connection.execute("SELECT rowid FROM f WHERE f MATCH ?", (expression,)).fetchall()
    assert [row for (row,) in found] == expected


def _has(text: str, phrase: list[str]) -> bool:
    words = _as_fts5_cuts(text)
    return any(words[i : i + len(phrase)] == phrase for i in range(len(words)))


@pytest.mark.parametrize("word", ["AND", "NEAR(a b)", "a*", "tokens : a", "^a", "a OR b", '"', ""])
def test_no_sign_of_fts5_means_anything(word: str) -> None:
    """Operators, prefixes and column names are looked for as words."""
    with closing(_fts(["a", "b", "and", "or"])) as connection:
        found = connection.execute(
            "SELECT tokens FROM f WHERE f MATCH ?", (match_expression([[word]]),)
        ).fetchall()
    expected = {"AND": [("and",)], "a*": [("a",)], "^a": [("a",)]}
    assert found == expected.get(word, [])


def test_nothing_asked(connection: Connection) -> None:
    """Without any condition there is no set, which is not the same as an empty one."""
    assert allowed_rows(connection, Filter()) is None
    assert allowed_rows(connection, Filter(), Asked(((),), ((),))) is None
    assert allowed_rows(connection, Filter(labels=("none",))) == set()


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
def test_filters(connection: Connection, where: Filter, rows: set[int]) -> None:
    """Each condition keeps the documents that pass it, and all conditions must hold."""
    assert allowed_rows(connection, where) == rows


@pytest.mark.parametrize("date", ["yesterday", "24", "2024-13", "2024-5", "2024-05-32", "2024-"])
def test_what_is_no_date_is_refused(connection: Connection, date: str) -> None:
    """A date that would pass or refuse documents at random is stated as an error."""
    with pytest.raises(BadOption, match=f"since: “{date}” is not a date"):
        allowed_rows(connection, Filter(since=date))
    with pytest.raises(BadOption, match=f"until: “{date}” is not a date"):
        allowed_rows(connection, Filter(until=date))


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
def test_phrases_and_exclusions(connection: Connection, asked: Asked, rows: set[int]) -> None:
    """Every phrase must occur, and no excluded one may."""
    assert allowed_rows(connection, Filter(), asked) == rows


def test_demands_and_filters_together(connection: Connection) -> None:
    """A document must pass the filter and meet the demands."""
    asked = Asked((("bread",),), (("yeast",),))
    assert allowed_rows(connection, Filter(labels=("food",)), asked) == {FISH}
    assert allowed_rows(connection, Filter(labels=("none",)), asked) == set()


def test_a_phrase_of_any_length_is_looked_for_whole(
    library: Path, folder: Callable[..., Path], ingest: Callable[..., Any]
) -> None:
    """A phrase too long for one expression is found only where all of it stands."""
    words = [f"w{number}" for number in range(500)]
    ingest(folder({"a.txt": " ".join(words), "b.txt": " ".join(words[:300])}))
    with open_library(library) as database, database.reading() as connection:
        whole, beginning = tuple(words), tuple(words[:200])
        assert allowed_rows(connection, Filter(), Asked((whole,))) == {1}
        assert allowed_rows(connection, Filter(), Asked((beginning,))) == {1, 2}
        assert allowed_rows(connection, Filter(), Asked((), (whole,))) == {2}


def test_many_exclusions(connection: Connection) -> None:
    """More exclusions than one expression holds are all heeded."""
    words = tuple((f"w{number}",) for number in range(1000))
    assert allowed_rows(connection, Filter(), Asked((), (*words, ("ship",)))) == {
        BREAD,
        FISH,
        EMPTY,
    }


def test_bm25_is_that_of_fts5_turned(connection: Connection, sql: Callable[..., Any]) -> None:
    """All documents with any of the tokens have their score, the higher the better."""
    found = bm25_rows(connection, ["bread", "blue"])
    own = sql(
        "SELECT rowid, -bm25(documents_fts) FROM documents_fts WHERE documents_fts MATCH ?",
        "bread OR blue",
    )
    assert found == own
    scores = dict(found)
    assert scores.keys() == {BREAD, SHIPS, FISH}
    assert scores[SHIPS] < scores[BREAD]
    assert bm25_rows(connection, []) == []
    assert bm25_rows(connection, ["unknown"]) == []


def test_bm25_adds_up(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens spread over several expressions give the scores of one."""
    tokens = ["bread", "blue", "bread", "fish", "deep"]
    together = bm25_rows(connection, tokens)
    monkeypatch.setattr(matching, "_EXPRESSION_TOKENS", 2)
    apart = bm25_rows(connection, tokens)
    assert [row for row, _ in apart] == [row for row, _ in together]
    assert dict(apart) == pytest.approx(dict(together))
    single = dict(bm25_rows(connection, ["bread"]))
    assert dict(bm25_rows(connection, ["bread", "bread"])) == pytest.approx(
        {row: 2 * score for row, score in single.items()}
    )


@pytest.mark.parametrize("handed_over", [0, 100])
def test_bm25_of_allowed_rows(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, handed_over: int
) -> None:
    """Only allowed rows are given, with the scores that they have among all."""
    monkeypatch.setattr(matching, "_ROWS_HANDED_OVER", handed_over)
    scores = dict(bm25_rows(connection, ["bread", "blue"]))
    assert bm25_rows(connection, ["bread", "blue"], {FISH, EMPTY, 99}) == [(FISH, scores[FISH])]
    assert bm25_rows(connection, ["bread", "blue"], set()) == []


def test_details(connection: Connection) -> None:
    """What is shown of each row, with labels in their order; an unknown row is left out."""
    found = hit_details(connection, [FISH, EMPTY, 99])
    assert found.keys() == {FISH, EMPTY}
    fish = found[FISH]
    assert fish[:3] == ("fish", "Fish", ("sea", "food"))
    assert fish.path.endswith("all.jsonl")
    assert fish.date == "2023"
    assert fish.text == RECORDS[2]["text"]
    assert len(fish.content_hash) == 16
    assert found[EMPTY].labels == ()


def test_details_of_part_of_the_text(connection: Connection) -> None:
    """Only as much of a text is read as is asked for, and none at 0."""
    assert hit_details(connection, [BREAD], characters=6)[BREAD].text == "Baking"
    assert hit_details(connection, [BREAD], characters=0)[BREAD].text == ""
    assert hit_details(connection, list(range(2000)))[BREAD].id == "bread"


def test_known_labels(connection: Connection) -> None:
    """Every label is named once, in order."""
    assert known_labels(connection) == ["food", "home", "sea"]
