"""Every store, empty and filled, for the checks that each of them must pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.ingest.batches import BatchWriter, Incoming
from lpisearch.records import Document, Source
from lpisearch.storage import create_store
from lpisearch.terms.documents import document_tokens
from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokeniser import Tokeniser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from lpisearch.storage import Store

# The name of a store, and where a new library of it is to be.
STORES: dict[str, Callable[[Path], Path]] = {"sqlite": lambda folder: folder / "library.db"}


@pytest.fixture(params=STORES)
def new_place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], Path]:
    """Return a maker of places, at each of which a new library can be made."""
    return lambda: STORES[request.param](tmp_path_factory.mktemp("store"))


@pytest.fixture
def place(new_place: Callable[[], Path]) -> Path:
    """Return where the library of a test is."""
    return new_place()


@pytest.fixture
def store(place: Path) -> Iterator[Store]:
    """Open an empty library with two sources, to be written."""
    with create_store(place) as store:
        _add_sources(store)
        yield store


@pytest.fixture
def fill() -> Callable[[Store, Iterable[Mapping[str, Any]]], None]:
    """Return a writer of records with ids into a store, all from its first source."""
    tokeniser = Tokeniser(TokeniserSettings.for_language("english"))

    def run(store: Store, records: Iterable[Mapping[str, Any]]) -> None:
        documents = [Document(**{"title": "", **record}) for record in records]
        batch = [
            Incoming(1, at, (str(one.id),), stated=True, path="/notes/all.jsonl", document=one)
            for at, one in enumerate(documents, start=1)
        ]
        writer = BatchWriter(lambda one: document_tokens(tokeniser, one), lambda _: False)
        with store.writing() as transaction:
            writer.write(transaction, batch, "2026-01-01T00:00:00+00:00")

    return run


@pytest.fixture
def new_store(new_place: Callable[[], Path]) -> Callable[[], Store]:
    """Return a maker of empty libraries with two sources; who makes one closes it."""

    def make() -> Store:
        store = create_store(new_place())
        _add_sources(store)
        return store

    return make


def _add_sources(store: Store) -> None:
    """Write two sources that were not read yet."""
    sources = [Source(key, f"/notes/{key}.jsonl", "/notes", "jsonl", -1, -1, "") for key in (1, 2)]
    with store.writing() as transaction:
        transaction.sources.save(sources, "2026-01-01T00:00:00+00:00")
