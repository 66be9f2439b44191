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
    from collections.abc import Set as AbstractSet

    from sqlalchemy import Connection

    from lpisearch.storage.sql.filters import Demands


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
