"""The tokens and labels of documents in one fixed order, for those who count and learn."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, select

from lpisearch.storage.sqlite.documents import conditions
from lpisearch.storage.sqlite.models import DocumentRow, LabelRow, TokensRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from lpisearch.records import Filter

SHARD_DOCUMENTS = 1000


class Shard(NamedTuple):
    """Some documents in the order of their keys: keys, content hashes, and joined tokens."""

    row_ids: list[int]
    hashes: list[bytes]
    tokens: list[str]


def token_shards(connection: Connection, wanted: Filter) -> Iterator[Shard]:
    """Yield the tokens of all documents that pass a filter, a shard at a time."""
    statement = (
        select(DocumentRow.id, DocumentRow.content_hash, TokensRow.tokens)
        .join(TokensRow, TokensRow.document_id == DocumentRow.id)
        .where(*conditions(wanted))
        .order_by(DocumentRow.id)
    )
    result = connection.execution_options(yield_per=SHARD_DOCUMENTS).execute(statement)
    for rows in result.partitions():
        yield Shard(*(list(column) for column in zip(*rows, strict=True)))


def tokens_of(connection: Connection, row_ids: Sequence[int]) -> list[str]:
    """Return the tokens of documents by their keys, in the order of the keys; "" if lost."""
    found: dict[int, str] = {}
    for start in range(0, len(row_ids), SHARD_DOCUMENTS):
        some = row_ids[start : start + SHARD_DOCUMENTS]
        statement = select(TokensRow.document_id, TokensRow.tokens)
        rows = connection.execute(statement.where(TokensRow.document_id.in_(some)))
        found.update((row_id, tokens) for row_id, tokens in rows)
    return [found.get(row_id, "") for row_id in row_ids]


def content_hashes(connection: Connection, wanted: Filter) -> dict[int, bytes]:
    """Return the content hash of every document that passes a filter, in the order of keys."""
    statement = select(DocumentRow.id, DocumentRow.content_hash)
    rows = connection.execute(statement.where(*conditions(wanted)).order_by(DocumentRow.id))
    return {row_id: content for row_id, content in rows}  # noqa: C416 (rows are no tuples to mypy)


def labels_by_row(connection: Connection, wanted: Filter) -> dict[int, list[str]]:
    """Return the labels of every document that has any."""
    statement = (
        select(LabelRow.document_id, func.json_group_array(LabelRow.name))
        .join(DocumentRow, DocumentRow.id == LabelRow.document_id)
        .where(*conditions(wanted))
        .group_by(LabelRow.document_id)
    )
    return {row_id: json.loads(names) for row_id, names in connection.execute(statement)}


def splits_by_row(connection: Connection, wanted: Filter) -> dict[int, str]:
    """Return the split of every document that is in one."""
    statement = select(DocumentRow.id, DocumentRow.split).where(DocumentRow.split != "")
    rows = connection.execute(statement.where(*conditions(wanted)))
    return {row_id: split for row_id, split in rows}  # noqa: C416 (rows are no tuples to mypy)


def corpus_size(connection: Connection, wanted: Filter) -> tuple[int, int]:
    """Return how many documents pass a filter, and the characters of their tokens."""
    statement = (
        select(func.count(), func.coalesce(func.sum(func.length(TokensRow.tokens)), 0))
        .select_from(DocumentRow)
        .join(TokensRow, TokensRow.document_id == DocumentRow.id)
        .where(*conditions(wanted))
    )
    documents, characters = connection.execute(statement).one()
    return documents, characters


def count_and_sum(connection: Connection, wanted: Filter) -> tuple[int, int]:
    """Return how many documents pass a filter, and the sum of their keys: cheap to compare."""
    keys = func.coalesce(func.sum(DocumentRow.id), 0)
    statement = select(func.count(), keys).select_from(DocumentRow).where(*conditions(wanted))
    documents, total = connection.execute(statement).one()
    return documents, total


def external_ids(connection: Connection) -> dict[int, str]:
    """Return the id of every document, by its key."""
    statement = select(DocumentRow.id, DocumentRow.external_id)
    return {row_id: name for row_id, name in connection.execute(statement)}  # noqa: C416 (rows are no tuples to mypy)


def fingerprint(hashes: Mapping[int, bytes] | Iterable[tuple[int, bytes]]) -> str:
    """Return a digest of documents by key and content: equal corpora have equal ones."""
    digest = blake2b(digest_size=16)
    for row_id, content in dict(hashes).items():
        digest.update(row_id.to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()
