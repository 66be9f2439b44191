"""Write documents and labels."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, select, text, update

from lpisearch.storage.corpus import SQLLabels
from lpisearch.storage.filters import among
from lpisearch.storage.integrity import refuse_unstorable, row_checksum, seal, with_checksum
from lpisearch.storage.tables import (
    DOCUMENTS,
    LABEL_EDITS,
    LABELS,
    PREDICTED_LABELS,
    SECTIONS,
    TOKENS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Table

    from lpisearch.model.answers import LabelShare
    from lpisearch.model.documents import DocumentRow, DocumentWrite


@dataclass(frozen=True, slots=True)
class SQLChanges(ABC):
    """Writes of documents."""

    connection: Connection

    @abstractmethod
    def at(self, ids: Iterable[str], places: Iterable[tuple[int, int]]) -> list[DocumentRow]:
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
            {"document_id": write.row.key, "name": name, "position": position}
            for write in writes
            for position, name in enumerate(write.document.labels)
        ]
        sections = [
            {"document_id": write.row.key, "sections": write.document.sections}
            for write in writes
            if write.document.sections
        ]
        for table, rows in ((LABELS, labels), (SECTIONS, sections)):
            if rows:
                self._put(table, rows)
        self._insert_tokens({write.row.key: write.tokens for write in writes})

    def replace(self, writes: Sequence[DocumentWrite], now: str) -> None:
        """Put new content in the place of documents."""
        # Deleting takes labels, tokens and the lexical index along; the keys are used again. What
        # was said by hand holds for the new content too, what was predicted does not.
        keys = [write.row.key for write in writes]
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
                "key": write.row.key,
                "to": write.row.source_id,
                "at": write.row.position,
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
    place, document = write.row, write.document
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


_GIVE = text(
    "INSERT INTO labels (document_id, name, position) "
    "SELECT :document_id, :name, coalesce(max(position) + 1, 0) FROM labels "
    "WHERE document_id = :document_id ON CONFLICT DO NOTHING"
)
_TAKE = text("DELETE FROM labels WHERE document_id = :document_id AND name = :name")
_NOTE = text(
    "INSERT INTO label_edits (document_id, name, added) VALUES (:document_id, :name, :added) "
    "ON CONFLICT (document_id, name) DO UPDATE SET added = excluded.added"
)
_SETTLE = text("DELETE FROM predicted_labels WHERE document_id = :document_id AND name = :name")

_EDIT = (LABEL_EDITS.c.document_id, LABEL_EDITS.c.name, LABEL_EDITS.c.added)


class Edit(NamedTuple):
    """That a document has a label, or has it not, whatever its source says."""

    document_id: int
    name: str
    added: bool


class SQLWritableLabels(SQLLabels):
    """Labels, to be written."""

    def edit(
        self, keys: Iterable[int], add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> tuple[int, int]:
        """Give documents labels and take others away; return how many came and went.

        What is said here holds for new content of the documents too. A label that was predicted
        is predicted no longer once it is given or taken away.
        """
        if any("\0" in name for name in (*add, *remove)):
            raise ValueError("a NUL in a label")
        wanted = list(keys)
        given = self._given(wanted)
        predicted = {
            (key, said.label) for key, row in self.predicted(wanted).items() for said in row
        }
        gone = [
            (key, name)
            for key in wanted
            for name in remove
            if (key, name) in given or (key, name) in predicted
        ]
        edits = [Edit(key, name, added=True) for key in wanted for name in add]
        edits += [Edit(key, name, added=False) for key, name in gone]
        self.apply(edits)
        came = sum((key, name) not in given for key in wanted for name in add)
        return came, sum(pair in given for pair in gone)

    def edits(self, keys: Iterable[int]) -> list[Edit]:
        """Return what was said by hand of the labels of documents."""
        statement = select(*_EDIT).where(among(LABEL_EDITS.c.document_id))
        ordered = statement.order_by(LABEL_EDITS.c.document_id, LABEL_EDITS.c.name)
        rows = self.connection.execute(ordered, {"ids": json.dumps(list(keys))})
        return [Edit(*row) for row in rows]

    def apply(self, edits: Sequence[Edit]) -> None:
        """Note edits and bring labels in step with them; a prediction of the label is settled."""
        for added, statement in ((True, _GIVE), (False, _TAKE)):
            values = [edit._asdict() for edit in edits if edit.added is added]
            if values:
                self.connection.execute(statement, values)
        if edits:
            every = [edit._asdict() for edit in edits]
            self.connection.execute(_NOTE, every)
            self.connection.execute(_SETTLE, every)
            keys = json.dumps(sorted({edit.document_id for edit in edits}))
            seal(self.connection, [LABELS, LABEL_EDITS], keys)

    def predict(self, said: Mapping[int, Sequence[LabelShare]], classifier: str, now: str) -> None:
        """Keep what a classifier says of documents, in place of what was said of them before.

        It goes with the content that it was said of.
        """
        self.forget_predicted(said)
        facts = {"classifier": classifier, "predicted_at": now}
        values = [
            with_checksum(
                self.connection,
                PREDICTED_LABELS,
                {"document_id": key, "name": each.label, "confidence": each.share, **facts},
            )
            for key, labels in said.items()
            for each in labels
        ]
        if values:
            self.connection.execute(insert(PREDICTED_LABELS), values)

    def forget_predicted(self, keys: Iterable[int]) -> int:
        """Remove what was predicted for documents; return for how many something was."""
        ids = {"ids": json.dumps(list(keys))}
        key = PREDICTED_LABELS.c.document_id
        some = select(key).where(among(key)).distinct()
        number = len(self.connection.execute(some, ids).all())
        self.connection.execute(delete(PREDICTED_LABELS).where(among(key)), ids)
        return number

    def _given(self, keys: Sequence[int]) -> set[tuple[int, str]]:
        statement = select(LABELS.c.document_id, LABELS.c.name).where(among(LABELS.c.document_id))
        rows = self.connection.execute(statement, {"ids": json.dumps(list(keys))})
        return {(key, name) for key, name in rows}
