from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lpisearch.model.documents import Filter
from lpisearch.storage.integrity import fingerprint
from lpisearch.storage.store import ReadTransaction, Store

EVERY = Filter()


@pytest.fixture
def snapshot(
    store: Store, fill: Callable[..., None], records: list[dict[str, Any]]
) -> Iterator[ReadTransaction]:
    """Give the library of 40 records."""
    fill(store, records)
    with store.reading() as snapshot:
        yield snapshot


def test_every_document_is_in_one_shard(snapshot: ReadTransaction) -> None:
    shards = list(snapshot.corpus.shards(EVERY))
    keys = [key for shard in shards for key in shard.keys]
    assert keys == sorted(keys) == snapshot.documents.keys()
    hashes = [content for shard in shards for content in shard.hashes]
    assert dict(zip(keys, hashes, strict=True)) == snapshot.corpus.content_hashes(EVERY)
    assert [tokens for shard in shards for tokens in shard.tokens] == snapshot.documents.tokens(
        keys
    )


def test_tokens_of_some_documents(snapshot: ReadTransaction) -> None:
    keys = snapshot.documents.keys()
    tokens = dict(zip(keys, snapshot.documents.tokens(keys), strict=True))
    wanted = keys[::-1] * 60
    assert snapshot.documents.tokens([*wanted, 999]) == [*(tokens[key] for key in wanted), ""]
    assert snapshot.documents.tokens([]) == []


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
    snapshot: ReadTransaction, wanted: Filter, number: int
) -> None:
    rows = list(snapshot.corpus.content_hashes(wanted))
    assert len(rows) == number
    assert [row for shard in snapshot.corpus.shards(wanted) for row in shard.keys] == rows
    assert sorted(snapshot.corpus.labels(wanted)) == rows
    assert sorted(snapshot.corpus.splits(wanted)) == rows
    documents, characters, every = snapshot.corpus.size(wanted)
    shards = snapshot.corpus.shards(wanted)
    lengths = [len(tokens) for shard in shards for tokens in shard.tokens]
    assert (documents, characters, every) == (number, sum(lengths), sum(lengths))
    longest = max(lengths, default=0)
    *_, in_longest = snapshot.corpus.size(wanted, longest)
    assert in_longest == longest * lengths.count(longest)


def test_a_fingerprint_is_of_keys_and_contents(snapshot: ReadTransaction) -> None:
    hashes = snapshot.corpus.content_hashes(EVERY)
    print_ = fingerprint(hashes)
    assert fingerprint(hashes.items()) == print_
    others = [
        dict(list(hashes.items())[:-1]),
        hashes | {1: bytes(16)},
        {key + 1: content for key, content in hashes.items()},
        {},
    ]
    assert len({print_, *map(fingerprint, others)}) == 5
