"""Tables, column types, migration history.

What one database has and the other has not is made by the migrations and kept by its own room:
`documents_fts` (FTS5 over `document_tokens`) with its trigger in SQLite; `document_terms`,
`source_hosts` and the files of indexes in PostgreSQL.

Alembic is imported only where a library has to be made or changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    inspect,
    text,
)
from sqlalchemy.exc import SQLAlchemyError

from lpisearch.location import shipped_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from alembic.config import Config
    from sqlalchemy import Connection
    from sqlalchemy.types import TypeEngine


# PostgreSQL orders strings as SQLite does, whatever language its server speaks.
TEXT = String(collation="C").with_variant(String(), "sqlite")
NUMBER = BigInteger().with_variant(Integer(), "sqlite")
SHARE: TypeEngine[float] = Double().with_variant(Float(), "sqlite")


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

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _table(name: str, *columns: Column[Any]) -> Table:
    """Return a table; the last column is what `checksums` fills."""
    checksum = Column("checksum", LargeBinary, nullable=False, server_default=text("x''"))
    return Table(name, METADATA, *columns, checksum)


def _filled(kind: Any, *names: str) -> list[Column[Any]]:
    """Return columns that are never NULL."""
    return [Column(name, kind, nullable=False) for name in names]


def _of_document() -> Column[Any]:
    """Return the key of the document that a row belongs to, and goes with."""
    return Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True)


# The files that documents came from. `size` and `mtime_ns` are those of the last run that read
# the file to its end without a failure; they are -1 while a run is under way, so that an
# interrupted file is read again.
SOURCES = _table(
    "sources",
    Column("id", NUMBER, primary_key=True, autoincrement=False),
    Column("path", Text, unique=True, nullable=False),
    *_filled(Text, "root", "format"),
    *_filled(Number, "size", "mtime_ns"),
    *_filled(Text, "read_options", "read_at"),
)

# Files that could not be read to their ends without a failure, with what failed, so that the next
# run neither reads them again nor says it all again. Not all of them are sources.
FAILURES = _table(
    "failures",
    Column("path", Text, primary_key=True),
    *_filled(Number, "size", "mtime_ns"),
    *_filled(Text, "read_options"),
    *_filled(Number, "number"),
    *_filled(JSON, "troubles"),
)

# `position` is the number of a document within its source, from 1; the negative of it once the
# record is gone from the file. The text comes last but for the checksum, which is seldom read, so
# that listing never pages through it.
DOCUMENTS = _table(
    "documents",
    Column("id", NUMBER, primary_key=True, autoincrement=False),
    Column("external_id", Text, unique=True, nullable=False),
    Column("source_id", ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    *_filled(Number, "position"),
    *_filled(LargeBinary, "content_hash"),
    *_filled(Text, "split", "date", "path", "media_type", "ingested_at", "title"),
    *_filled(JSON, "metadata"),
    *_filled(Text, "text"),
)
Index(None, DOCUMENTS.c.source_id, DOCUMENTS.c.position)

# The sections of each document that has any, as [[start, kind, name], …].
SECTIONS = _table("document_sections", _of_document(), *_filled(JSON, "sections"))

# The labels of each document; `position` keeps the order of the source.
LABELS = _table(
    "labels",
    _of_document(),
    Column("name", Text, primary_key=True, index=True),
    *_filled(Number, "position"),
)

# What people said of the labels of a document, so that it holds when the document is read again:
# that it has a label, or has it not. `labels` is the outcome.
LABEL_EDITS = _table(
    "label_edits",
    _of_document(),
    Column("name", Text, primary_key=True),
    *_filled(Boolean, "added"),
)

# What a classifier says of a document; it goes when the document changes.
PREDICTED_LABELS = _table(
    "predicted_labels",
    _of_document(),
    Column("name", Text, primary_key=True, index=True),
    *_filled(SHARE, "confidence"),
    *_filled(Text, "classifier", "predicted_at"),
)

# The tokens of each document, joined by spaces: what FTS5 indexes and the matrix counts. In a
# table of its own, so that counting all tokens does not page through all texts.
TOKENS = _table("document_tokens", _of_document(), *_filled(Text, "tokens"))

# Stored settings, such as those of the tokeniser.
SETTINGS = _table("settings", Column("name", Text, primary_key=True), *_filled(JSON, "value"))

# The subspace indexes; the arrays of each are in a folder beside the database.
INDEXES = _table(
    "indexes",
    Column("name", Text, primary_key=True),
    *_filled(Text, "method"),
    *_filled(JSON, "parameters"),
    *_filled(Text, "fingerprint", "folder", "created_at", "state"),
)


HEAD = "0006"
OWN_TABLES = frozenset({"documents", "document_tokens", "labels"})


def revision(connection: Connection) -> str | None:
    """Return the schema revision of a library, or None for an empty or foreign database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def differences(connection: Connection) -> list[str]:
    """Return how the tables of a library differ from `tables`; nothing, where all is well."""
    from alembic import command
    from alembic.util.exc import AutogenerateDiffsDetected

    try:
        command.check(alembic_config(connection))
    except AutogenerateDiffsDetected as found:
        return [str(difference) for difference in found.diffs]
    return []


def alembic_config(connection: Connection) -> Config:
    """Return a configuration that runs our migrations over an open connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(shipped_folder("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.print_stdout = lambda *_words: None  # type: ignore[method-assign]
    return config
