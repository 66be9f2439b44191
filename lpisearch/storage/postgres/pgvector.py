"""Tables of vectors for other programs."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING

from sqlalchemy import text

from lpisearch.errors import VectorsUnavailable
from lpisearch.messages import call
from lpisearch.storage.postgres.database import copy_rows
from lpisearch.storage.postgres.schema import EXPORTED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lpisearch.storage.reading import Connection


_MOST_DIMS = 2000  # of a pgvector index over `vector`; twice as many over `halfvec`
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
_RIGHTS = text(
    "SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE "
    "quote_ident(pg_get_userbyid(grantee)) END FROM pg_class, aclexplode(relacl) "
    "WHERE oid = to_regclass(:table) AND grantee <> relowner"
)
_USERS = text(
    "SELECT DISTINCT ev_class::regclass::VARCHAR FROM pg_rewrite r "
    "JOIN pg_depend d ON d.objid = r.oid AND d.classid = 'pg_rewrite'::regclass "
    "WHERE refobjid = to_regclass(:table) AND ev_class <> refobjid ORDER BY 1"
)
_PUBLIC = text("SELECT 1 FROM pg_namespace WHERE nspname = 'public'")
_PLAIN = re.compile(r"\W", re.ASCII)
_LONGEST = 30


class ExportedVectors:
    """Tables of vectors."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def replace(
        self, index: str, dims: int, rows: Iterable[tuple[int, str, Iterable[float]]]
    ) -> str:
        """Replace the table with the vectors of an index; return its name."""
        schema = require_extension(self._connection)
        if dims > 2 * _MOST_DIMS:
            raise VectorsUnavailable(
                f"pgvector can index at most {2 * _MOST_DIMS:,} dimensions, not {dims:,}",
                call("index", dims=_MOST_DIMS),
            )
        kind = "vector" if dims <= _MOST_DIMS else "halfvec"
        table = table_of(index)
        fresh = f"{table}_new"  # readers keep the old table until the commit
        execute = self._connection.exec_driver_sql
        execute(
            f"CREATE TABLE {fresh} (document_id BIGINT CONSTRAINT {fresh}_pkey PRIMARY KEY, "
            f"id VARCHAR NOT NULL, embedding {schema}.{kind}({dims}) NOT NULL)"
        )
        copy_rows(self._connection, fresh, ("document_id", "id", "embedding"), _as_text(rows))
        execute(
            f"CREATE INDEX {fresh}_hnsw ON {fresh} "
            f"USING hnsw (embedding {schema}.{kind}_cosine_ops)"
        )
        for right, who in self._connection.execute(_RIGHTS, {"table": table}).all():
            execute(f"GRANT {right} ON {fresh} TO {who}")
        if used_by := self._connection.execute(_USERS, {"table": table}).scalars().all():
            raise VectorsUnavailable(
                f"the table {table} is used by {', '.join(used_by)}",
                "DROP whatever uses it, then try again",
            )
        execute(f"DROP TABLE IF EXISTS {table}")
        execute(f"ALTER TABLE {fresh} RENAME TO {table}")
        execute(f"ALTER INDEX {fresh}_pkey RENAME TO {table}_pkey")
        execute(f"ALTER INDEX {fresh}_hnsw RENAME TO {table}_hnsw")
        execute(
            f"ALTER TABLE {table} ADD CONSTRAINT {table}_document_id_fkey "
            "FOREIGN KEY (document_id) REFERENCES documents (id) ON DELETE CASCADE"
        )
        return table


def require_extension(connection: Connection) -> str:
    """Return the schema of pgvector, creating the extension if permitted."""
    schema = connection.execute(_SCHEMA).scalar()
    if schema is not None:
        return str(schema)
    if connection.execute(_AVAILABLE).scalar() is None:
        raise VectorsUnavailable(
            "pgvector is not installed on the server",
            "install it on the server (Debian: postgresql-NN-pgvector), then try again",
        )
    if not connection.execute(_MAY_CREATE).scalar():
        raise VectorsUnavailable(
            "pgvector is not enabled in this database",
            "ask an administrator to run CREATE EXTENSION vector",
        )
    where = " SCHEMA public" if connection.execute(_PUBLIC).scalar() else ""
    connection.exec_driver_sql(f"CREATE EXTENSION vector{where}")
    return str(connection.execute(_SCHEMA).scalar_one())


def table_of(index: str) -> str:
    """Return the name of the table of an index; the default index has no suffix."""
    if index == "default":
        return EXPORTED
    plain = _PLAIN.sub("_", index.lower())[:_LONGEST]
    if plain != index:  # so that no other name gives the same table
        plain += f"_{blake2b(index.encode(), digest_size=3).hexdigest()}"
    return f"{EXPORTED}_{plain}"


def _as_text(rows: Iterable[tuple[int, str, Iterable[float]]]) -> Iterable[tuple[int, str, str]]:
    for key, name, vector in rows:
        yield key, name, f"[{','.join(map(repr, vector))}]"
