"""Sections of documents: pages, chapters, headings, slides, sheets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lpisearch.storage.tables import NUMBER

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_HAVE_SECTIONS = "('docx', 'epub', 'html', 'markdown', 'odt', 'pdf')"


def upgrade() -> None:
    """Create the table of sections, and let the next ingest read the files that have some."""
    op.create_table(
        "document_sections",
        sa.Column("document_id", NUMBER, nullable=False),
        sa.Column("sections", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["documents.id"],
            "fk_document_sections_document_id_documents",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", name="pk_document_sections"),
    )
    op.execute(f"UPDATE sources SET read_options = '' WHERE format IN {_HAVE_SECTIONS}")  # noqa: S608 (a constant)


def downgrade() -> None:
    """Remove the table; after another upgrade the next ingest brings the sections back."""
    in_a_file = op.get_bind().dialect.name == "sqlite"
    nothing = "zeroblob(16)" if in_a_file else "decode(repeat('00', 16), 'hex')"
    op.execute(
        f"UPDATE documents SET content_hash = {nothing} "  # noqa: S608 (a constant)
        "WHERE id IN (SELECT document_id FROM document_sections)"
    )
    op.drop_table("document_sections")
    op.execute(f"UPDATE sources SET read_options = '' WHERE format IN {_HAVE_SECTIONS}")  # noqa: S608 (a constant)
