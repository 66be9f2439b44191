"""Write labels: those that people give or take away, and those that are predicted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, insert, select, text

from lpisearch.storage.sql.checksums import seal, with_checksum
from lpisearch.storage.sql.filters import among
from lpisearch.storage.sql.labels import SQLLabels
from lpisearch.storage.sql.tables import LABEL_EDITS, LABELS, PREDICTED_LABELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lpisearch.records import LabelShare

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
