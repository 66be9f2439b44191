"""Labels that people gave or took away, and labels that a classifier predicted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lpisearch.storage.tables import NUMBER, SHARE, TEXT

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create both tables."""
    _create("label_edits", sa.Column("added", sa.Boolean(), nullable=False))
    _create(
        "predicted_labels",
        sa.Column("confidence", SHARE, nullable=False),
        sa.Column("classifier", TEXT, nullable=False),
        sa.Column("predicted_at", TEXT, nullable=False),
    )
    op.create_index("ix_predicted_labels_name", "predicted_labels", ["name"])


def _create(table: str, *columns: sa.Column[object]) -> None:
    op.create_table(
        table,
        sa.Column("document_id", NUMBER, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        *columns,
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["documents.id"],
            f"fk_{table}_document_id_documents",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "name", name=f"pk_{table}"),
    )


def downgrade() -> None:
    """Remove the tables; documents keep the labels that they have now."""
    op.drop_table("predicted_labels")
    op.drop_table("label_edits")
