"""Find damaged rows and repair them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, Table, delete, func, select, update

from lpisearch.model.documents import UNFINISHED, DamagedDocument, DocumentRow, Finding
from lpisearch.storage.corpus import SQLCorpus
from lpisearch.storage.dialects import changed_rows, differs, seal
from lpisearch.storage.integrity import MEND, SCHEMA, damaged, unfinished
from lpisearch.storage.metadata import SQLSettings, SQLSources
from lpisearch.storage.reading import Connection, SQLDocuments, chunks
from lpisearch.storage.tables import (
    DOCUMENTS,
    FAILURES,
    INDEXES,
    LABEL_EDITS,
    LABELS,
    PREDICTED_LABELS,
    SECTIONS,
    SETTINGS,
    SOURCES,
    TOKENS,
    TRAITS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


PARTS = {
    LABELS: "labels",
    LABEL_EDITS: "manual labels",
    PREDICTED_LABELS: "predicted labels",
    SECTIONS: "sections",
    TOKENS: "tokens",
    TRAITS: "traits",
}
_NOUNS = {
    SOURCES: "files",
    SETTINGS: "settings",
    INDEXES: "index register",
    LABEL_EDITS: "manual labels",
    PREDICTED_LABELS: "predicted labels",
    FAILURES: "failed files",
}
FULL_TEXT = "full-text index"
_OF_DOCUMENTS = (DOCUMENTS, LABELS, SECTIONS)
_SHOWN = 3  # names that fit in a line
_AT_ONCE = 500
UNREAD: dict[str, Any] = {"size": UNFINISHED, "mtime_ns": UNFINISHED, "ctime_ns": 0}
"""The facts of a file that is to be read again."""


class Origin(NamedTuple):
    """What can still be read about a document and its source."""

    id: str
    source_id: int
    position: int
    content_hash: bytes
    path: str
    root: str
    format: str
    split: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SQLHealth(ABC):
    """Checks and repairs; subclasses add those of the database itself."""

    connection: Connection

    @abstractmethod
    def repair(self) -> dict[str, int]:
        """Remove orphans and rebuild all indexes; return how many rows are lost, by noun."""

    @abstractmethod
    def _integrity(self) -> Finding:
        """Check the database itself."""

    @abstractmethod
    def _schema_digest(self) -> str:
        """Return the digest of the schema as it is now."""

    @abstractmethod
    def _full_text(self) -> Finding:
        """Compare the full-text index with the tokens."""

    @abstractmethod
    def _origin(self, key: int, *, is_named: bool) -> Origin:
        """Return where a document came from; by its path if its source is not reliable."""

    def findings(self) -> list[Finding]:
        """Check everything; damage to the database or its schema hides the rest."""
        first = [self._integrity(), self._schema()]
        failed = [finding for finding in first if not finding.ok]
        if failed:
            return failed[:1]
        return [
            *first,
            *map(self._orphans, PARTS),
            *self._cells(),
            self._full_text(),
            unfinished(SQLSources(self.connection).unfinished()),
        ]

    def _schema(self) -> Finding:
        stored = (SQLSettings(self.connection).get(SCHEMA) or {}).get("digest")
        if stored == self._schema_digest():
            return Finding("tables", ok=True, detail="intact")
        return damaged("its tables were altered", "tables")

    def damaged_documents(self) -> list[DamagedDocument]:
        """Return the documents that differ from what was written, with their origins."""
        changed = {table: set(changed_rows(self.connection, table)) for table in _OF_DOCUMENTS}
        keys = set(SQLDocuments(self.connection).keys())
        damaged_keys = set().union(*changed.values()) & keys
        damaged_keys |= self._of_other_content(sorted(keys - damaged_keys))
        return [
            self._damaged(key, is_named=key not in changed[DOCUMENTS])
            for key in sorted(damaged_keys)
        ]

    def untokenised(self) -> list[int]:
        """Return the keys of documents whose tokens are missing or damaged."""
        without = DOCUMENTS.c.id.not_in(select(TOKENS.c.document_id))
        missing = self.connection.execute(select(DOCUMENTS.c.id).where(without)).scalars()
        changed = (changed_rows(self.connection, table) for table in (TOKENS, TRAITS))
        return sorted({*missing}.union(*changed))

    def repair_rows(self) -> list[str]:
        """Mark damaged sources as unread and delete other damaged rows; return the lost indexes."""
        for key in changed_rows(self.connection, SOURCES):
            self._repair_source(key)
        gone = changed_rows(self.connection, INDEXES)
        for table in (INDEXES, LABEL_EDITS, PREDICTED_LABELS, FAILURES):
            self.connection.execute(delete(table).where(differs(table)))
        seal(self.connection, [SOURCES])
        return [str(name) for name in gone]

    def give_up(self, documents: Iterable[DamagedDocument]) -> None:
        """Mark damaged documents as unknown, so that the next ingest replaces them."""
        for document in documents:
            key, source = document.row.key, document.row.source_id
            unknown = update(DOCUMENTS).where(DOCUMENTS.c.id == key).values(content_hash=b"")
            self.connection.execute(unknown)
            self.connection.execute(update(SOURCES).where(SOURCES.c.id == source).values(**UNREAD))
        seal(self.connection, [SOURCES])

    def _repair_source(self, key: int) -> None:
        """Mark a file as unread; its documents know its path."""
        named = select(DOCUMENTS.c.path).where(DOCUMENTS.c.source_id == key).distinct().limit(2)
        paths = list(self.connection.execute(named).scalars())
        if not paths:  # perhaps a row of another table; the next ingest finds the file again
            self.connection.execute(delete(SOURCES).where(SOURCES.c.id == key))
            return
        values = {"root": "", "format": "", "read_options": "", "read_at": ""} | UNREAD
        if len(paths) == 1:
            values |= {"path": paths[0], "root": os.path.dirname(paths[0])}  # noqa: PTH120 (a string)
        self.connection.execute(update(SOURCES).where(SOURCES.c.id == key).values(**values))

    def _of_other_content(self, keys: list[int]) -> set[int]:
        """Return the documents that lack a whole row of a label or section."""
        edited = set(self.connection.execute(select(LABEL_EDITS.c.document_id)).scalars())
        corpus = SQLCorpus(self.connection)
        unedited = [key for key in keys if key not in edited]
        return {key for some in chunks(unedited, _AT_ONCE) for key in corpus.altered(some)}

    def _cells(self) -> Iterator[Finding]:
        yield from (self._rows(table) for table in _NOUNS)
        yield self._documents()
        yield self._untokenised()

    def _rows(self, table: Table) -> Finding:
        noun = _NOUNS[table]
        changed = changed_rows(self.connection, table)
        if not changed:
            return Finding(noun, ok=True, detail="intact")
        if table is SETTINGS:
            return damaged("its settings are damaged", noun)
        return Finding(noun, ok=False, detail=_number_damaged(len(changed)), next_step=MEND)

    def _documents(self) -> Finding:
        documents = self.damaged_documents()
        if not documents:
            return Finding("documents", ok=True, detail="intact")
        names = ", ".join(document.row.id for document in documents[:_SHOWN])
        detail = f"{_number_damaged(len(documents))}: {names}" + ", …" * (len(documents) > _SHOWN)
        return Finding("documents", ok=False, detail=detail, next_step=MEND)

    def _damaged(self, key: int, *, is_named: bool) -> DamagedDocument:
        origin = self._origin(key, is_named=is_named)
        return DamagedDocument(
            DocumentRow(key, origin.id, origin.source_id, origin.position, origin.content_hash),
            path=origin.path,
            root=origin.root,
            format=origin.format,
            split=origin.split,
            labels=origin.labels,
            found=SQLCorpus(self.connection).computed_hash(key),
            is_named=is_named,
        )

    def _orphans(self, table: Table) -> Finding:
        """Look for rows of a table that belong to no document."""
        check = f"orphan {PARTS[table]}"
        orphans = select(func.count()).select_from(table).where(_is_orphan(table))
        number = self.connection.execute(orphans).scalar_one()
        if not number:
            return Finding(check, ok=True, detail="none")
        return Finding(check, ok=False, detail=f"{number} without a document", next_step=MEND)

    def _delete_orphans(self) -> None:
        for table in PARTS:
            self.connection.execute(delete(table).where(_is_orphan(table)))

    def _untokenised(self) -> Finding:
        number = len(self.untokenised())
        if number == 0:
            return Finding("tokens", ok=True, detail="complete")
        detail = "1 document has" if number == 1 else f"{number:,} documents have"
        detail += " missing or damaged tokens"
        return Finding("tokens", ok=False, detail=detail, next_step=MEND)


def _is_orphan(table: Table) -> ColumnElement[bool]:
    return table.c.document_id.not_in(select(DOCUMENTS.c.id))


def full_text_finding(*, in_sync: bool) -> Finding:
    """Return the finding about the full-text index."""
    if in_sync:
        return Finding(FULL_TEXT, ok=True, detail="in sync with the documents")
    return Finding(FULL_TEXT, ok=False, detail="out of sync with the documents", next_step=MEND)


def _number_damaged(number: int) -> str:
    return "1 damaged" if number == 1 else f"{number:,} damaged"
