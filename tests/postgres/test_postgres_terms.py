"""Tokens as PostgreSQL indexes them: verbatim, counted, however odd or many they are."""

from collections.abc import Iterator
from typing import Any

import pytest

from lpisearch.location import Address
from lpisearch.model.documents import Document, DocumentRow, DocumentWrite, Filter, Source
from lpisearch.storage import create_store
from lpisearch.storage.postgres.fulltext import MARK, as_vector
from lpisearch.storage.reading import Prefix
from lpisearch.storage.store import Store
from tests.contracts.stores.test_candidates import Asked

_NOW = "2026-01-01T00:00:00+00:00"
_ODD = (
    *("'", "''", "\\", "\\'", ":", ":*", "a:*", "a&b", "a|b", "!a", "(", ")", "<->", "$$"),
    *("%", "%s", "a'b", "1:2", "ß", "\U0001f600", '"'),
)
_MANY = " ".join(f"word{n}" for n in range(120_000))


@pytest.fixture
def store(address: Address) -> Iterator[Store]:
    """Open an empty library with a source."""
    with create_store(address) as store:
        with store.writing() as transaction:
            transaction.sources.save([Source(1, "/a", "/", "text", 1, 1, "")], _NOW)
        yield store


def _put(store: Store, *tokens: str) -> None:
    writes = [
        DocumentWrite(
            DocumentRow(n, str(n), 1, n, bytes(16)), "/a", Document("", "", str(n)), joined
        )
        for n, joined in enumerate(tokens, start=1)
    ]
    with store.writing() as transaction:
        transaction.changes.insert(writes, _NOW)


def test_no_sign_of_postgresql_means_anything(store: Store) -> None:
    _put(store, *(f"{odd} plain{n}" for n, odd in enumerate(_ODD)))
    with store.reading() as snapshot:
        for key, odd in enumerate(_ODD, start=1):
            assert [found for found, _ in snapshot.lexical.bm25([odd])] == [key], odd
            assert snapshot.lexical.some_with(odd, 5) == [key]
            phrase: Any = (odd, f"plain{key - 1}")
            assert snapshot.lexical.allowed(Filter(), Asked((phrase,))) == {key}
            beginning: Any = (odd, Prefix("plain"))
            assert snapshot.lexical.allowed(Filter(), Asked((beginning,))) == {key}
        assert len(snapshot.lexical.candidates([[Prefix("plain")]])) == len(_ODD)


def test_more_words_than_a_vector_holds(store: Store) -> None:
    longest = "x" * 3000
    _put(store, _MANY, f"word7 {longest}", "word119999")
    with store.reading() as snapshot:
        lexical = snapshot.lexical
        for word in ("word7", "word60000", "word119999"):
            assert 1 in lexical.some_with(word, 5)
            assert 1 in [key for key, _ in lexical.bm25([word])]
        assert lexical.allowed(Filter(), Asked((("word119998", "word119999"),))) == {1}
        assert lexical.allowed(Filter(), Asked((("word119999", "word119998"),))) == set()
        assert lexical.allowed(Filter(), Asked(((longest,),))) == {2}
        assert lexical.allowed(Filter(), Asked((), (("word119999",),))) == {2}
        assert MARK not in dict(lexical.terms_between(("", "zzz")))
    with store.writing() as transaction:
        assert all(
            finding.ok for finding in transaction.health.findings() if "text" in finding.check
        )


def test_a_filter_changes_no_score_even_beside_a_truncated_vector(store: Store) -> None:
    _put(store, f"{_MANY} rare", "rare word7 word7", "word7 word8", f"rare {'x' * 3000}")
    asked = ["rare", "word7", "word7", "word60000", "x" * 3000, "", "nowhere"]
    with store.reading() as snapshot:
        every = dict(snapshot.lexical.bm25(asked))
        assert every.keys() == {1, 2, 3, 4}
        for key, score in every.items():
            ((found, own),) = snapshot.lexical.bm25(asked, {key})
            assert found == key
            assert own == pytest.approx(score)


def test_a_vector_counts() -> None:
    assert as_vector("b a  b ") == ("'b':2 'a':1", 3)
    assert as_vector("") == ("", 0)
