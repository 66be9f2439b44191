"""Questions to a library by its path, for tests that ask one or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.search.searcher import DEFAULTS, Searcher
from lpisearch.storage.sqlite.schema import open_library

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from lpisearch.records import Answer, Document, Run
    from lpisearch.settings import SearchOptions


def run_search(library: Path, text: str, options: SearchOptions = DEFAULTS) -> Answer:
    """Answer one query."""
    with open_library(library) as database:
        return Searcher(library, database).search(text, options)


def run_feedback(
    library: Path,
    text: str,
    like: Sequence[str],
    unlike: Sequence[str],
    options: SearchOptions = DEFAULTS,
) -> Answer:
    """Answer a query moved by documents."""
    with open_library(library) as database:
        return Searcher(library, database).search(text, options, like=like, unlike=unlike)


def run_similar(
    library: Path, document: str | Document, options: SearchOptions = DEFAULTS
) -> Answer:
    """Find what is like a document."""
    with open_library(library) as database:
        return Searcher(library, database).similar(document, options)


def run_batch(
    library: Path, queries: Iterable[tuple[str, str]], options: SearchOptions = DEFAULTS
) -> Iterator[Run]:
    """Answer many queries."""
    with open_library(library) as database:
        yield from Searcher(library, database).batch(queries, options)
