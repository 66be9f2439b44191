"""The labels and splits of documents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from lpisearch.storage.sqlite.filters import conditions
from lpisearch.storage.sqlite.tables import DOCUMENTS, LABELS

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from lpisearch.records import Filter


@dataclass(frozen=True, slots=True)
class SQLiteLabels:
    """Labels and splits; the methods are those of `contract.Labels`."""

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
            select(LABELS.c.document_id, func.json_group_array(LABELS.c.name))
            .join(DOCUMENTS, DOCUMENTS.c.id == LABELS.c.document_id)
            .where(*conditions(wanted))
            .group_by(LABELS.c.document_id)
        )
        return {key: json.loads(names) for key, names in self.connection.execute(statement)}

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
