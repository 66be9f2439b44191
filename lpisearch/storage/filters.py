"""Filters as SQL conditions; the lexical index of a store."""

from __future__ import annotations

import glob
import os
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import (
    ColumnElement,
    Connection,
    String,
    Table,
    and_,
    case,
    func,
    literal,
    or_,
    select,
)

from lpisearch.errors import BadOption
from lpisearch.model.document_filter import media_types
from lpisearch.model.documents import LANGUAGE_CODES, Filter
from lpisearch.storage.dialects import FileTime, HasMetadata, LiesAt, ListedIn
from lpisearch.storage.tables import DOCUMENTS, LABELS, PREDICTED_LABELS, SOURCES, TRAITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet


_DATE = re.compile(
    r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([T ][\d:.,]+(Z|[+-][\d:]+)?)?)?)?", re.ASCII
)
_FOUND_OUT = ("language", "kind")  # what is known besides the metadata of files
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


# When the file of a document was last changed, and the date of a document: as stated, else that.
FILE_TIME = (
    select(FileTime(SOURCES.c.mtime_ns))
    .where(SOURCES.c.id == DOCUMENTS.c.source_id, SOURCES.c.mtime_ns > 0)  # 0: of no file
    .correlate(DOCUMENTS)
    .scalar_subquery()
)
FILE_DATE = func.coalesce(FILE_TIME, "", type_=String)
DATED = case((DOCUMENTS.c.date != "", DOCUMENTS.c.date), else_=FILE_DATE)


class Prefix(str):
    """The beginning of a token, for all tokens that start with it."""

    __slots__ = ()


class Demands(Protocol):
    """Phrases that must and must not occur in a document."""

    @property
    def phrases(self) -> Sequence[Sequence[str]]:
        """Each must occur."""

    @property
    def excluded(self) -> Sequence[Sequence[str]]:
        """None may occur."""


def conditions(where: Filter) -> list[ColumnElement[bool]]:
    """Return a filter as SQL conditions on documents; raise BadOption for an invalid date.

    Dates are compared as written, whatever their time zone. A document dated by its year or month
    counts as of the first day.
    """
    clauses: list[ColumnElement[bool]] = []
    if where.labels or where.predicted:
        labelled = (LABELS, where.labels), (PREDICTED_LABELS, where.predicted)
        clauses.append(or_(*(_labelled(table, names) for table, names in labelled if names)))
    if where.path:
        clauses.append(_lies_at(where.path, where.here, exact=where.exact))
    if where.folders:
        clauses.append(or_(*(_lies_at(glob.escape(one), "", exact=False) for one in where.folders)))
    if where.formats:
        kinds = [kind for one in where.formats for kind in media_types(one)]
        clauses.append(DOCUMENTS.c.media_type.in_(kinds))
    if where.languages:
        clauses.append(or_(*(_has_metadata("language", one) for one in where.languages)))
    if where.senders:
        clauses.append(or_(*(_has_metadata("from", one) for one in where.senders)))
    if where.split:
        clauses.append(DOCUMENTS.c.split == where.split)
    if where.media_type:
        clauses.append(DOCUMENTS.c.media_type.in_(media_types(where.media_type)))
    if where.since or where.until or where.undated:
        clauses.append(_dated(where))
    clauses += [_has_metadata(key, value) for key, value in where.metadata]
    return clauses


def _dated(where: Filter) -> ColumnElement[bool]:
    clauses = [DATED != ""]
    if where.since:
        clauses.append(_full_date(DATED) >= _full_date(_date("since", where.since)))
    if where.until:
        # "~" sorts after anything that may follow in a date.
        clauses.append(_full_date(DATED) <= _date("until", where.until) + "~")
    if not where.undated:
        return and_(*clauses)
    return or_(DATED == "", and_(*clauses)) if len(clauses) > 1 else DATED == ""


def _has_metadata(key: str, value: str) -> ColumnElement[bool]:
    number = float(value) if _NUMBER.fullmatch(value) else None
    clause: ColumnElement[bool] = HasMetadata(DOCUMENTS.c.metadata, key, value, number)
    if key not in _FOUND_OUT:
        return clause
    name = LANGUAGE_CODES.get(value, value) if key == "language" else value
    known = select(TRAITS.c.document_id).where(TRAITS.c[key] == name)
    return or_(DOCUMENTS.c.id.in_(known), clause)


