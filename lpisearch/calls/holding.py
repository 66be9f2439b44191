"""Listing methods and the context manager that every library shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from lpisearch.records import Entry, Filter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.records import Document


class Contents(ABC):
    """Documents, which are counted, listed and gone through."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Release what is open."""

    def __len__(self) -> int:
        return self.listing(limit=0)[1]

    def __bool__(self) -> bool:
        return True  # an empty library is a library

    @abstractmethod
    def __iter__(self) -> Iterator[Document]:
        """Go through all documents in the order of ingest."""

    def entries(
        self, wanted: Filter | None = None, *, path: str = "", sort: str = "added"
    ) -> list[Entry]:
        """List documents without their texts.

        Parameters
        ----------
        wanted
            Only those that pass it.
        path
            Only those with this path or id, below this folder, or with one that this glob means.

        Examples
        --------
        >>> [entry.id for entry in library.entries()]
        ['first.txt', 'second.txt']
        """
        chosen = wanted or Filter()
        return self.listing(replace(chosen, path=path or chosen.path), sort=sort)[0]

    def listing(
        self,
        wanted: Filter | None = None,
        *,
        limit: int = -1,
        offset: int = 0,
        sort: str = "added",
    ) -> tuple[list[Entry], int]:
        """Return a page of the listing, and how many documents there are in all."""
        return self._listing(wanted or Filter(), limit, offset, sort)

    @abstractmethod
    def _listing(
        self, wanted: Filter, limit: int, offset: int, sort: str
    ) -> tuple[list[Entry], int]:
        """List so many documents from the one at the offset."""
