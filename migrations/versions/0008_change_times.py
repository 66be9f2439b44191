"""The time of the last change of a file's state, which no program can set."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lpisearch.storage.tables import NUMBER

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_TABLES = ("sources", "failures")


def upgrade() -> None:
    """Add the column; 0 is unknown until the next ingest, which reads no file for it."""
    for table in _TABLES:
        column = sa.Column("ctime_ns", NUMBER, server_default=sa.text("0"), nullable=False)
        op.add_column(table, column)


def downgrade() -> None:
    """Remove the column."""
    for table in _TABLES:
        op.drop_column(table, "ctime_ns")
