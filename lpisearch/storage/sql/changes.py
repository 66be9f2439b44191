"""Write documents: the statements that keep labels, tokens and lexical index in step with them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, func, select, update

from lpisearch.storage.sql.checksums import row_checksum
from lpisearch.storage.sql.filters import among
from lpisearch.storage.sql.label_changes import SQLWritableLabels
from lpisearch.storage.sql.tables import DOCUMENTS, LABELS, SECTIONS, TOKENS
from lpisearch.storage.strings import refuse_unstorable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Table

    from lpisearch.records import DocumentWrite, StoredPlace


@dataclass(frozen=True, slots=True)
class SQLChanges(ABC):
    """Writes of documents."""

    connection: Connection

    @abstractmethod
    def at(self, ids: Iterable[str], places: Iterable[tuple[int, int]]) -> list[StoredPlace]:
        """Return the documents that have any of the ids or (source, position) places.

        A record that is gone is found at the position that it had.
        """

    @abstractmethod
    def _put(self, table: Table, rows: list[dict[str, Any]]) -> None:
        """Insert rows with their checksums, of which there may be thousands."""

    @abstractmethod
    def _index_tokens(self, tokens: Mapping[int, str]) -> None:
        """Bring tokens, just written, into the lexical index."""

    def new_keys(self) -> Iterator[int]:
        """Count up keys that no document has."""
        largest = self.connection.execute(select(func.max(DOCUMENTS.c.id))).scalar()
        return count((largest or 0) + 1)

    def of_source(self, source_id: int) -> list[int]:
        """Return the keys of a source's documents."""
        statement = select(DOCUMENTS.c.id).where(DOCUMENTS.c.source_id == source_id)
        return list(self.connection.execute(statement).scalars())

    def insert(self, writes: Sequence[DocumentWrite], now: str) -> None:
        """Insert documents with labels, tokens and their places in the lexical index."""
        if not writes:
            return
        refuse_unstorable(writes)
        self._put(DOCUMENTS, [_document_values(write, now) for write in writes])
        labels = [
            {"document_id": write.place.key, "name": name, "position": position}
            for write in writes
            for position, name in enumerate(write.document.labels)
        ]
        sections = [
            {"document_id": write.place.key, "sections": write.document.sections}
            for write in writes
            if write.document.sections
        ]
        for table, rows in ((LABELS, labels), (SECTIONS, sections)):
            if rows:
                self._put(table, rows)
        self._insert_tokens({write.place.key: write.tokens for write in writes})

    def replace(self, writes: Sequence[DocumentWrite], now: str) -> None:
        """Put new content in the place of documents."""
        # Deleting takes labels, tokens and the lexical index along; the keys are used again. What
        # was said by hand holds for the new content too, what was predicted does not.
        keys = [write.place.key for write in writes]
        labels = SQLWritableLabels(self.connection)
        edits = labels.edits(keys)
        self.delete(keys)
        self.insert(writes, now)
        labels.apply(edits)

    def move(self, writes: Sequence[DocumentWrite]) -> None:
        """Note a new place of documents whose content is unchanged; tokens are not looked at."""
        if not writes:
            return
        statement = (
            update(DOCUMENTS)
            .where(DOCUMENTS.c.id == bindparam("key"))
            .values(
                source_id=bindparam("to"),
                position=bindparam("at"),
                path=bindparam("file"),
                checksum=row_checksum(
                    DOCUMENTS,
                    source_id=bindparam("to", type_=DOCUMENTS.c.source_id.type),
                    position=bindparam("at", type_=DOCUMENTS.c.position.type),
                    path=bindparam("file", type_=DOCUMENTS.c.path.type),
                ),
            )
        )
        values = [
            {
                "key": write.place.key,
                "to": write.place.source_id,
                "at": write.place.position,
                "file": write.document.path or write.path,
            }
            for write in writes
        ]
        self.connection.execute(statement, values)

    def mark_gone(self, keys: Iterable[int]) -> None:
        """Note that the records of documents are gone from their files."""
        statement = update(DOCUMENTS).where(among(DOCUMENTS.c.id))
        gone = statement.values(
            position=-func.abs(DOCUMENTS.c.position),
            checksum=row_checksum(DOCUMENTS, position=-func.abs(DOCUMENTS.c.position)),
        )
        self.connection.execute(gone, {"ids": json.dumps(list(keys))})

    def delete_gone(self, source_ids: Iterable[int]) -> None:
        """Remove the documents of sources whose records are gone from their files."""
        gone = delete(DOCUMENTS).where(among(DOCUMENTS.c.source_id), DOCUMENTS.c.position < 0)
        self.connection.execute(gone, {"ids": json.dumps(list(source_ids))})

    def delete(self, keys: Iterable[int]) -> None:
        """Remove documents; what belongs to them goes by cascade, or by a trigger."""
        ids = json.dumps(list(keys))
        self.connection.execute(delete(DOCUMENTS).where(among(DOCUMENTS.c.id)), {"ids": ids})

    def replace_tokens(self, tokens: Mapping[int, str]) -> None:
        """Give documents new tokens, with the lexical index to match."""
        ids = json.dumps(list(tokens))
        self.connection.execute(delete(TOKENS).where(among(TOKENS.c.document_id)), {"ids": ids})
        self._insert_tokens(tokens)

    def _insert_tokens(self, tokens: Mapping[int, str]) -> None:
        if tokens:
            rows = [{"document_id": key, "tokens": joined} for key, joined in tokens.items()]
            self._put(TOKENS, rows)
            self._index_tokens(tokens)


def _document_values(write: DocumentWrite, now: str) -> dict[str, Any]:
    place, document = write.place, write.document
    return {
        "id": place.key,
        "external_id": place.id,
        "source_id": place.source_id,
        "position": place.position,
        "content_hash": place.content_hash,
        "split": document.split,
        "date": document.date,
        "path": document.path or write.path,
        "media_type": document.media_type,
        "ingested_at": now,
        "title": document.title,
        "metadata": dict(document.metadata),
        "text": document.text,
    }
