"""Retrievers for LangChain, LlamaIndex and Haystack, each in a module of its own."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from lpisearch.errors import DocumentNotFound
from lpisearch.library import Library, open_library
from lpisearch.model.excerpts import excerpt
from lpisearch.remote.client import RemoteLibrary

if TYPE_CHECKING:
    from collections.abc import Mapping

AnyLibrary: TypeAlias = Library | RemoteLibrary
Place: TypeAlias = str | Path | Library | RemoteLibrary
CHARACTERS = 1500
_SERVER = ("http://", "https://")


class Retrieved(NamedTuple):
    """A document that was found: the text around its best passage, and where that is."""

    id: str
    content: str
    score: float
    metadata: dict[str, Any]


def library_at(place: Place) -> AnyLibrary:
    """Return a library: as it is, at a path, or at the address of a server (http://…)."""
    if isinstance(place, Library | RemoteLibrary):
        return place
    name = os.fspath(place)
    if name.startswith(_SERVER):
        return RemoteLibrary(name, os.environ.get("LPISEARCH_TOKEN", ""))
    return open_library(name)


def address_of(library: AnyLibrary) -> str:
    """Return the path or address from which `library_at` opens a library again."""
    return library.url if isinstance(library, RemoteLibrary) else str(library.path)


def retrieved(
    library: AnyLibrary,
    query: str,
    *,
    k: int,
    characters: int,
    fields: Mapping[str, Any] | None = None,
) -> list[Retrieved]:
    """Search, and return at most `characters` of each document, up to the end of a sentence.

    A short document is whole; of a longer one the text begins shortly before its best passage.
    """
    found = []
    for hit in library.search(query, **{**(fields or {}), "k": k}):
        with suppress(DocumentNotFound):  # deleted meanwhile
            document = library.document(hit.id)
            text = document.text
            before = text.rfind("\n", 0, max(hit.snippet.start - characters // 4, 0)) + 1
            start = before if len(text) > characters else 0
            part = excerpt(document, start=start, length=characters)
            metadata = {
                "title": hit.title,
                "path": hit.path,
                "labels": list(hit.labels),
                "date": hit.date,
                "page": hit.snippet.page or part.page,
                "section": part.section,
                "start": part.start,
                "end": part.end,
            }
            found.append(Retrieved(hit.id, part.text, hit.score, metadata))
    return found
