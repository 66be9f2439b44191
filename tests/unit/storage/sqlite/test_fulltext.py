from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.storage import open_store
from lpisearch.storage.sqlite import fulltext
from lpisearch.storage.sqlite.fulltext import match_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from lpisearch.storage.store import ReadTransaction

SIGNS = "\"'*^:+-(){}.,\\\0 \n\ud800\udfff\u00e9\u0301\U0001f600aAbB1"
any_text = st.text(st.one_of(st.sampled_from(SIGNS), st.characters(codec=None)), max_size=8)
few_words = st.lists(st.sampled_from(["a", "b", "ab", "é"]), max_size=6)


@pytest.fixture
def snapshot(shelf: Path) -> Iterator[ReadTransaction]:
    """Give a library of 40 documents on four topics."""
    with open_store(shelf) as store, store.reading() as snapshot:
        yield snapshot


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
    with closing(_fts(["a", "b", "and", "or"])) as connection:
        found = connection.execute(
            "SELECT tokens FROM f WHERE f MATCH ?", (match_expression([[word]]),)
        ).fetchall()
    expected = {"AND": [("and",)], "a*": [("a",)], "^a": [("a",)]}
    assert found == expected.get(word, [])


def test_bm25_is_that_of_fts5_turned(snapshot: ReadTransaction, sql: Callable[..., Any]) -> None:
    assert snapshot.lexical.bm25(["bread", "garden"]) == sql(
        "SELECT rowid, -bm25(documents_fts) FROM documents_fts WHERE documents_fts MATCH ?",
        "bread OR garden",
    )


def test_bm25_adds_up(snapshot: ReadTransaction, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = ["bread", "garden", "bread", "letter", "tide"]
    together = snapshot.lexical.bm25(tokens)
    monkeypatch.setattr(fulltext, "_EXPRESSION_TOKENS", 2)
    apart = snapshot.lexical.bm25(tokens)
    assert [key for key, _ in apart] == [key for key, _ in together]
    assert dict(apart) == pytest.approx(dict(together))
