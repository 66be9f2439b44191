"""A filter of documents as conditions in SQL."""

from __future__ import annotations

import glob
import os
import re
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import ColumnElement, String, func, literal, or_, select

from lpisearch.errors import BadOption
from lpisearch.storage.sql.dialects import HasMetadata, LiesAt, ListedIn
from lpisearch.storage.sql.tables import DOCUMENTS, LABELS, PREDICTED_LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Table

    from lpisearch.records import Filter

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

    Raises
    ------
    BadOption
        `since` or `until` is no date.
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
