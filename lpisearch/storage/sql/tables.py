"""The tables of a library. Plain tables, not mapped classes: the mapper costs 0.1 s to load.

What one database has and the other has not is made by the migrations and kept by its own room:
`documents_fts` (FTS5 over `document_tokens`) with its trigger in SQLite; `document_terms`,
`source_hosts` and the files of indexes in PostgreSQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    text,
)
from sqlalchemy.exc import SQLAlchemyError

from lpisearch.storage.sql.columns import NUMBER, SHARE

if TYPE_CHECKING:
    from collections.abc import Callable

# What damage in a page or in a cell may lead to; each is as well what a defect of a program may.
UNREADABLE = (
    *(SQLAlchemyError, ArithmeticError, AttributeError, LookupError),
    *(MemoryError, RuntimeError, StopIteration, TypeError, ValueError),
)


class DamagedCell(ValueError):
    """A cell does not hold what its column holds."""


class _Text(String):
    """A string, and nothing else: SQLite keeps in a cell whatever a damaged page has there."""

    def result_processor(self, *_: object) -> Callable[[Any], str]:
        """Return what looks at each cell that is read."""
        return _text


class _Number(Integer):
    """A whole number, and nothing else."""

    def result_processor(self, *_: object) -> Callable[[Any], int]:
        """Return what looks at each cell that is read."""
        return _number


def _text(cell: Any) -> str:
    if type(cell) is str:
        return cell
    raise DamagedCell


def _number(cell: Any) -> int:
    if type(cell) is int:
        return cell
    raise DamagedCell


# PostgreSQL lets nothing into a column but what belongs there.
Text = String(collation="C").with_variant(_Text(), "sqlite")
Number = BigInteger().with_variant(_Number(), "sqlite")


def _checksum() -> Column[bytes]:
    """Return the column that `checksums` fills."""
    return Column("checksum", LargeBinary, nullable=False, server_default=text("x''"))


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
    Column("id", NUMBER, primary_key=True, autoincrement=False),
    Column("path", Text, unique=True, nullable=False),
    Column("root", Text, nullable=False),
    Column("format", Text, nullable=False),
    Column("size", Number, nullable=False),
    Column("mtime_ns", Number, nullable=False),
    Column("read_options", Text, nullable=False),
    Column("read_at", Text, nullable=False),
    _checksum(),
)

# Files that could not be read to their ends without a failure, with what failed, so that the next
# run neither reads them again nor says it all again. Not all of them are sources.
FAILURES = Table(
    "failures",
    METADATA,
    Column("path", Text, primary_key=True),
    Column("size", Number, nullable=False),
    Column("mtime_ns", Number, nullable=False),
    Column("read_options", Text, nullable=False),
    Column("number", Number, nullable=False),
    Column("troubles", JSON, nullable=False),
    _checksum(),
)

# `position` is the number of a document within its source, from 1; the negative of it once the
# record is gone from the file. The text comes last but for the checksum, which is seldom read, so
# that listing never pages through it.
DOCUMENTS = Table(
    "documents",
    METADATA,
    Column("id", NUMBER, primary_key=True, autoincrement=False),
    Column("external_id", Text, unique=True, nullable=False),
    Column("source_id", ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    Column("position", Number, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    Column("split", Text, nullable=False),
    Column("date", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("ingested_at", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("text", Text, nullable=False),
    _checksum(),
    Index(None, "source_id", "position"),
)

# The sections of each document that has any, as [[start, kind, name], …].
SECTIONS = Table(
    "document_sections",
    METADATA,
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("sections", JSON, nullable=False),
    _checksum(),
)

# The labels of each document; `position` keeps the order of the source.
LABELS = Table(
    "labels",
    METADATA,
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True, index=True),
    Column("position", Number, nullable=False),
    _checksum(),
)

# What people said of the labels of a document, so that it holds when the document is read again:
# that it has a label, or has it not. `labels` is the outcome.
LABEL_EDITS = Table(
    "label_edits",
    METADATA,
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("added", Boolean, nullable=False),
    _checksum(),
)

# What a classifier says of a document; it goes when the document changes.
PREDICTED_LABELS = Table(
    "predicted_labels",
    METADATA,
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True, index=True),
    Column("confidence", SHARE, nullable=False),
    Column("classifier", Text, nullable=False),
    Column("predicted_at", Text, nullable=False),
    _checksum(),
)

# The tokens of each document, joined by spaces: what FTS5 indexes and the matrix counts. In a
# table of its own, so that counting all tokens does not page through all texts.
TOKENS = Table(
    "document_tokens",
    METADATA,
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("tokens", Text, nullable=False),
    _checksum(),
)

# Stored settings, such as those of the tokeniser.
SETTINGS = Table(
    "settings",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", JSON, nullable=False),
    _checksum(),
)

# The subspace indexes; the arrays of each are in a folder beside the database.
INDEXES = Table(
    "indexes",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("method", Text, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("state", Text, nullable=False),
    _checksum(),
)
