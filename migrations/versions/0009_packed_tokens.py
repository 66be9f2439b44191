"""Tokens that are compressed in SQLite, and a view of them as they were, for FTS5."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_VIEW = (
    "CREATE VIEW plain_document_tokens AS "
    "SELECT document_id, plain_tokens(tokens) AS tokens FROM document_tokens"
)


def upgrade() -> None:
    """Let FTS5 read the view; tokens that are there stay as they are until they are written."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute(_VIEW)
        _index("plain_document_tokens", "plain_tokens(old.tokens)")


def downgrade() -> None:
    """Store all tokens as they are."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute("UPDATE document_tokens SET tokens = plain_tokens(tokens)")
        _index("document_tokens", "old.tokens")
        op.execute("DROP VIEW plain_document_tokens")


def _index(content: str, tokens: str) -> None:
    op.execute("DROP TRIGGER document_tokens_deleted")
    op.execute("DROP TABLE documents_fts")
    op.execute(
        "CREATE VIRTUAL TABLE documents_fts USING fts5("
        f"tokens, content='{content}', content_rowid='document_id', tokenize='ascii')"
    )
    op.execute("INSERT INTO documents_fts(documents_fts, rank) VALUES ('hashsize', 16777216)")
    op.execute("INSERT INTO documents_fts(documents_fts) VALUES ('rebuild')")
    op.execute(
        "CREATE TRIGGER document_tokens_deleted AFTER DELETE ON document_tokens BEGIN "  # noqa: S608 (constants)
        "INSERT INTO documents_fts(documents_fts, rowid, tokens) "
        f"VALUES ('delete', old.document_id, {tokens}); END"
    )
