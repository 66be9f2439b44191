"""The language and the kind of each document."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lpisearch.storage.tables import NUMBER, TEXT

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table; documents that are added or tokenised again get a row."""
    nothing = sa.text("x''" if op.get_bind().dialect.name == "sqlite" else "''::bytea")
    op.create_table(
        "document_traits",
        sa.Column("document_id", NUMBER, nullable=False),
        *(sa.Column(name, TEXT, nullable=False) for name in ("language", "kind", "reason")),
        sa.Column("checksum", sa.LargeBinary(), server_default=nothing, nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["documents.id"],
            "fk_document_traits_document_id_documents",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", name="pk_document_traits"),
    )
    op.create_index("ix_document_traits_kind", "document_traits", ["kind"])
    op.create_index("ix_document_traits_language", "document_traits", ["language"])


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("document_traits")
