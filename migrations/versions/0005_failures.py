"""Files that could not be read, so that a run neither tries them again nor names them again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lpisearch.storage.tables import NUMBER, TEXT

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table; the next ingest fills it."""
    op.create_table(
        "failures",
        sa.Column("path", TEXT, nullable=False),
        sa.Column("size", NUMBER, nullable=False),
        sa.Column("mtime_ns", NUMBER, nullable=False),
        sa.Column("read_options", TEXT, nullable=False),
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("troubles", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("path", name="pk_failures"),
    )


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("failures")
