"""Search page state, stored entirely in the URL."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from lpisearch.records import Filter
from lpisearch.settings import RELEVANCE, SORTS, SearchOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.datastructures import QueryParams

WAYS = ("hybrid", "semantic", "lexical")
HITS = 10
LAST_PAGE = 500
_MOST = 100  # values of one choice
_LONGEST = 10_000  # characters of a question


@dataclass(frozen=True, slots=True)
class Choices:
    """A question, and which documents may answer it.

    Attributes
    ----------
    q
        As it was typed.
    by, sort
        How to answer.
    label, predicted
        Any of these.
    split, folder, format, since, until
        All that are given.
    like, unlike
        Ids of documents that the question moves towards, or away from.
    page
        From 1.
    """

    q: str = ""
    by: str = WAYS[0]
    sort: str = RELEVANCE
    label: tuple[str, ...] = ()
    predicted: tuple[str, ...] = ()
    split: str = ""
    folder: str = ""
    format: str = ""
    since: str = ""
    until: str = ""
    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    page: int = 1

    @classmethod
    def of(cls, asked: QueryParams) -> Choices:
        """Read an address; what cannot be meant is as if it were not there."""
        values: dict[str, Any] = {}
        for each in fields(cls):
            given = [value.replace("\0", "") for value in asked.getlist(each.name)]
            given = [value[:_LONGEST] for value in given if value.strip()][:_MOST]
            if not given:
                continue
            if isinstance(each.default, tuple):
                values[each.name] = tuple(dict.fromkeys(given))
            elif each.name == "page":
                number = given[-1]
                digits = number.isascii() and number.isdigit() and len(number) < len("1000000")
                values["page"] = min(max(int(number), 1), LAST_PAGE) if digits else 1
            else:
                values[each.name] = given[-1]
        if values.get("by") not in WAYS:
            values.pop("by", None)
        if values.get("sort") not in SORTS:
            values.pop("sort", None)
        return cls(**values)

    @property
    def asks(self) -> bool:
        """Whether there is a question, in words or by documents."""
        return bool(self.q.strip() or self.like)

    @property
    def narrows(self) -> bool:
        """Whether not all documents may answer."""
        return self.where != Filter()

    @property
    def where(self) -> Filter:
        """Which documents may answer."""
        return Filter(
            labels=self.label,
            predicted=self.predicted,
            path=self.folder,
            split=self.split,
            since=self.since,
            until=self.until,
            media_type=self.format,
        )

    @property
    def options(self) -> SearchOptions:
        """How the library is asked."""
        offset = (self.page - 1) * HITS
        return SearchOptions(
            by=self.by, k=HITS, offset=offset, where=self.where, sort=self.sort, facets=True
        )

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield what differs from nothing asked at all, as the address has it."""
        for each in fields(self):
            value = getattr(self, each.name)
            if value == each.default:
                continue
            for one in value if isinstance(value, tuple) else (value,):
                yield each.name, str(one)

    def address(self, path: str = "/", /, **changes: Any) -> str:
        """Return the address of this, or of this with changes, which begin at the first page."""
        changed = replace(self, **{"page": 1} | changes) if changes else self
        query = urlencode(list(changed.pairs()))
        return f"{path}?{query}" if query else path

    def without(self, name: str, value: str) -> str:
        """Return the address without one of the chosen values."""
        had = getattr(self, name)
        left = tuple(one for one in had if one != value) if isinstance(had, tuple) else ""
        return self.address(**{name: left})

    def chosen(self) -> Iterator[tuple[str, str, str]]:
        """Yield (what is chosen, its value, the address without it)."""
        for name in ("label", "predicted", "split", "folder", "format", "since", "until"):
            value = getattr(self, name)
            for one in value if isinstance(value, tuple) else (value,) * bool(value):
                yield name, one, self.without(name, one)

    def to_document(self, document: str) -> str:
        """Return the address of a document's page, where the words of the question are marked."""
        asked = {"id": document} | ({"q": self.q} if self.q.strip() else {})
        return f"/document?{urlencode(asked)}"

    def more_like(self, document: str) -> str:
        """Return the address of the question moved towards a document."""
        return self.address(like=(*self.like, document), unlike=_less(self.unlike, document))

    def less_like(self, document: str) -> str:
        """Return the address of the question moved away from a document."""
        return self.address(unlike=(*self.unlike, document), like=_less(self.like, document))

    def why(self, document: str) -> str:
        """Return the address that says why a document was found."""
        return f"{self.address('/why')}{'&' if any(self.pairs()) else '?'}" + urlencode(
            {"id": document}
        )


def _less(names: tuple[str, ...], document: str) -> tuple[str, ...]:
    return tuple(name for name in names if name != document)
