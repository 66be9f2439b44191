"""The list of subspace indexes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lpisearch.storage.tables import TEXT

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of indexes."""
    op.create_table(
        "indexes",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("method", TEXT, nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("fingerprint", TEXT, nullable=False),
        sa.Column("folder", TEXT, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_indexes"),
    )
    if op.get_bind().dialect.name != "sqlite":
        op.create_table(
            "index_files",
            sa.Column("folder", TEXT, nullable=False),
            sa.Column("name", TEXT, nullable=False),
            sa.Column("number", sa.Integer(), nullable=False),
            sa.Column("content", sa.LargeBinary(), nullable=False),
            sa.PrimaryKeyConstraint("folder", "name", "number", name="pk_index_files"),
        )


def downgrade() -> None:
    """Remove the table; the index folders can be built again."""
    if op.get_bind().dialect.name != "sqlite":
        op.drop_table("index_files")
    op.drop_table("indexes")
