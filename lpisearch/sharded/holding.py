"""Documents, labels, names and status across shards."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from lpisearch.errors import (
    BadOption,
    DocumentNotFound,
    LpiSearchError,
    NotOnShards,
    SeveralDocuments,
)
from lpisearch.messages import call
from lpisearch.search.facets import added
from lpisearch.settings import ENTRY_SORTS
from lpisearch.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from lpisearch.records import Document, Entry, Filter, Finding, PredictedLabel
    from lpisearch.sharded.ends import End
    from lpisearch.sharded.panel import Panel

_COUNTED = ("labels", "predicted", "splits")
_ADDED = ("documents", "sources", "size_bytes")
# What a listing is sorted by, as a store has it; what has none comes last.
_KEYS: dict[str, Callable[[Entry], Any]] = {
    "oldest": lambda entry: (entry.date == "", entry.date),
    "title": lambda entry: (entry.title == "", _lower(entry.title)),
    "path": lambda entry: entry.path,
    "id": lambda entry: entry.id,
}


class Holding:
    """What is there; the methods are those of `Library`."""

    _panel: Panel
    _folder: Path

    def __iter__(self) -> Iterator[Document]:
        """Go through all documents in the order of ingest."""
        return chain.from_iterable(iter(end.library) for end in self._panel.ends)

    def _listing(
        self, wanted: Filter, limit: int, offset: int, sort: str
    ) -> tuple[list[Entry], int]:
        if sort not in ENTRY_SORTS:
            hint = nearest(sort, ENTRY_SORTS)
            raise BadOption("sort", f"unknown sort order “{sort}”{hint}", ENTRY_SORTS)
        most = -1 if limit < 0 else offset + limit
        found = self._panel.each(
            lambda _at, end: end.library.listing(wanted, limit=most, sort=sort)
        ).values()
        entries = list(chain.from_iterable(some for some, _ in found))
        if sort == "date":
            entries.sort(key=lambda entry: entry.date, reverse=True)
        elif sort in _KEYS:
            entries.sort(key=_KEYS[sort])
        shown = entries[offset:] if limit < 0 else entries[offset : offset + limit]
        return shown, sum(total for _, total in found)

    def away(self) -> tuple[str, ...]:
        """Return the shards that do not answer: what is listed and counted is without theirs."""
        return self._panel.missing(self._panel.here())

    def names(self, kind: str, beginning: str = "", most: int = 100) -> list[str]:
        """Return names that begin so: of "label", "index" or "document"."""
        found = self._panel.each(lambda _at, end: end.library.names(kind, beginning, most))
        every = list(dict.fromkeys(chain.from_iterable(found.values())))
        return (every if kind == "document" else sorted(every))[:most]

    def document(self, name: str) -> Document:
        """Return one document by its id or path."""
        end, identity = self._owner(name)
        return end.library.document(identity)

    def predicted(self, name: str) -> tuple[PredictedLabel, ...]:
        """Return the labels that were predicted for a document, most probable first."""
        end, identity = self._owner(name)
        return end.library.predicted(identity)

    def is_source(self, path: str) -> bool:
        """Tell whether a file is one that was brought in."""
        local = (end.library for end in self._panel.ends if not end.is_remote)
        return any(library.is_source(path) for library in local)

    def writer(self) -> str:
        """Return who is writing: nobody writes to shards."""
        return ""

    def status(self) -> dict[str, Any]:
        """Return counts of documents and labels, the size on disk, and the state of each shard."""
        found = self._panel.each(lambda _at, end: end.library.status())
        one = next(iter(found.values()))
        said = {name: one[name] for name in ("language", "schema")}
        said |= {name: sum(each[name] for each in found.values()) for name in _ADDED}
        said |= {name: added(each[name] for each in found.values()) for name in _COUNTED}
        said["unfinished"] = sorted(
            {path for each in found.values() for path in each["unfinished"]}
        )
        shards = [
            {
                "name": end.name,
                "documents": found[at]["documents"] if at in found else None,
                "state": "ready" if at in found else "away",
            }
            for at, end in enumerate(self._panel.ends)
        ]
        indexes = [each["indexes"] for each in found.values()]
        together = [_index([by[at] for by in indexes]) for at in range(min(map(len, indexes)))]
        return {"library": str(self._folder)} | said | {"indexes": together, "shards": shards}

    def examine(
        self, *, repair: bool = False, on_stage: Callable[[str], None] = lambda _name: None
    ) -> list[Finding]:
        """Look for damage in every shard."""
        if repair:
            raise NotOnShards("be repaired as a whole", call("open", "DIR/shard-0000.db"))
        findings = []
        for end in self._panel.ends:
            on_stage(end.name)
            findings += [
                replace(each, check=f"{end.name}: {each.check}") for each in end.library.examine()
            ]
        return findings

    def _owner(self, name: str) -> tuple[End, str]:
        """Return the shard that has a document, and the id of that."""
        owner, said = self._named(name)
        return self._panel.ends[owner], str(said["id"])

    def _named(self, name: str) -> tuple[int, dict[str, Any]]:
        """Find the document of a name: the number of its shard, and what that says of it.

        Raises
        ------
        DocumentNotFound, SeveralDocuments
        """

        def ask(_at: int, end: End) -> dict[str, Any] | LpiSearchError:
            try:
                return end.ask("tokens", name=name)
            except (DocumentNotFound, SeveralDocuments) as error:
                return error

        found = self._panel.each(ask)
        there = {at: said for at, said in found.items() if isinstance(said, dict)}
        there = {at: said for at, said in there.items() if said["id"] == name} or there
        several = [said for said in found.values() if isinstance(said, SeveralDocuments)]
        if len(there) == 1 and not several:
            return next(iter(there.items()))
        if several or there:
            raise several[0] if several else SeveralDocuments(name, len(there))
        raise self._not_found(name, found)

    def _not_found(self, name: str, answered: Mapping[int, object]) -> DocumentNotFound:
        """Return the error of a name that no shard knows; it says which did not answer."""
        error = DocumentNotFound(name)
        if away := self._panel.missing(answered):
            error.next_step = f"wait for {', '.join(away)}, which may contain it"
        return error


def _index(of_shards: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what is to be said of the parts of one index together."""
    first = of_shards[0]
    worst = next((each for each in of_shards if each["state"] != "ready"), first)
    counts = {
        name: sum(each.get(name) or 0 for each in of_shards)
        for name in ("documents", "passages")
        if first.get(name) is not None
    }
    return first | {name: worst[name] for name in ("state", "rebuild", "note")} | counts


def _lower(title: str) -> str:
    """Write letters small as SQLite does: those of ASCII alone."""
    return "".join(sign.lower() if sign.isascii() else sign for sign in title)
