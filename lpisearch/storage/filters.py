"""Filters and phrases as SQL conditions; Prefix."""

from __future__ import annotations

import glob
import os
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import ColumnElement, String, func, literal, or_, select

from lpisearch.errors import BadOption
from lpisearch.model.documents import Filter
from lpisearch.storage.dialects import HasMetadata, LiesAt, ListedIn
from lpisearch.storage.tables import DOCUMENTS, LABELS, PREDICTED_LABELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from sqlalchemy import Connection, Table


_DATE = re.compile(
    r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([T ][\d:.,]+(Z|[+-][\d:]+)?)?)?)?", re.ASCII
)
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


class Prefix(str):
    """The beginning of a token, in place of a token: all that begin so are meant."""

    __slots__ = ()


class Demands(Protocol):
    """What must and must not occur in a document."""

    @property
    def phrases(self) -> Sequence[Sequence[str]]:
        """All of them must occur."""

    @property
    def excluded(self) -> Sequence[Sequence[str]]:
        """None of them may occur."""


def conditions(wanted: Filter) -> list[ColumnElement[bool]]:
    """Return a filter as SQL conditions on documents.

    Dates are compared as they are written, whatever their time zone. A document that is dated by
    its year or month alone counts as of the first day.
    """
    found: list[ColumnElement[bool]] = []
    if wanted.labels or wanted.predicted:
        given = (LABELS, wanted.labels), (PREDICTED_LABELS, wanted.predicted)
        found.append(or_(*(_labelled(table, names) for table, names in given if names)))
    if wanted.path:
        found.append(_lies_at(wanted.path, wanted.here))
    if wanted.split:
        found.append(DOCUMENTS.c.split == wanted.split)
    if wanted.media_type:
        found.append(DOCUMENTS.c.media_type == wanted.media_type)
    if wanted.since:
        found.append(_beginning(DOCUMENTS.c.date) >= _beginning(_date("since", wanted.since)))
    if wanted.until:
        # "~" comes after all that a date may go on with.
        found.append(_beginning(DOCUMENTS.c.date) <= _date("until", wanted.until) + "~")
    if wanted.since or wanted.until:
        found.append(DOCUMENTS.c.date != "")
    found += [_has(key, value) for key, value in wanted.metadata]
    return found


def among(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return a condition that takes any number of keys, as JSON in the parameter `ids`."""
    return ListedIn(column)


def _labelled(table: Table, names: Sequence[str]) -> ColumnElement[bool]:
    labelled = select(table.c.document_id).where(table.c.name.in_(names))
    return DOCUMENTS.c.id.in_(labelled)


def _lies_at(path: str, here: str) -> ColumnElement[bool]:
    """Return the condition that the id or the path is meant; the path as seen from a folder too."""
    found = [LiesAt(path, DOCUMENTS.c.external_id), LiesAt(path, DOCUMENTS.c.path)]
    if here:
        seen = os.path.normpath(os.path.join(glob.escape(here), path))  # noqa: PTH118 (as typed)
        found.append(LiesAt(seen, DOCUMENTS.c.path))
    return or_(*found)


def _date(option: str, value: str) -> ColumnElement[str]:
    if not _DATE.fullmatch(value):
        raise BadOption(option, f"“{value}” is not a date such as 2024, 2024-05 or 2024-05-31")
    return literal(value.replace(" ", "T"))


def _beginning(date: ColumnElement[str] | Any) -> ColumnElement[str]:
    """Return a date in full: the first day of a year or month."""
    rest = func.substr("0000-01-01", func.length(date) + 1, type_=String)
    return func.replace(date, " ", "T", type_=String) + rest


def _has(key: str, value: str) -> ColumnElement[bool]:
    """Return the condition that a metadata value, or a member of its list, reads as given."""
    number = float(value) if _NUMBER.fullmatch(value) else None
    return HasMetadata(DOCUMENTS.c.metadata, key, value, number)


@dataclass(frozen=True, slots=True)
class SQLLexical(ABC):
    """The store's own index over the tokens, which its room has, and filters.

    A phrase is found where its tokens stand one directly after the other among the tokens of a
    document. A token may be a `Prefix`.
    """

    connection: Connection

    @abstractmethod
    def candidates(self, alternatives: Sequence[Sequence[str]]) -> set[int]:
        """Return the documents that may have a phrase, each of whose tokens may be one of several.

        Where each is one, they stand one directly after the other; else in any order. A long
        phrase may be looked for by its beginning alone.
        """

    @abstractmethod
    def some_with(self, token: str, limit: int) -> list[int]:
        """Return a few documents that have a token."""

    @abstractmethod
    def bm25(
        self, tokens: Sequence[str], allowed: AbstractSet[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return (key, BM25) of each document that has any of the tokens, in the order of keys.

        The higher the better. A token that is given twice counts twice. With `allowed`, only
        these; the score of a document does not depend on it.
        """

    @abstractmethod
    def count_terms(self, least_documents: int) -> int:
        """Return how many terms occur in at least so many documents of the whole library."""

    @abstractmethod
    def terms_between(self, *ranges: tuple[str, str]) -> list[tuple[str, int]]:
        """Return the terms from one word on and before another, with the documents of each."""

    @abstractmethod
    def _keys_with_any(self, phrases: Sequence[Sequence[str]]) -> Iterable[int]:
        """Return the documents that have any of the phrases."""

    def allowed(self, where: Filter, demands: Demands | None = None) -> set[int] | None:
        """Return the keys that pass a filter and meet the demands; None if nothing is asked."""
        phrases = [phrase for phrase in demands.phrases if phrase] if demands else []
        excluded = [phrase for phrase in demands.excluded if phrase] if demands else []
        if where == Filter() and not phrases and not excluded:
            return None
        statement = select(DOCUMENTS.c.id).where(*conditions(where))
        allowed: set[int] | None = None
        for phrase in phrases:
            found = set(self._keys_with_any([phrase]))
            allowed = found if allowed is None else allowed & found
            if not allowed:
                return set()
        if allowed is None:
            allowed = set(self.connection.execute(statement).scalars())
        elif where != Filter():
            allowed.intersection_update(self.connection.execute(statement).scalars())
        return allowed.difference(self._keys_with_any(excluded))
