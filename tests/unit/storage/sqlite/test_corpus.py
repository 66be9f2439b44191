from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.records import Filter
from lpisearch.storage.sqlite import corpus
from lpisearch.storage.sqlite.indexes import IndexEntry, index_entries, save_index
from lpisearch.storage.sqlite.schema import open_library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    Sql = Callable[..., list[Any]]

EVERY = Filter()


@pytest.fixture
def connection(shelf: Path) -> Iterator[Connection]:
    """Return a connection to the library of records."""
    with open_library(shelf) as database, database.reading() as connection:
        yield connection


def test_tokens_come_in_the_order_of_keys_a_shard_at_a_time(
    connection: Connection, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every document is in one shard, with its key, its content hash and its tokens."""
    monkeypatch.setattr(corpus, "SHARD_DOCUMENTS", 15)
    shards = list(corpus.token_shards(connection, EVERY))
    assert [len(shard.row_ids) for shard in shards] == [15, 15, 10]
    found = [row for shard in shards for row in zip(*shard, strict=True)]
    assert found == sql(
        "SELECT id, content_hash, tokens FROM documents JOIN document_tokens "
        "ON document_id = id ORDER BY id"
    )
    assert dict(row[:2] for row in found) == corpus.content_hashes(connection, EVERY)


def test_tokens_of_some_documents(
    connection: Connection, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come in the order asked for, however many there are; lost ones are empty."""
    monkeypatch.setattr(corpus, "SHARD_DOCUMENTS", 3)
    tokens = dict(sql("SELECT document_id, tokens FROM document_tokens"))
    wanted = sorted(tokens, reverse=True)[:10]
    expected = [tokens[row] for row in wanted]
    assert corpus.tokens_of(connection, [*wanted, 999]) == [*expected, ""]
    assert corpus.tokens_of(connection, []) == []


@pytest.mark.parametrize(
    ("wanted", "number"),
    [
        (EVERY, 40),
        (Filter(labels=("sea", "music")), 20),
        (Filter(path="sky/*"), 10),
        (Filter(split="test"), 8),
        (Filter(labels=("nothing",)), 0),
    ],
)
def test_a_filter_means_the_same_everywhere(
    connection: Connection, wanted: Filter, number: int
) -> None:
    """Tokens, hashes, labels, splits and sizes are of the same documents."""
    rows = list(corpus.content_hashes(connection, wanted))
    assert len(rows) == number
    assert [
        row for shard in corpus.token_shards(connection, wanted) for row in shard.row_ids
    ] == rows
    assert sorted(corpus.labels_by_row(connection, wanted)) == rows
    assert sorted(corpus.splits_by_row(connection, wanted)) == rows
    documents, characters = corpus.corpus_size(connection, wanted)
    shards = corpus.token_shards(connection, wanted)
    assert (documents, characters) == (
        number,
        sum(len(t) for shard in shards for t in shard.tokens),
    )


@pytest.mark.usefixtures("shelf")
def test_a_fingerprint_is_of_keys_and_contents(connection: Connection) -> None:
    """It changes with any document, and not with the way in which they are given."""
    hashes = corpus.content_hashes(connection, EVERY)
    print_ = corpus.fingerprint(hashes)
    assert corpus.fingerprint(hashes.items()) == print_
    others = [
        dict(list(hashes.items())[:-1]),
        hashes | {1: bytes(16)},
        {row + 1: content for row, content in hashes.items()},
        {},
    ]
    assert len({print_, *map(corpus.fingerprint, others)}) == 5


def test_entries_of_indexes(shelf: Path) -> None:
    """One entry a name: saving again replaces it, and all of it comes back."""
    entry = IndexEntry("b", "lsi", {"dims": 3, "where": {"labels": ["ä"]}}, "f", "b-1", "2026")
    newer = IndexEntry("b", "rlpi", {}, "g", "b-2", "2027")
    other = IndexEntry("a", "lpi", {}, "h", "a-1", "2026")
    with open_library(shelf, writable=True) as database:
        with database.writing() as connection:
            save_index(connection, entry)
            assert index_entries(connection) == [entry]
            save_index(connection, other)
            save_index(connection, newer)
        with database.writing() as connection:
            assert index_entries(connection) == [other, newer]