def among(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return a condition that takes any number of keys, as JSON in the parameter `ids`."""
    return ListedIn(column)


def _labelled(table: Table, names: Sequence[str]) -> ColumnElement[bool]:
    labelled = select(table.c.document_id).where(table.c.name.in_(names))
    return DOCUMENTS.c.id.in_(labelled)


def _lies_at(path: str, here: str, *, exact: bool) -> ColumnElement[bool]:
    """Return the condition that a pattern matches the id or path, also relative to a folder.

    Unless `exact`, a relative path without the signs of a glob matches below any folder.
    """
    clauses = [LiesAt(path, DOCUMENTS.c.external_id), LiesAt(path, DOCUMENTS.c.path)]
    name = path.rstrip("/")
    if name and not exact and not (name.startswith(("/", ".")) or glob.has_magic(name)):
        clauses += [
            LiesAt(f"*/{name}", column) for column in (DOCUMENTS.c.external_id, DOCUMENTS.c.path)
        ]
    if here:
        below = os.path.normpath(os.path.join(glob.escape(here), path))  # noqa: PTH118 (as typed)
        clauses.append(LiesAt(below, DOCUMENTS.c.path))
    return or_(*clauses)


def _date(option: str, value: str) -> ColumnElement[str]:
    if not _DATE.fullmatch(value):
        raise BadOption(option, f"“{value}” is not a date such as 2024, 2024-05 or 2024-05-31")
    return literal(value.replace(" ", "T"))


def _full_date(date: ColumnElement[str] | Any) -> ColumnElement[str]:
    """Return a date in full: of a year or month, its first day."""
    rest = func.substr("0000-01-01", func.length(date) + 1, type_=String)
    return func.replace(date, " ", "T", type_=String) + rest


@dataclass(frozen=True, slots=True)
class SQLLexical(ABC):
    """The database's own index over the tokens.

    A phrase occurs where its tokens are adjacent in a document. A token may be a `Prefix`.
    """

    connection: Connection

    @abstractmethod
    def candidates(self, alternatives: Sequence[Sequence[str]]) -> set[int]:
        """Return the documents that may contain a phrase whose tokens may each be one of several.

        Where each token is a single one, they are adjacent; else in any order. A long phrase may be
        matched by its beginning only.
        """

    @abstractmethod
    def some_with(self, token: str, limit: int) -> list[int]:
        """Return a few documents that contain a token."""

    @abstractmethod
    def bm25(
        self, tokens: Sequence[str], allowed: AbstractSet[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return (key, BM25) of each document that contains any of the tokens, in order of keys.

        Higher is better. A token that is passed twice counts twice. `allowed` restricts the
        documents and does not change their scores.
        """

    @abstractmethod
    def count_terms(self, least_documents: int) -> int:
        """Return how many terms occur in at least some number of documents of the whole library."""

    @abstractmethod
    def terms_between(self, *ranges: tuple[str, str]) -> list[tuple[str, int]]:
        """Return the terms in any of the half-open ranges, with their document frequencies."""

    @abstractmethod
    def _keys_with_any(self, phrases: Sequence[Sequence[str]]) -> Iterable[int]:
        """Return the documents that contain any of the phrases."""

    def allowed(self, where: Filter, demands: Demands | None = None) -> set[int] | None:
        """Return the keys that match a filter and meet the demands; None without restrictions."""
        phrases = [phrase for phrase in demands.phrases if phrase] if demands else []
        excluded = [phrase for phrase in demands.excluded if phrase] if demands else []
        if where == Filter() and not phrases and not excluded:
            return None
        statement = select(DOCUMENTS.c.id).where(*conditions(where))
        allowed: set[int] | None = None
        for phrase in phrases:
            matching = set(self._keys_with_any([phrase]))
            allowed = matching if allowed is None else allowed & matching
            if not allowed:
                return set()
        if allowed is None:
            allowed = set(self.connection.execute(statement).scalars())
        elif where != Filter():
            allowed.intersection_update(self.connection.execute(statement).scalars())
        return allowed.difference(self._keys_with_any(excluded))
