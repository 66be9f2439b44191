"""A library in PostgreSQL, with what puts documents into it; and processes that can be killed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lpisearch.admin.maintenance import examine
from lpisearch.library import Library
from lpisearch.location import Address


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder: they need a server."""
    for item in items:
        if "/postgres/" in str(item.path):
            item.add_marker(pytest.mark.postgres)
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture
def address(new_address: Callable[[], Address]) -> Address:
    """Return the address of a library that does not exist yet."""
    return new_address()


@pytest.fixture
def shelf(
    address: Address, folder: Callable[..., Path], records: list[dict[str, Any]]
) -> Iterator[Library]:
    """Open a library that holds the 40 records, each in a file of its own."""
    files = {f"{record['id']}.txt": record["text"] for record in records}
    with Library(address) as library:
        assert library.ingest(folder(files), labels="folder").added == len(records)
        yield library


@pytest.fixture
def sound_at() -> Callable[[Address], None]:
    """Return an assertion that `doctor` finds nothing wrong."""

    def check(address: Address) -> None:
        assert [finding for finding in examine(address) if not finding.ok] == []

    return check
