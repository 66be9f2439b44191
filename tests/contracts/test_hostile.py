"""Files that are made to stall a reader are read, or refused, and named."""

from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.registry import reader_for
from tests.hostile import HOSTILE, write_hostile

_SHARE = 0.005
_MOST_ITEMS = 20_000
# Quadratic at their full size these would not end: linear they take a second.
_WHOLE = ("attribute.sgm", "semicolons.eml", "boundary.eml", "subject.eml", "columns.csv")


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_file_comes_to_an_end(name: str, tmp_path: Path) -> None:
    """Its reader gives documents or problems, or refuses it with a reason."""
    path = write_hostile(name, tmp_path, 1.0 if name in _WHOLE else _SHARE)
    source = SourceFile.at(path)
    reader = reader_for(source, ReadOptions())
    assert reader is not None
    items: list[object] = []
    with suppress(ReaderError):
        items.extend(islice(reader.read(source, ReadOptions()), _MOST_ITEMS))
        assert items
    assert all(isinstance(item, (Document, Problem)) for item in items)
