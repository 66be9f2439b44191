"""Write documents and labels."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Table, bindparam, delete, func, insert, select, text, update

from lpisearch.storage.corpus import among
from lpisearch.storage.dialects import row_checksum, seal, with_checksum
from lpisearch.storage.integrity import as_json, refuse_unstorable
from lpisearch.storage.reading import AMONG, SQLLabels
from lpisearch.storage.tables import (
    DOCUMENTS,
    LABEL_EDITS,
    LABELS,
    PREDICTED_LABELS,
    SECTIONS,
    TOKENS,
    TRAITS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lpisearch.model.answers import LabelShare
    from lpisearch.model.documents import DocumentRow, DocumentWrite, Traits
    from lpisearch.storage.integrity import Cell
    from lpisearch.storage.reading import Connection


@dataclass(frozen=True, slots=True)
class SQLChanges(ABC):
    """Writes of documents."""

    connection: Connection

    @abstractmethod
    def at(self, ids: Iterable[str], places: Iterable[tuple[int, int]]) -> list[DocumentRow]:
        """Return the documents with any of the ids or (source, position) pairs.

        A record that is gone from its file is found at its former position.
        """

    @abstractmethod
    def _put(self, table: Table, rows: Sequence[Sequence[Cell]]) -> None:
        """Insert rows, cells in the order of the columns, with their checksums."""

    @abstractmethod
    def _index_tokens(self, tokens: Mapping[int, str]) -> None:
        """Add newly written tokens to the lexical index."""

    def new_keys(self) -> Iterator[int]:
        """Count up unused keys."""
        return count((self.connection.value("SELECT max(id) FROM documents") or 0) + 1)

    def of_source(self, source_id: int) -> list[int]:
        """Return the keys of a source's documents."""
        return self.connection.column("SELECT id FROM documents WHERE source_id = ?", source_id)

    def insert(self, writes: Sequence[DocumentWrite], now: str) -> None:
        """Insert documents with their labels, sections and tokens."""
        if not writes:
            return
        refuse_unstorable(writes)
        self._put(DOCUMENTS, [_cells(write, now) for write in writes])
        own = [(write.row.key, write.document) for write in writes]
        labels = [(key, name, at) for key, one in own for at, name in enumerate(one.labels)]
        self._put(LABELS, labels)
        self._put(SECTIONS, [(key, as_json(one.sections)) for key, one in own if one.sections])
        self._insert_tokens({write.row.key: write.tokens for write in writes})
        self._insert_traits({write.row.key: write.traits for write in writes})

    def replace(
        self, writes: Sequence[DocumentWrite], now: str, same_text: Iterable[int] = ()
    ) -> None:
        """Replace the content of documents; they keep their keys.

        Predicted labels stay with `same_text`, whose titles or labels alone changed.
        """
        # Deleting cascades to labels, tokens and the lexical index; the keys are used again. Manual
        # labels apply to the new content too, predicted ones do not.
        keys = [write.row.key for write in writes]
        labels = SQLWritableLabels(self.connection)
        edits = labels.edits(keys)
        predicted = labels.predictions({*same_text} & {*keys})
        self.delete(keys)
        self.insert(writes, now)
        labels.put_back(predicted)
        labels.apply(edits)

    def move(self, writes: Sequence[DocumentWrite]) -> None:
        """Change the id, source and position of documents whose content is unchanged."""
        if not writes:
            return
        statement = (
            update(DOCUMENTS)
            .where(DOCUMENTS.c.id == bindparam("key"))
            .values(
                external_id=bindparam("name"),
                source_id=bindparam("to"),
                position=bindparam("at"),
                path=bindparam("file"),
                checksum=row_checksum(
                    DOCUMENTS,
                    external_id=bindparam("name", type_=DOCUMENTS.c.external_id.type),
                    source_id=bindparam("to", type_=DOCUMENTS.c.source_id.type),
                    position=bindparam("at", type_=DOCUMENTS.c.position.type),
                    path=bindparam("file", type_=DOCUMENTS.c.path.type),
                ),
            )
        )
        values = [
            {
                "key": write.row.key,
                "name": write.row.id,
                "to": write.row.source_id,
                "at": write.row.position,
                "file": write.document.path or write.path,
            }
            for write in writes
        ]
        self.connection.execute(statement, values)

    def mark_gone(self, keys: Iterable[int]) -> None:
        """Mark the records of documents as gone from their files."""
        statement = update(DOCUMENTS).where(among(DOCUMENTS.c.id))
        gone = statement.values(
            position=-func.abs(DOCUMENTS.c.position),
            checksum=row_checksum(DOCUMENTS, position=-func.abs(DOCUMENTS.c.position)),
        )
        self.connection.execute(gone, {"ids": json.dumps(list(keys))})

    def gone(self, source_ids: Iterable[int]) -> list[int]:
        """Return the documents of sources whose records are gone from their files."""
        gone = f"SELECT id FROM documents WHERE source_id {AMONG} AND position < 0"  # noqa: S608 (constants)
        return self.connection.column(gone, json.dumps(list(source_ids)))

    def delete(self, keys: Iterable[int]) -> None:
        """Delete documents; their other rows follow by cascade or trigger."""
        gone = f"DELETE FROM documents WHERE id {AMONG}"  # noqa: S608 (constants)
        self.connection.rows(gone, json.dumps(list(keys)))

    def replace_tokens(self, tokens: Mapping[int, str], traits: Mapping[int, Traits]) -> None:
        """Replace the tokens of documents, in the lexical index too, and the traits of some."""
        for table, keys in ((TOKENS, tokens), (TRAITS, traits)):
            statement = delete(table).where(among(table.c.document_id))
            self.connection.execute(statement, {"ids": json.dumps(list(keys))})
        self._insert_tokens(tokens)
        self._insert_traits(traits)

    def _insert_traits(self, traits: Mapping[int, Traits]) -> None:
        self._put(TRAITS, [(key, *own) for key, own in traits.items() if any(own)])

    def _insert_tokens(self, tokens: Mapping[int, str]) -> None:
        self._put(TOKENS, [*tokens.items()])
        self._index_tokens(tokens)


