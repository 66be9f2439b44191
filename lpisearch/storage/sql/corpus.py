"""Tokens and content hashes in a fixed order, for index builds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import case, func, select

from lpisearch.records import TokenShard
from lpisearch.storage.digests import fingerprint
from lpisearch.storage.sql.checksums import checksum_of
from lpisearch.storage.sql.filters import conditions
from lpisearch.storage.sql.tables import DOCUMENTS, TOKENS, DamagedCell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from lpisearch.records import Filter

SHARD_DOCUMENTS = 1000
_PAIRS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class SQLCorpus:
    """What is counted and learned from."""

    connection: Connection

    def shards(
        self, wanted: Filter, between: tuple[int, int] | None = None
    ) -> Iterator[TokenShard]:
        """Yield the tokens of all documents that pass a filter, some at a time, by key.

        With `between`, only those from one key to another, both included.
        """
        within = () if between is None else (DOCUMENTS.c.id.between(*between),)
        statement = (
            select(DOCUMENTS.c.id, DOCUMENTS.c.content_hash, TOKENS.c.tokens, TOKENS.c.checksum)
            .join(TOKENS, TOKENS.c.document_id == DOCUMENTS.c.id)
            .where(*conditions(wanted), *within)
            .order_by(DOCUMENTS.c.id)
        )
        some_at_once = {"yield_per": SHARD_DOCUMENTS}  # a connection would keep it
        result = self.connection.execute(statement, execution_options=some_at_once)
        for rows in result.partitions():
            keys, hashes, tokens, checksums = (list(column) for column in zip(*rows, strict=True))
            self._compare(keys, tokens, checksums)
            yield TokenShard(keys, hashes, tokens)

    def tokens(self, keys: Sequence[int]) -> list[str]:
        """Return the tokens of documents, in the order of the keys given; "" if lost."""
        found: dict[int, str] = {}
        for start in range(0, len(keys), SHARD_DOCUMENTS):
            some = keys[start : start + SHARD_DOCUMENTS]
            statement = select(TOKENS.c.document_id, TOKENS.c.tokens, TOKENS.c.checksum)
            rows = self.connection.execute(statement.where(TOKENS.c.document_id.in_(some)))
            for key, tokens, stated in rows:
                self._compare([key], [tokens], [stated])
                found[key] = tokens
        return [found.get(key, "") for key in keys]

    def content_hashes(self, wanted: Filter) -> dict[int, bytes]:
        """Return the content hash of every document that passes a filter, in order of keys."""
        return dict(self.stream_hashes(wanted))

    def fingerprint(self, wanted: Filter) -> str:
        """Return the digest of the keys and contents of documents, read as a stream."""
        return fingerprint(self.stream_hashes(wanted))

    def stream_hashes(self, wanted: Filter) -> Iterator[tuple[int, bytes]]:
        """Yield key and content hash of every document that passes a filter, in order of keys."""
        statement = select(DOCUMENTS.c.id, DOCUMENTS.c.content_hash).where(*conditions(wanted))
        statement = statement.order_by(DOCUMENTS.c.id)
        some_at_once = {"yield_per": _PAIRS_AT_ONCE}  # a connection would keep it
        for row in self.connection.execute(statement, execution_options=some_at_once):
            yield row[0], row[1]

    def size(self, wanted: Filter, long: int = 0) -> tuple[int, int, int]:
        """Return how many documents pass a filter, and the characters of their tokens.

        Third, the characters of those documents that have `long` or more.
        """
        length = func.length(TOKENS.c.tokens)
        in_long = case((length >= long, length), else_=0)
        statement = (
            select(
                func.count(),
                func.coalesce(func.sum(length), 0),
                func.coalesce(func.sum(in_long), 0),
            )
            .select_from(DOCUMENTS)
            .join(TOKENS, TOKENS.c.document_id == DOCUMENTS.c.id)
            .where(*conditions(wanted))
        )
        found = self.connection.execute(statement).one()
        documents, characters, in_long_ones = map(int, found)
        return documents, characters, in_long_ones

    def count_and_sum(self, wanted: Filter) -> tuple[int, int]:
        """Return how many documents pass a filter, and the sum of their keys: cheap to compare."""
        keys = func.coalesce(func.sum(DOCUMENTS.c.id), 0)
        statement = select(func.count(), keys).select_from(DOCUMENTS)
        documents, total = self.connection.execute(statement.where(*conditions(wanted))).one()
        return documents, int(total)

    def _compare(self, keys: list[int], tokens: list[str], checksums: list[bytes]) -> None:
        """Refuse tokens that are not as they were written: nothing is to be learned from them."""
        rows = zip(keys, tokens, strict=True)
        if [checksum_of(self.connection, TOKENS.name, *row) for row in rows] != checksums:
            raise DamagedCell("tokens are damaged")
