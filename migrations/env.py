"""How Alembic meets a library. The program passes its open connection; there is no ini file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alembic import context

from lpisearch.storage.tables import METADATA

if TYPE_CHECKING:
    from collections.abc import Mapping

# FTS5 with its shadow tables in SQLite; in PostgreSQL what stands in its place.
_OF_ONE = (
    *("documents_fts", "document_terms", "source_hosts", "state_mark", "index_files"),
    "lpisearch_",
)


def include_name(name: str | None, kind: str, _parents: Mapping[str, str | None]) -> bool:
    """Leave what one database alone has, and tables for others, out of the comparison."""
    return not (kind == "table" and name is not None and name.startswith(_OF_ONE))


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    include_name=include_name,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
