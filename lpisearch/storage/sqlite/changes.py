"""Write documents: the statements that keep labels, tokens and FTS in step with them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, func, insert, select, text, update

from lpisearch.records import StoredPlace
from lpisearch.storage.sqlite import fulltext
from lpisearch.storage.sqlite.checksums import checksum, checksum_in_sql, with_checksum
from lpisearch.storage.sqlite.filters import among
from lpisearch.storage.sqlite.label_changes import SQLiteWritableLabels
from lpisearch.storage.sqlite.tables import DOCUMENTS, LABELS, SECTIONS, TOKENS
from lpisearch.storage.strings import refuse_unstorable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from lpisearch.records import DocumentWrite

_FOUND = "SELECT d.id, d.external_id, d.source_id, d.position, d.content_hash "
_FIND_IDS = text(f"{_FOUND} FROM json_each(:ids) w JOIN documents d ON d.external_id = w.value")
_FIND_PLACES = text(
    f"{_FOUND} FROM json_each(:places) w JOIN documents d "
    "ON d.source_id = json_extract(w.value, '$[0]') "
    "AND d.position IN (json_extract(w.value, '$[1]'), -json_extract(w.value, '$[1]'))"
)


@dataclass(frozen=True, slots=True)
class SQLiteChanges:
    """Writes of documents; the methods are those of `contract.DocumentChanges`."""

    connection: Connection

    def at(self, ids: Iterable[str], places: Iterable[tuple[int, int]]) -> list[StoredPlace]:
        """Return the documents that have any of the ids or (source, position) places."""
        at_ids = self.connection.execute(_FIND_IDS, {"ids": json.dumps(list(ids))})
        at_places = self.connection.execute(_FIND_PLACES, {"places": json.dumps(list(places))})
        return [StoredPlace(*row) for result in (at_ids, at_places) for row in result]

    def new_keys(self) -> Iterator[int]:
        """Count up keys that no document has."""
        return count((self.connection.execute(select(func.max(DOCUMENTS.c.id))).scalar() or 0) + 1)

    def of_source(self, source_id: int) -> list[int]:
        """Return the keys of a source's documents."""
        statement = select(DOCUMENTS.c.id).where(DOCUMENTS.c.source_id == source_id)
        return list(self.connection.execute(statement).scalars())

    def insert(self, writes: Sequence[DocumentWrite], now: str) -> None:
        """Insert documents with labels, tokens and FTS rows."""
        if not writes:
            return
        refuse_unstorable(writes)
        values = [_document_values(write, now) for write in writes]
        self.connection.execute(insert(DOCUMENTS), values)
        labels = [
            with_checksum(
                LABELS, {"document_id": write.place.key, "name": name, "position": position}
            )
            for write in writes
            for position, name in enumerate(write.document.labels)
        ]
        if labels:
            self.connection.execute(insert(LABELS), labels)
        sections = [
            with_checksum(
                SECTIONS, {"document_id": write.place.key, "sections": write.document.sections}
            )
            for write in writes
            if write.document.sections
        ]
        if sections:
            self.connection.execute(insert(SECTIONS), sections)
        self._insert_tokens({write.place.key: write.tokens for write in writes})

    def replace(self, writes: Sequence[DocumentWrite], now: str) -> None:
        """Put new content in the place of documents."""
        # Deleting takes labels, tokens and the FTS rows along; the keys are used again. What was
        # said by hand holds for the new content too, what was predicted does not.
        keys = [write.place.key for write in writes]
        labels = SQLiteWritableLabels(self.connection)
        edits = labels.edits(keys)
        self.delete(keys)
        self.insert(writes, now)
        labels.apply(edits)

    def move(self, writes: Sequence[DocumentWrite]) -> None:
        """Note a new place of documents whose content is unchanged."""
        if not writes:
            return
        statement = (
            update(DOCUMENTS)
            .where(DOCUMENTS.c.id == bindparam("key"))
            .values(
                source_id=bindparam("to"),
                position=bindparam("at"),
                path=bindparam("file"),
                checksum=text(
                    checksum_in_sql(DOCUMENTS, source_id=":to", position=":at", path=":file")
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
        statement = update(DOCUMENTS).where(among("id"))
        gone = statement.values(
            position=-func.abs(DOCUMENTS.c.position),
            checksum=text(checksum_in_sql(DOCUMENTS, position="-abs(position)")),
        )
        self.connection.execute(gone, {"ids": json.dumps(list(keys))})

    def delete_gone(self, source_ids: Iterable[int]) -> None:
        """Remove the documents of sources whose records are gone from their files."""
        gone = delete(DOCUMENTS).where(among("source_id"), DOCUMENTS.c.position < 0)
        self.connection.execute(gone, {"ids": json.dumps(list(source_ids))})

    def delete(self, keys: Iterable[int]) -> None:
        """Remove documents; what belongs to them goes by cascade, FTS rows by a trigger."""
        ids = json.dumps(list(keys))
        self.connection.execute(delete(DOCUMENTS).where(among("id")), {"ids": ids})

    def replace_tokens(self, tokens: Mapping[int, str]) -> None:
        """Give documents new tokens, with the FTS rows to match."""
        ids = json.dumps(list(tokens))
        self.connection.execute(delete(TOKENS).where(among("document_id")), {"ids": ids})
        self._insert_tokens(tokens)

    def _insert_tokens(self, tokens: Mapping[int, str]) -> None:
        values = [
            {"document_id": key, "tokens": joined, "checksum": checksum(TOKENS.name, key, joined)}
            for key, joined in tokens.items()
        ]
        if values:
            self.connection.execute(insert(TOKENS), values)
            fulltext.add(self.connection, list(tokens))


def _document_values(write: DocumentWrite, now: str) -> dict[str, Any]:
    place, document = write.place, write.document
    values = {
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
    return with_checksum(DOCUMENTS, values)
