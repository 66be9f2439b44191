"""Every store, empty and filled, for the checks that each of them must pass."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest

from lpisearch.ingest.ingestion import tokenised
from lpisearch.ingest.recorder import BatchWriter, Incoming
from lpisearch.location import Location
from lpisearch.model.documents import Document, Source
from lpisearch.storage import create_store
from lpisearch.storage.store import Store
from lpisearch.text.languages import TokeniserSettings
from lpisearch.text.tokeniser import Tokeniser


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def new_place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], Location]:
    """Return a maker of places, at each of which a new library can be made."""
    if request.param == "sqlite":
        return lambda: tmp_path_factory.mktemp("store") / "library.db"
    found: Callable[[], Location] = request.getfixturevalue("new_address")
    return found


@pytest.fixture
def place(new_place: Callable[[], Location]) -> Location:
    """Return where the library of a test is."""
    return new_place()


@pytest.fixture
def store(place: Location) -> Iterator[Store]:
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
        writer = BatchWriter(lambda one: tokenised(one, tokeniser), lambda _: False)
        with store.writing() as transaction:
            writer.write(transaction, batch, "2026-01-01T00:00:00+00:00")

    return run


@pytest.fixture
def new_store(new_place: Callable[[], Location]) -> Callable[[], Store]:
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