def _cells(write: DocumentWrite, now: str) -> Sequence[Cell]:
    """Return the cells of a document in the order of the columns of `DOCUMENTS`."""
    document = write.document
    return (
        *write.row,
        *(document.split, document.date, document.path or write.path, document.media_type, now),
        *(document.title, as_json(dict(document.metadata)), document.text),
    )


_EDITS = f"""SELECT document_id, name, added FROM label_edits WHERE document_id {AMONG}
ORDER BY document_id, name"""  # noqa: S608 (constants)
_ADD_LABEL = text(
    "INSERT INTO labels (document_id, name, position) "
    "SELECT :document_id, :name, coalesce(max(position) + 1, 0) FROM labels "
    "WHERE document_id = :document_id ON CONFLICT DO NOTHING"
)
_REMOVE_LABEL = text("DELETE FROM labels WHERE document_id = :document_id AND name = :name")
_SAVE_EDIT = text(
    "INSERT INTO label_edits (document_id, name, added) VALUES (:document_id, :name, :added) "
    "ON CONFLICT (document_id, name) DO UPDATE SET added = excluded.added"
)
_REMOVE_PREDICTION = text(
    "DELETE FROM predicted_labels WHERE document_id = :document_id AND name = :name"
)


class Edit(NamedTuple):
    """A manual decision that a document has a label, or lacks it, whatever its source states."""

    document_id: int
    name: str
    added: bool


class SQLWritableLabels(SQLLabels):
    """Labels, writable."""

    def edit(
        self, keys: Iterable[int], add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> tuple[int, int]:
        """Add and remove labels of documents; return how many were added and removed.

        The edits survive new content of the documents, and replace predictions of the labels.
        """
        if any("\0" in name for name in (*add, *remove)):
            raise ValueError("a NUL in a label")
        documents = list(keys)
        labels = {(key, name) for key, names in self.assigned(documents).items() for name in names}
        predicted = {
            (key, label.label) for key, row in self.predicted(documents).items() for label in row
        }
        added = [(key, name) for key in documents for name in add]
        removed = [
            (key, name)
            for key in documents
            for name in remove
            if (key, name) in labels or (key, name) in predicted
        ]
        edits = [Edit(*pair, added=True) for pair in added]
        edits += [Edit(*pair, added=False) for pair in removed]
        self.apply(edits)
        return sum(pair not in labels for pair in added), sum(pair in labels for pair in removed)

    def edits(self, keys: Iterable[int]) -> list[Edit]:
        """Return the manual edits of the labels of documents."""
        rows = self.connection.rows(_EDITS, json.dumps(list(keys)))
        return [Edit(key, name, added=bool(added)) for key, name, added in rows]

    def predictions(self, keys: Iterable[int]) -> list[dict[str, Any]]:
        """Return the rows of predicted labels of documents."""
        statement = select(PREDICTED_LABELS).where(among(PREDICTED_LABELS.c.document_id))
        rows = self.connection.execute(statement, {"ids": json.dumps(list(keys))})
        return [dict(row) for row in rows.mappings()]

    def put_back(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows of predicted labels as they were."""
        if rows:
            self.connection.execute(insert(PREDICTED_LABELS), rows)

    def apply(self, edits: Sequence[Edit]) -> None:
        """Save edits, change the labels, and remove predictions of the same labels."""
        for added, statement in ((True, _ADD_LABEL), (False, _REMOVE_LABEL)):
            values = [edit._asdict() for edit in edits if edit.added is added]
            if values:
                self.connection.execute(statement, values)
        if edits:
            values = [edit._asdict() for edit in edits]
            self.connection.execute(_SAVE_EDIT, values)
            self.connection.execute(_REMOVE_PREDICTION, values)
            keys = json.dumps(sorted({edit.document_id for edit in edits}))
            seal(self.connection, [LABELS, LABEL_EDITS], keys)

    def predict(
        self, predicted: Mapping[int, Sequence[LabelShare]], classifier: str, now: str
    ) -> None:
        """Replace the predicted labels of documents, until their content changes."""
        self.forget_predicted(predicted)
        facts = {"classifier": classifier, "predicted_at": now}
        values = [
            with_checksum(
                self.connection,
                PREDICTED_LABELS,
                {"document_id": key, "name": label.label, "confidence": label.share, **facts},
            )
            for key, labels in predicted.items()
            for label in labels
        ]
        if values:
            self.connection.execute(insert(PREDICTED_LABELS), values)

    def forget_predicted(self, keys: Iterable[int]) -> int:
        """Remove the predicted labels of documents; return how many documents had any."""
        documents = list(keys)
        number = len(self.predicted(documents))
        gone = f"DELETE FROM predicted_labels WHERE document_id {AMONG}"  # noqa: S608 (constants)
        self.connection.rows(gone, json.dumps(documents))
        return number
