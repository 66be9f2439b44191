"""Check a PostgreSQL library for damage and repair it.

The server looks after its own pages; what is looked for here is what was changed past this program,
and whether the index over the tokens is in step with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, text

from lpisearch.records import Finding
from lpisearch.storage.findings import MEND, damaged, unfinished
from lpisearch.storage.postgresql import schema
from lpisearch.storage.postgresql.changes import index_tokens
from lpisearch.storage.postgresql.terms import as_vector
from lpisearch.storage.sql.checksums import SCHEMA
from lpisearch.storage.sql.health import PARTS, Origin, SQLHealth
from lpisearch.storage.sql.settings import SQLSettings
from lpisearch.storage.sql.sources import SQLSources
from lpisearch.storage.sql.tables import DOCUMENTS, LABELS, METADATA, SOURCES, TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterator

_AT_ONCE = 500
_UNSOURCED = text("SELECT count(*) FROM documents WHERE source_id NOT IN (SELECT id FROM sources)")
_DIFFERENT = text(
    "SELECT count(*) FROM unnest(CAST(:keys AS BIGINT[]), CAST(:terms AS VARCHAR[]), "
    "CAST(:lengths AS INT[])) AS e(key, terms, length) LEFT JOIN document_terms d "
    "ON d.document_id = e.key WHERE d.terms IS DISTINCT FROM CAST(e.terms AS tsvector) "
    "OR d.length <> e.length"
)
_STRAY = text(
    "SELECT count(*) FROM document_terms WHERE document_id NOT IN (SELECT document_id FROM document_tokens)"  # noqa: E501
)
_EMPTY = text("DELETE FROM document_terms")


class PostgreSQLHealth(SQLHealth):
    """Damage and its repair."""

    __slots__ = ()

    def findings(self) -> list[Finding]:
        """Look at everything."""
        first = [self._sources(), self._schema()]
        if not all(finding.ok for finding in first):
            return [next(finding for finding in first if not finding.ok)]
        return [
            *first,
            *map(self._orphans, PARTS),
            *self._cells(),
            self._full_text(),
            unfinished(SQLSources(self.connection).unfinished()),
        ]

    def repair(self) -> dict[str, int]:
        """Remove what belongs to no document, and build all indexes of the tables anew.

        Returns
        -------
        dict
            Nothing is known to be gone for good: an index of PostgreSQL does not tell.
        """
        for table in METADATA.tables:
            self.connection.execute(text(f"REINDEX TABLE {table}"))
        self._delete_orphans()
        self.connection.execute(_EMPTY)
        for tokens in self._tokens():
            index_tokens(self.connection, tokens)
        self.connection.execute(text("REINDEX TABLE document_terms"))
        return {}

    def _sources(self) -> Finding:
        if self.connection.execute(_UNSOURCED).scalar():
            return damaged("documents whose file record is missing", "database")
        return Finding("database", ok=True, detail="intact")

    def _schema(self) -> Finding:
        stated = (SQLSettings(self.connection).get(SCHEMA) or {}).get("digest")
        if stated == schema.schema_digest(self.connection):
            return Finding("tables", ok=True, detail="intact")
        return damaged("its tables were altered", "tables")

    def _full_text(self) -> Finding:
        check = "full-text index"
        different = self.connection.execute(_STRAY).scalar_one()
        for tokens in self._tokens():
            vectors = [as_vector(joined) for joined in tokens.values()]
            given = {
                "keys": list(tokens),
                "terms": [vector for vector, _ in vectors],
                "lengths": [length for _, length in vectors],
            }
            different += self.connection.execute(_DIFFERENT, given).scalar_one()
        if different:
            return Finding(check, ok=False, detail="out of sync with the documents", next_step=MEND)
        return Finding(check, ok=True, detail="in sync with the documents")

    def _tokens(self) -> Iterator[dict[int, str]]:
        """Yield all tokens by key, some at a time."""
        statement = select(TOKENS.c.document_id, TOKENS.c.tokens).order_by(TOKENS.c.document_id)
        last = -1
        while rows := self.connection.execute(
            statement.where(TOKENS.c.document_id > last).limit(_AT_ONCE)
        ).all():
            yield {key: tokens for key, tokens in rows}  # noqa: C416 (rows are no tuples to mypy)
            last = rows[-1][0]

    def _origin(self, key: int, *, is_named: bool) -> Origin:
        named = SOURCES.c.id == DOCUMENTS.c.source_id
        by_path = SOURCES.c.path == DOCUMENTS.c.path
        columns = (DOCUMENTS.c.external_id, DOCUMENTS.c.position, DOCUMENTS.c.content_hash)
        document = self.connection.execute(
            select(*columns, DOCUMENTS.c.split).where(DOCUMENTS.c.id == key)
        ).one()
        found = None
        for how in (named,) if is_named else (by_path, named):
            source = select(SOURCES.c.id, SOURCES.c.path, SOURCES.c.root, SOURCES.c.format)
            of_it = source.select_from(DOCUMENTS).join(SOURCES, how).where(DOCUMENTS.c.id == key)
            found = found or self.connection.execute(of_it).first()
        source_id, path, root, kind = found or (0, "", "", "")
        names = select(LABELS.c.name).where(LABELS.c.document_id == key).order_by(LABELS.c.position)
        labels = tuple(self.connection.execute(names).scalars())
        name, position, stated, split = document
        return Origin(name, source_id, position, stated, path, root, kind, split, labels)
