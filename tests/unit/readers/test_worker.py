from __future__ import annotations

import pytest

from lpisearch.readers.registry import READERS
from lpisearch.readers.worker import find_reader


def test_readers_are_imported_by_name_or_by_module_and_attribute() -> None:
    """Every reader can run in a worker, also one that shares a module."""
    assert all(find_reader(name) is reader for name, reader in READERS.items())
    assert find_reader("lpisearch.readers.pdf:READER") is find_reader("pdf")


@pytest.mark.parametrize(
    ("name", "error"), [("no_such", ModuleNotFoundError), ("lpisearch.readers.pdf:read", TypeError)]
)
def test_other_names_are_refused(name: str, error: type[Exception]) -> None:
    """A missing module, or an object that is not a reader, is an error."""
    with pytest.raises(error, match=r"no_such|is not a reader"):
        find_reader(name)
