"""The tables of a library, as SQLAlchemy models.

`documents_fts` (FTS5 over `document_tokens`) and its trigger are not modelled: the migrations
create them, and `fulltext` keeps them in step.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import JSON, ForeignKey, Index, MetaData
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """All tables of a library."""

    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map: ClassVar[dict[Any, Any]] = {dict[str, Any]: JSON}


class SourceRow(Base):
    """One file that documents came from.

    `size` and `mtime_ns` are those of the last run that read the file to its end without a
    failure; they are -1 while a run is under way, so that an interrupted file is read again.
    """

    __tablename__ = "sources"

    id: Mapped[int] = mapped_column(primary_key=True)
    path: Mapped[str] = mapped_column(unique=True)
    root: Mapped[str]
    format: Mapped[str]
    size: Mapped[int]
    mtime_ns: Mapped[int]
    read_options: Mapped[str]
    read_at: Mapped[str]


class DocumentRow(Base):
    """One document. The text is the last column, so that listing never pages through it.

    `position` is its number within the source, from 1; the negative of it once the record is
    gone from the file.
    """

    __tablename__ = "documents"
    __table_args__ = (Index(None, "source_id", "position"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    external_id: Mapped[str] = mapped_column(unique=True)
    source_id: Mapped[int] = mapped_column(ForeignKey("sources.id", ondelete="CASCADE"))
    position: Mapped[int]
    content_hash: Mapped[bytes]
    split: Mapped[str]
    date: Mapped[str]
    path: Mapped[str]
    media_type: Mapped[str]
    ingested_at: Mapped[str]
    title: Mapped[str]
    # Not "metadata": SQLAlchemy keeps that name for itself.
    fields: Mapped[dict[str, Any]] = mapped_column("metadata")
    text: Mapped[str]


class LabelRow(Base):
    """One label of one document; `position` keeps the order of the source."""

    __tablename__ = "labels"

    document_id: Mapped[int] = mapped_column(
        ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True
    )
    name: Mapped[str] = mapped_column(primary_key=True, index=True)
    position: Mapped[int]


class TokensRow(Base):
    """The tokens of one document, joined by spaces: what FTS5 indexes and the matrix counts.

    In a table of its own, so that counting all tokens does not page through all texts.
    """

    __tablename__ = "document_tokens"

    document_id: Mapped[int] = mapped_column(
        ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True
    )
    tokens: Mapped[str]


class SettingRow(Base):
    """One stored setting, such as those of the tokeniser."""

    __tablename__ = "settings"

    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[dict[str, Any]]


class IndexRow(Base):
    """One subspace index; its arrays are in a folder beside the database."""

    __tablename__ = "indexes"

    name: Mapped[str] = mapped_column(primary_key=True)
    method: Mapped[str]
    parameters: Mapped[dict[str, Any]]
    fingerprint: Mapped[str]
    folder: Mapped[str]
    created_at: Mapped[str]
    state: Mapped[str]
