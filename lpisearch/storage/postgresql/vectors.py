"""Vectors of documents in a table for others, by pgvector: `ORDER BY embedding <=> …`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlalchemy import text

from lpisearch.errors import VectorsUnavailable
from lpisearch.messages import call
from lpisearch.storage.postgresql.bulk import copy_rows
from lpisearch.storage.postgresql.schema import EXPORTED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

_MOST_DIMS = 2000
"""How many dimensions an index of pgvector over `vector` takes; over `halfvec` twice as many."""
_AVAILABLE = text("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")
_SCHEMA = text(
    "SELECT quote_ident(nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
    "WHERE extname = 'vector'"
)
_MAY_CREATE = text(
    "SELECT rolsuper OR has_database_privilege(current_database(), 'CREATE') AND "
    "(SELECT trusted FROM pg_available_extension_versions WHERE name = 'vector' LIMIT 1) "
    "FROM pg_roles WHERE rolname = current_user"
)
_PUBLIC = text("SELECT 1 FROM pg_namespace WHERE nspname = 'public'")
_PLAIN = re.compile(r"\W", re.ASCII)
_LONGEST = 30


class ExportedVectors:
    """Tables of vectors; the methods are those of `contract.ExportedVectors`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def replace(
        self, index: str, dims: int, rows: Iterable[tuple[int, str, Iterable[float]]]
    ) -> str:
        """Put the vectors of an index into a table, instead of those of before; return its name.

        Raises
        ------
        VectorsUnavailable
        """
        execute = self._connection.exec_driver_sql
        schema = self._extension()
        kind = "vector" if dims <= _MOST_DIMS else "halfvec"
        table = table_of(index)
        if dims > 2 * _MOST_DIMS:
            raise VectorsUnavailable(
                f"pgvector indexes {2 * _MOST_DIMS:,} dimensions at most, not {dims:,}",
                call("index", dims=_MOST_DIMS),
            )
        execute(f"DROP TABLE IF EXISTS {table}")
        execute(
            f"CREATE TABLE {table} (document_id BIGINT PRIMARY KEY REFERENCES documents (id) "
            f"ON DELETE CASCADE, id VARCHAR NOT NULL, embedding {schema}.{kind}({dims}) NOT NULL)"
        )
        copy_rows(self._connection, table, ("document_id", "id", "embedding"), _as_text(rows))
        execute(
            f"CREATE INDEX {table}_hnsw ON {table} "
            f"USING hnsw (embedding {schema}.{kind}_cosine_ops)"
        )
        return table

    def _extension(self) -> str:
        """Return the schema in which pgvector is, made first if it may be."""
        found = self._connection.execute(_SCHEMA).scalar()
        if found is not None:
            return str(found)
        if self._connection.execute(_AVAILABLE).scalar() is None:
            raise VectorsUnavailable(
                "the server has no pgvector",
                "install it on the server (Debian: postgresql-NN-pgvector), then run it again",
            )
        if not self._connection.execute(_MAY_CREATE).scalar():
            raise VectorsUnavailable(
                "pgvector is not in this database", "let an administrator: CREATE EXTENSION vector"
            )
        where = " SCHEMA public" if self._connection.execute(_PUBLIC).scalar() else ""
        self._connection.exec_driver_sql(f"CREATE EXTENSION vector{where}")
        return str(self._connection.execute(_SCHEMA).scalar_one())


def table_of(index: str) -> str:
    """Return the name of the table of an index: that of the default one has nothing added."""
    if index == "default":
        return EXPORTED
    return f"{EXPORTED}_{_PLAIN.sub('_', index.lower())[:_LONGEST]}"


def _as_text(rows: Iterable[tuple[int, str, Iterable[float]]]) -> Iterable[tuple[int, str, str]]:
    for key, name, vector in rows:
        yield key, name, f"[{','.join(map(repr, vector))}]"
