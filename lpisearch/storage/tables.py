"""Tables, column types, migration history.

Objects of one database only are made by the migrations: in SQLite `documents_fts` (FTS5 over a view
of `document_tokens`) with its trigger; in PostgreSQL `document_terms`, `source_hosts` and
`index_files`. Alembic is imported only where a library is created or upgraded.
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
from lpisearch.storage.integrity import DamagedCell

if TYPE_CHECKING:
    from collections.abc import Callable

    from alembic.config import Config
    from sqlalchemy import Connection
    from sqlalchemy.types import TypeEngine


# Strings sort by code point, as in SQLite, whatever the locale of the server.
TEXT = String(collation="C").with_variant(String(), "sqlite")
NUMBER = BigInteger().with_variant(Integer(), "sqlite")
SHARE: TypeEngine[float] = Double().with_variant(Float(), "sqlite")


# Exceptions that damage in a page or a cell may cause; a bug may cause them as well.
UNREADABLE = (
    *(SQLAlchemyError, ArithmeticError, AttributeError, LookupError),
    *(MemoryError, RuntimeError, StopIteration, TypeError, ValueError),
)


class _Text(String):
    """A string column that refuses other values: a damaged page may contain anything."""

    def result_processor(self, *_: object) -> Callable[[Any], str]:
        """Return the check of each cell that is read."""
        return _text


class _Number(Integer):
    """An integer column that refuses other values."""

    def result_processor(self, *_: object) -> Callable[[Any], int]:
        """Return the check of each cell that is read."""
        return _number


def _text(cell: Any) -> str:
    if type(cell) is str:
        return cell
    raise DamagedCell


def _number(cell: Any) -> int:
    if type(cell) is int:
        return cell
    raise DamagedCell


# PostgreSQL checks the type of each value itself.
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
    """Return a table with a checksum column (see `integrity`)."""
    checksum = Column("checksum", LargeBinary, nullable=False, server_default=text("x''"))
    return Table(name, METADATA, *columns, checksum)


def _change_time() -> Column[Any]:
    """Return the column of the time of the last change of a file's state; 0 is unknown."""
    return Column("ctime_ns", Number, nullable=False, server_default=text("0"))


def _filled(kind: Any, *names: str) -> list[Column[Any]]:
    """Return columns that are never NULL."""
    return [Column(name, kind, nullable=False) for name in names]


def _of_document() -> Column[Any]:
    """Return the key of the document that a row belongs to and is deleted with."""
    return Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True)


# The files that documents came from. `size` and `mtime_ns` are those of the last run that read
# the file completely; they are -1 during a run, so that an interrupted file is read again.
SOURCES = _table(
    "sources",
    Column("id", NUMBER, primary_key=True, autoincrement=False),
    Column("path", Text, unique=True, nullable=False),
    *_filled(Text, "root", "format"),
    *_filled(Number, "size", "mtime_ns"),
    *_filled(Text, "read_options", "read_at"),
    _change_time(),
)

# Files that could not be read completely, with their problems, so that the next run neither reads
# nor reports them again. Not all of them are sources.
FAILURES = _table(
    "failures",
    Column("path", Text, primary_key=True),
    *_filled(Number, "size", "mtime_ns"),
    *_filled(Text, "read_options"),
    *_filled(Number, "number"),
    *_filled(JSON, "troubles"),
    _change_time(),
)

# `position` is the number of a document within its source, from 1; negated once the record is gone
# from the file. The text comes last but for the rarely read checksum, so that listings skip it.
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

# The language and the kind of each document, where they are known, and why it is of that kind.
TRAITS = _table(
    "document_traits",
    _of_document(),
    *(Column(name, Text, nullable=False, index=True) for name in ("language", "kind")),
    *_filled(Text, "reason"),
)

# The labels of each document; `position` keeps the order of the source.
LABELS = _table(
    "labels",
    _of_document(),
    Column("name", Text, primary_key=True, index=True),
    *_filled(Number, "position"),
)

# Manual edits of labels: that a document has a label, or lacks it. They are applied again when the
# document changes; `labels` is the outcome.
LABEL_EDITS = _table(
    "label_edits",
    _of_document(),
    Column("name", Text, primary_key=True),
    *_filled(Boolean, "added"),
)

# Labels predicted by a classifier; deleted when the document changes.
PREDICTED_LABELS = _table(
    "predicted_labels",
    _of_document(),
    Column("name", Text, primary_key=True, index=True),
    *_filled(SHARE, "confidence"),
    *_filled(Text, "classifier", "predicted_at"),
)

# The tokens of each document, joined by spaces, for FTS5 and for the index; in SQLite perhaps
# compressed. In a separate table, so that counting all tokens does not page through all texts.
TOKENS = _table("document_tokens", _of_document(), *_filled(TEXT, "tokens"))

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


def revision(connection: Connection) -> str | None:
    """Return the schema revision of a library; None for an empty or foreign database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


_SINCE = (
    *(("indexes", "0002"), ("document_sections", "0003"), ("label_edits", "0004")),
    *(("failures", "0005"), ("document_traits", "0007"), ("plain_document_tokens", "0009")),
)
_COLUMNS_SINCE = ((DOCUMENTS, "checksum", "0006"), (SOURCES, "ctime_ns", "0008"))


def contradiction(connection: Connection, stated: str) -> str:
    """Return why tables are not of the revision that is stated; "" unless they are of a later one.

    An upgrade from there would create what exists.
    """
    found = inspect(connection)
    later = {table for table, since in _SINCE if stated < since}
    if present := sorted(later.intersection([*found.get_table_names(), *found.get_view_names()])):
        return f"its schema version is {stated}, which has no table “{present[0]}”"
    for table, name, since in _COLUMNS_SINCE:
        if stated < since and any(one["name"] == name for one in found.get_columns(table.name)):
            return f"its schema version is {stated}, which has no column “{name}”"
    return ""


def differences(connection: Connection) -> list[str]:
    """Return how the tables of a library differ from `METADATA`."""
    from alembic import command
    from alembic.util.exc import AutogenerateDiffsDetected

    try:
        command.check(alembic_config(connection))
    except AutogenerateDiffsDetected as detected:
        return [str(difference) for difference in detected.diffs]
    return []


def alembic_config(connection: Connection) -> Config:
    """Return a configuration that runs the migrations over an open connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(shipped_folder("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.print_stdout = lambda *_words: None  # type: ignore[method-assign]
    return config
