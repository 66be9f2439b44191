"""Sources, documents, labels, tokens, settings and the full-text table."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from lpisearch.storage.tables import NUMBER, TEXT

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables that hold documents."""
    if _in_a_file():
        op.execute("PRAGMA application_id = 1819306355")  # "lpis": tells our files from others
    op.create_table(
        "sources",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("path", TEXT, nullable=False),
        sa.Column("root", TEXT, nullable=False),
        sa.Column("format", TEXT, nullable=False),
        sa.Column("size", NUMBER, nullable=False),
        sa.Column("mtime_ns", NUMBER, nullable=False),
        sa.Column("read_options", TEXT, nullable=False),
        sa.Column("read_at", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sources"),
        sa.UniqueConstraint("path", name="uq_sources_path"),
    )
    _create_documents()
    op.create_table(
        "settings",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_settings"),
    )
    if _in_a_file():
        _create_full_text()
    else:
        _create_vectors()


def _in_a_file() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _create_vectors() -> None:
    """Create what PostgreSQL has in place of FTS5, who read which file, and the mark."""
    op.create_table(
        "document_terms",
        sa.Column("document_id", NUMBER, nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("terms", postgresql.TSVECTOR(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["documents.id"],
            "fk_document_terms_document_id_documents",
            ondelete="CASCADE",
        ),
    )
    # How many tokens there are in all is read from the key alone.
    op.execute(
        "ALTER TABLE document_terms ADD CONSTRAINT pk_document_terms "
        "PRIMARY KEY (document_id) INCLUDE (length)"
    )
    op.create_index("ix_document_terms_terms", "document_terms", ["terms"], postgresql_using="gin")
    op.create_table(
        "source_hosts",
        sa.Column("source_id", NUMBER, nullable=False),
        sa.Column("host", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.id"], "fk_source_hosts_source_id_sources", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("source_id", name="pk_source_hosts"),
    )
    op.execute("CREATE SEQUENCE source_ids")
    op.create_table("state_mark", sa.Column("mark", sa.Uuid(), nullable=False))


def _create_full_text() -> None:
    # Tokens hold letters, digits and marks only, so the simplest tokenizer returns them unchanged.
    op.execute(
        "CREATE VIRTUAL TABLE documents_fts USING fts5("
        "tokens, content='document_tokens', content_rowid='document_id', tokenize='ascii')"
    )
    # Hold 16 MB of postings before writing a segment: fewer segments, fewer merges.
    op.execute("INSERT INTO documents_fts(documents_fts, rank) VALUES ('hashsize', 16777216)")
    op.execute(
        "CREATE TRIGGER document_tokens_deleted AFTER DELETE ON document_tokens BEGIN "
        "INSERT INTO documents_fts(documents_fts, rowid, tokens) "
        "VALUES ('delete', old.document_id, old.tokens); END"
    )


def _create_documents() -> None:
    op.create_table(
        "documents",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("external_id", TEXT, nullable=False),
        sa.Column("source_id", NUMBER, nullable=False),
        sa.Column("position", NUMBER, nullable=False),
        sa.Column("content_hash", sa.LargeBinary(), nullable=False),
        sa.Column("split", TEXT, nullable=False),
        sa.Column("date", TEXT, nullable=False),
        sa.Column("path", TEXT, nullable=False),
        sa.Column("media_type", TEXT, nullable=False),
        sa.Column("ingested_at", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["sources.id"], "fk_documents_source_id_sources", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_documents"),
        sa.UniqueConstraint("external_id", name="uq_documents_external_id"),
    )
    op.create_index("ix_documents_source_id_position", "documents", ["source_id", "position"])
    op.create_table(
        "labels",
        sa.Column("document_id", NUMBER, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("position", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], "fk_labels_document_id_documents", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document_id", "name", name="pk_labels"),
    )
    op.create_index("ix_labels_name", "labels", ["name"])
    op.create_table(
        "document_tokens",
        sa.Column("document_id", NUMBER, nullable=False),
        sa.Column("tokens", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["documents.id"],
            "fk_document_tokens_document_id_documents",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", name="pk_document_tokens"),
    )


def downgrade() -> None:
    """Remove everything."""
    if _in_a_file():
        op.execute("PRAGMA application_id = 0")
        op.execute("DROP TRIGGER document_tokens_deleted")
        op.execute("DROP TABLE documents_fts")
    else:
        op.execute("DROP FUNCTION IF EXISTS state_changes CASCADE")
        op.drop_table("state_mark")
        op.execute("DROP SEQUENCE source_ids")
        op.drop_table("source_hosts")
        op.drop_table("document_terms")
    for table in ("settings", "document_tokens", "labels", "documents", "sources"):
        op.drop_table(table)
