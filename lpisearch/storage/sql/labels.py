"""The labels and splits of documents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from lpisearch.records import PredictedLabel
from lpisearch.storage.sql.filters import among, conditions
from lpisearch.storage.sql.tables import DOCUMENTS, LABEL_EDITS, LABELS, PREDICTED_LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from lpisearch.records import Filter


@dataclass(frozen=True, slots=True)
class SQLLabels:
    """Labels and splits."""

    connection: Connection

    def names(self) -> list[str]:
        """Return all labels, each once, in order."""
        statement = select(LABELS.c.name).distinct().order_by(LABELS.c.name)
        return list(self.connection.execute(statement).scalars())

    def counts(self) -> dict[str, int]:
        """Return how many documents have each label, by name."""
        statement = select(LABELS.c.name, func.count()).group_by(LABELS.c.name)
        return dict(self.connection.execute(statement.order_by(LABELS.c.name)).all())

    def by_key(self, wanted: Filter) -> dict[int, list[str]]:
        """Return the labels of every document that has any."""
        statement = (
            select(LABELS.c.document_id, LABELS.c.name)
            .join(DOCUMENTS, DOCUMENTS.c.id == LABELS.c.document_id)
            .where(*conditions(wanted))
            .order_by(LABELS.c.document_id, LABELS.c.name)
        )
        found: dict[int, list[str]] = {}
        for key, name in self.connection.execute(statement):
            found.setdefault(key, []).append(name)
        return found

    def pairs(self) -> list[tuple[int, str]]:
        """Return (key, label) of every label of every document."""
        rows = self.connection.exec_driver_sql("SELECT document_id, name FROM labels").cursor
        return [] if rows is None else list(rows.fetchall())

    def predicted_counts(self) -> dict[str, int]:
        """Return for how many documents each label was predicted, by name."""
        name = PREDICTED_LABELS.c.name
        statement = select(name, func.count()).group_by(name).order_by(name)
        return dict(self.connection.execute(statement).all())

    def predicted(self, keys: Sequence[int]) -> dict[int, tuple[PredictedLabel, ...]]:
        """Return what was predicted for documents, most probable first, by key."""
        table = PREDICTED_LABELS.c
        statement = select(table.document_id, table.name, table.confidence, table.classifier)
        chosen = statement.where(among(table.document_id)).order_by(
            table.document_id, table.confidence.desc(), table.name
        )
        found: dict[int, tuple[PredictedLabel, ...]] = {}
        for key, *said in self.connection.execute(chosen, {"ids": json.dumps(list(keys))}):
            found[key] = (*found.get(key, ()), PredictedLabel(*said))
        return found

    def rejected(self, keys: Sequence[int]) -> dict[int, set[str]]:
        """Return the labels that people took away from documents, by key."""
        statement = select(LABEL_EDITS.c.document_id, LABEL_EDITS.c.name)
        chosen = statement.where(among(LABEL_EDITS.c.document_id), ~LABEL_EDITS.c.added)
        found: dict[int, set[str]] = {}
        for key, name in self.connection.execute(chosen, {"ids": json.dumps(list(keys))}):
            found.setdefault(key, set()).add(name)
        return found

    def split_counts(self) -> dict[str, int]:
        """Return how many documents are in each split; those in none are left out."""
        statement = (
            select(DOCUMENTS.c.split, func.count())
            .where(DOCUMENTS.c.split != "")
            .group_by(DOCUMENTS.c.split)
            .order_by(DOCUMENTS.c.split)
        )
        return dict(self.connection.execute(statement).all())

    def splits_by_key(self, wanted: Filter) -> dict[int, str]:
        """Return the split of every document that is in one."""
        statement = select(DOCUMENTS.c.id, DOCUMENTS.c.split).where(DOCUMENTS.c.split != "")
        rows = self.connection.execute(statement.where(*conditions(wanted)))
        return {key: split for key, split in rows}  # noqa: C416 (rows are no tuples to mypy)
