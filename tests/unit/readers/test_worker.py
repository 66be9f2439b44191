from __future__ import annotations

import pytest

from lpisearch.readers.registry import READERS
from lpisearch.readers.worker import decode, encode, find_reader


def test_isolated_readers_are_found_by_name() -> None:
    """Each reader that runs in a worker lives in the module of its name."""
    isolated = {reader.name: reader for reader in READERS.values() if reader.isolated}
    assert set(isolated) == {"pdf", "docx", "odt", "epub"}
    assert all(find_reader(name) is reader for name, reader in isolated.items())


def test_attribute_of_a_module_is_found() -> None:
    """A reader from elsewhere is named with its module."""
    assert find_reader("lpisearch.readers.pdf:READER") is find_reader("pdf")


def test_what_is_no_reader_is_refused() -> None:
    """Another object of that name is not called."""
    with pytest.raises(TypeError, match="is not a reader"):
        find_reader("lpisearch.readers.pdf:read")


@pytest.mark.parametrize("text", ["", "line\nbreak", "\x00\x1f", "雨", "\udce9", "\u2028"])
def test_messages_are_single_lines_and_come_back(text: str) -> None:
    """Any text, lone surrogates of file names too, fits on one line."""
    line = encode({"text": text})
    assert line.count(b"\n") == 1
    assert decode(line) == {"text": text}
