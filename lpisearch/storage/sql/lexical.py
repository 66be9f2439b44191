"""Combine SQL filters with phrase matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from lpisearch.records import Filter
from lpisearch.storage.sql.filters import conditions
from lpisearch.storage.sql.tables import DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from lpisearch.storage.contract import Demands


@dataclass(frozen=True, slots=True)
class SQLLexical(ABC):
    """Filters and demands; its room has the index over the tokens."""

    connection: Connection

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
