"""Damage in rows and its repair."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, func, select, update

from lpisearch.model.documents import UNFINISHED, DamagedDocument, DocumentRow, Finding
from lpisearch.storage.corpus import SQLDocuments
from lpisearch.storage.integrity import MEND, changed_rows, damaged, differs, seal
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
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import ColumnElement, Connection, Select, Table


PARTS = {
    LABELS: "labels",
    LABEL_EDITS: "manual labels",
    PREDICTED_LABELS: "predicted labels",
    SECTIONS: "sections",
    TOKENS: "tokens",
}
_NOUNS = {
    SOURCES: "files",
    SETTINGS: "settings",
    INDEXES: "index register",
    LABEL_EDITS: "manual labels",
    PREDICTED_LABELS: "predicted labels",
    FAILURES: "failed files",
}
_OF_DOCUMENTS = (DOCUMENTS, LABELS, SECTIONS)
_SHOWN = 3  # names that fit in a line
_AT_ONCE = 500
UNREAD: dict[str, Any] = {"size": UNFINISHED, "mtime_ns": UNFINISHED}


class Origin(NamedTuple):
    """What can still be read of a document, and of where it came from."""

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
    """Damage in rows; what is of a database itself is added by its room."""

    connection: Connection

    @abstractmethod
    def findings(self) -> list[Finding]:
        """Look at everything."""

    @abstractmethod
    def repair(self) -> dict[str, int]:
        """Remove what belongs to no document, and build the lexical index anew."""

    @abstractmethod
    def _origin(self, key: int, *, is_named: bool) -> Origin:
        """Return where a document came from; by its path, if its source is not to be believed."""

    def damaged_documents(self) -> list[DamagedDocument]:
        """Return the documents that are not as they were written, and where they came from."""
        changed = {table: set(changed_rows(self.connection, table)) for table in _OF_DOCUMENTS}
        keys = set(SQLDocuments(self.connection).keys())
        found = set().union(*changed.values()) & keys
        found |= self._of_other_content(sorted(keys - found))
        return [self._place(key, is_named=key not in changed[DOCUMENTS]) for key in sorted(found)]

    def untokenised(self) -> list[int]:
        """Return the keys of documents that have no tokens, or not those that were written."""
        without = DOCUMENTS.c.id.not_in(select(TOKENS.c.document_id))
        missing = self.connection.execute(select(DOCUMENTS.c.id).where(without)).scalars()
        return sorted({*missing, *changed_rows(self.connection, TOKENS)})

    def repair_rows(self) -> list[str]:
        """Let files be read again, and indexes be forgotten, whose rows are not as written."""
        for key in changed_rows(self.connection, SOURCES):
            self._repair_source(key)
        gone = changed_rows(self.connection, INDEXES)
        for table in (INDEXES, LABEL_EDITS, PREDICTED_LABELS, FAILURES):
            self.connection.execute(delete(table).where(differs(table)))
        seal(self.connection, [SOURCES])
        return [str(name) for name in gone]

    def give_up(self, documents: Iterable[DamagedDocument]) -> None:
        """Note that documents are not as written: what their files have now takes their place."""
        for each in documents:
            key, source = each.row.key, each.row.source_id
            unknown = update(DOCUMENTS).where(DOCUMENTS.c.id == key).values(content_hash=b"")
            self.connection.execute(unknown)
            self.connection.execute(update(SOURCES).where(SOURCES.c.id == source).values(**UNREAD))
        seal(self.connection, [SOURCES])

    def _repair_source(self, key: int) -> None:
        """Let a file be read again; its documents know its path."""
        named = select(DOCUMENTS.c.path).where(DOCUMENTS.c.source_id == key).distinct().limit(2)
        paths = list(self.connection.execute(named).scalars())
        if not paths:  # it may be a row of another table: a file of no document is found anew
            self.connection.execute(delete(SOURCES).where(SOURCES.c.id == key))
            return
        values = {"root": "", "format": "", "read_options": "", "read_at": ""} | UNREAD
        if len(paths) == 1:
            values |= {"path": paths[0], "root": os.path.dirname(paths[0])}  # noqa: PTH120 (a string)
        self.connection.execute(update(SOURCES).where(SOURCES.c.id == key).values(**values))

    def _of_other_content(self, keys: list[int]) -> set[int]:
        """Return the documents that lack a label or a section, whose rows are gone altogether."""
        edited = set(self.connection.execute(select(LABEL_EDITS.c.document_id)).scalars())
        wanted = [key for key in keys if key not in edited]
        documents = SQLDocuments(self.connection)
        found: set[int] = set()
        for start in range(0, len(wanted), _AT_ONCE):
            found.update(documents.of_other_content(wanted[start : start + _AT_ONCE]))
        return found

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
        return Finding(noun, ok=False, detail=_not_as_written(len(changed)), next_step=MEND)

    def _documents(self) -> Finding:
        found = self.damaged_documents()
        if not found:
            return Finding("documents", ok=True, detail="intact")
        names = ", ".join(each.row.id for each in found[:_SHOWN])
        detail = f"{_not_as_written(len(found))}: {names}" + ", …" * (len(found) > _SHOWN)
        return Finding("documents", ok=False, detail=detail, next_step=MEND)

    def _place(self, key: int, *, is_named: bool) -> DamagedDocument:
        origin = self._origin(key, is_named=is_named)
        place = DocumentRow(key, origin.id, origin.source_id, origin.position, origin.content_hash)
        return DamagedDocument(
            place,
            path=origin.path,
            root=origin.root,
            format=origin.format,
            split=origin.split,
            labels=origin.labels,
            found=SQLDocuments(self.connection).found_hash(key),
            is_named=is_named,
        )

    def _orphans(self, table: Table) -> Finding:
        """Look for rows of a table that belong to no document."""
        check, number = f"orphan {PARTS[table]}", self._count(orphaned(table))
        if not number:
            return Finding(check, ok=True, detail="none")
        return Finding(check, ok=False, detail=f"{number} without a document", next_step=MEND)

    def _delete_orphans(self) -> None:
        for table in PARTS:
            self.connection.execute(delete(table).where(_is_orphan(table)))

    def _count(self, rows: Select[Any]) -> int:
        return self.connection.execute(
            select(func.count()).select_from(rows.subquery())
        ).scalar_one()

    def _untokenised(self) -> Finding:
        number = len(self.untokenised())
        if number == 0:
            return Finding("tokens", ok=True, detail="complete")
        detail = "1 document has" if number == 1 else f"{number:,} documents have"
        detail += " missing or damaged tokens"
        return Finding("tokens", ok=False, detail=detail, next_step=MEND)


def orphaned(table: Table) -> Select[Any]:
    """Return the rows of a table that belong to no document."""
    return select(table.c.document_id).where(_is_orphan(table))


def _is_orphan(table: Table) -> ColumnElement[bool]:
    return table.c.document_id.not_in(select(DOCUMENTS.c.id))


def _not_as_written(number: int) -> str:
    return "1 damaged" if number == 1 else f"{number:,} damaged"
