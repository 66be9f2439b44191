"""How Alembic meets a library. The program passes its open connection; there is no ini file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alembic import context

from lpisearch.storage.sqlite.fulltext import TABLE
from lpisearch.storage.sqlite.tables import METADATA

if TYPE_CHECKING:
    from collections.abc import Mapping


def include_name(name: str | None, kind: str, _parents: Mapping[str, str | None]) -> bool:
    """Leave the FTS5 table and its shadow tables out of the comparison with the tables."""
    return not (kind == "table" and name is not None and name.startswith(TABLE))


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    include_name=include_name,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
