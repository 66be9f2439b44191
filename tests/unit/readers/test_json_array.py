from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import MEBIBYTE, ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.jsonl import JSON_ARRAY_READER, sniff_json_array

if TYPE_CHECKING:
    from pathlib import Path


def _read(
    path: Path, data: bytes | str, options: ReadOptions | None = None
) -> list[Document | Problem]:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return list(JSON_ARRAY_READER.read(SourceFile.at(path), options or ReadOptions()))


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_elements_become_documents(indent: int | None, encoding: str, tmp_path: Path) -> None:
    """Pretty or not, every element is a record, as a line of JSON Lines is."""
    records = [{"id": i, "title": f"ü {i}", "text": "x" * i, "n": i} for i in range(1, 2000)]
    data = json.dumps(records, indent=indent, ensure_ascii=False).encode(encoding)
    found = _read(tmp_path / "a.json", data)
    assert len(found) == 1999
    told = {"encoding": "utf-16-le"} if encoding == "utf-16" else {}
    assert found[1776] == Document("ü 1777", "x" * 1777, id="1777", metadata={**told, "n": 1777})


def test_array_is_streamed(tmp_path: Path) -> None:
    """Memory holds some chunks, whatever the size of the file."""
    path = tmp_path / "a.json"
    record = json.dumps({"text": "word " * 200})
    path.write_text(f"[{','.join([record] * 20_000)}]")
    tracemalloc.start()
    try:
        assert sum(1 for _ in JSON_ARRAY_READER.read(SourceFile.at(path), ReadOptions())) == 20_000
        assert tracemalloc.get_traced_memory()[1] < 6 * MEBIBYTE
    finally:
        tracemalloc.stop()


def test_useless_elements_are_problems(tmp_path: Path) -> None:
    """An element that is no record is told by its number; the others stay."""
    assert _read(tmp_path / "a.json", '[{"text": "a"}, 7, {"n": 1}, {"text": "b"}]') == [
        Document("", "a"),
        Problem("not a JSON object", "record 2"),
        Problem("has neither title nor text", "record 3"),
        Document("", "b"),
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "is empty"),
        ('{"text": "a"}', "is not a JSON array"),
        ('[{"text": "a"}', "is malformed after record 1: expected a comma or the end"),
        ('[{"text": "a"} {"text": "b"}]', "is malformed after record 1"),
        ('[{"text": "a"}, {"text": ]', "is malformed in record 2: not valid JSON"),
        ('[{"text": "a"}, ]', "is malformed in record 2: not valid JSON"),
        ('[{"text": "a"}] more', "extra data after the array"),
        ("[" * 100_000, "is malformed in record 1: not valid JSON: nested too deeply"),
        (bytes(1000), "looks like binary data"),
    ],
)
def test_broken_array_is_an_error(data: bytes | str, reason: str, tmp_path: Path) -> None:
    """What follows a break cannot be read; the message says after which record."""
    with pytest.raises(ReaderError, match=reason):
        _read(tmp_path / "a.json", data)


def test_records_before_the_break_are_kept(tmp_path: Path) -> None:
    """Whole elements come before the error."""
    path = tmp_path / "a.json"
    path.write_text('[{"text": "a"}, {"text": "b"}, oops]')
    items = JSON_ARRAY_READER.read(SourceFile.at(path), ReadOptions())
    assert [next(items), next(items)] == [Document("", "a"), Document("", "b")]
    with pytest.raises(ReaderError, match="is malformed in record 3"):
        next(items)


def test_element_over_the_limit_ends_the_file(tmp_path: Path) -> None:
    """Where such an element would end is not known without reading it."""
    data = '[{"text": "' + "x" * 2_000_000 + '"}]'
    with pytest.raises(ReaderError, match=r"has a record that is over the limit of 0\.1 MiB"):
        _read(tmp_path / "a.json", data, ReadOptions(max_document_bytes=100_000))
    assert len(_read(tmp_path / "a.json", data)) == 1


def test_array_is_known_by_its_beginning() -> None:
    """A bracket, then a brace."""
    assert sniff_json_array(b' [\n  {"text"')
    assert not sniff_json_array(b"[1, 2]")
    assert not sniff_json_array(b'{"a": []}')
