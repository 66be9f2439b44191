"""A checksum for every row."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_TABLES = (
    *("sources", "documents", "document_sections", "labels", "label_edits", "predicted_labels"),
    *("document_tokens", "settings", "indexes", "failures"),
)


def upgrade() -> None:
    """Add the column; every upgrade ends with filling in what is empty."""
    nothing = sa.text("x''" if op.get_bind().dialect.name == "sqlite" else "''::bytea")
    for table in _TABLES:
        op.add_column(
            table,
            sa.Column("checksum", sa.LargeBinary(), server_default=nothing, nullable=False),
        )


def downgrade() -> None:
    """Remove the column, and the digest of the schema."""
    for table in _TABLES:
        op.drop_column(table, "checksum")
    op.execute("DELETE FROM settings WHERE name = 'schema'")
