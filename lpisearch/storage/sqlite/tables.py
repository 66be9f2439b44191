"""The tables of a library. Plain tables, not mapped classes: the mapper costs 0.1 s to load.

`documents_fts` (FTS5 over `document_tokens`) and its trigger do not stand here: the migrations
create them, and `fulltext` keeps them in step.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# The files that documents came from. `size` and `mtime_ns` are those of the last run that read
# the file to its end without a failure; they are -1 while a run is under way, so that an
# interrupted file is read again.
SOURCES = Table(
    "sources",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("path", String, unique=True, nullable=False),
    Column("root", String, nullable=False),
    Column("format", String, nullable=False),
    Column("size", Integer, nullable=False),
    Column("mtime_ns", Integer, nullable=False),
    Column("read_options", String, nullable=False),
    Column("read_at", String, nullable=False),
)

# Files that could not be read to their ends without a failure, with what failed, so that the next
# run neither reads them again nor says it all again. Not all of them are sources.
FAILURES = Table(
    "failures",
    METADATA,
    Column("path", String, primary_key=True),
    Column("size", Integer, nullable=False),
    Column("mtime_ns", Integer, nullable=False),
    Column("read_options", String, nullable=False),
    Column("number", Integer, nullable=False),
    Column("troubles", JSON, nullable=False),
)

# `position` is the number of a document within its source, from 1; the negative of it once the
# record is gone from the file. The text is the last column, so that listing never pages through it.
DOCUMENTS = Table(
    "documents",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("external_id", String, unique=True, nullable=False),
    Column("source_id", ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    Column("split", String, nullable=False),
    Column("date", String, nullable=False),
    Column("path", String, nullable=False),
    Column("media_type", String, nullable=False),
    Column("ingested_at", String, nullable=False),
    Column("title", String, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("text", String, nullable=False),
    Index(None, "source_id", "position"),
)

# The sections of each document that has any, as [[start, kind, name], …].
SECTIONS = Table(
    "document_sections",
    METADATA,
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("sections", JSON, nullable=False),
)

# The labels of each document; `position` keeps the order of the source.
LABELS = Table(
    "labels",
    METADATA,
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True, index=True),
    Column("position", Integer, nullable=False),
)

# What people said of the labels of a document, so that it holds when the document is read again:
# that it has a label, or has it not. `labels` is the outcome.
LABEL_EDITS = Table(
    "label_edits",
    METADATA,
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    Column("added", Boolean, nullable=False),
)

# What a classifier says of a document; it goes when the document changes.
PREDICTED_LABELS = Table(
    "predicted_labels",
    METADATA,
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True, index=True),
    Column("confidence", Float, nullable=False),
    Column("classifier", String, nullable=False),
    Column("predicted_at", String, nullable=False),
)

# The tokens of each document, joined by spaces: what FTS5 indexes and the matrix counts. In a
# table of its own, so that counting all tokens does not page through all texts.
TOKENS = Table(
    "document_tokens",
    METADATA,
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("tokens", String, nullable=False),
)

# Stored settings, such as those of the tokeniser.
SETTINGS = Table(
    "settings",
    METADATA,
    Column("name", String, primary_key=True),
    Column("value", JSON, nullable=False),
)

# The subspace indexes; the arrays of each are in a folder beside the database.
INDEXES = Table(
    "indexes",
    METADATA,
    Column("name", String, primary_key=True),
    Column("method", String, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("folder", String, nullable=False),
    Column("created_at", String, nullable=False),
    Column("state", String, nullable=False),
)
