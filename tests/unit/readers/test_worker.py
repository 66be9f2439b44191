from __future__ import annotations

import pytest

from lpisearch.readers.registry import READERS
from lpisearch.readers.worker import find_reader


def test_isolated_readers_are_found_by_name() -> None:
    """Every reader can run in a worker, also one that shares a module or is called otherwise."""
    assert all(find_reader(name) is reader for name, reader in READERS.items())


def test_a_reader_that_is_not_called_as_its_module_is_found() -> None:
    """One that nobody has is an error that the parent tells."""
    with pytest.raises(KeyError, match="no_such"):
        find_reader("no_such")


def test_attribute_of_a_module_is_found() -> None:
    """A reader from elsewhere is named with its module."""
    assert find_reader("lpisearch.readers.pdf:READER") is find_reader("pdf")


def test_what_is_no_reader_is_refused() -> None:
    """Another object of that name is not called."""
    with pytest.raises(TypeError, match="is not a reader"):
        find_reader("lpisearch.readers.pdf:read")
