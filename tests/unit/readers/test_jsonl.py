from __future__ import annotations

import gzip
import json
import math
import sys
import tracemalloc
from datetime import date
from functools import partial
from pathlib import Path

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.codec import to_json
from lpisearch.model.documents import Document, Problem, Section
from lpisearch.options import MEBIBYTE, ReadOptions
from lpisearch.readers.base import HEAD_BYTES, SourceFile
from lpisearch.readers.encoding import clean
from lpisearch.readers.jsonl import (
    JSON_ARRAY_READER,
    JSONL_READER,
    PARQUET_READER,
    sniff_json_array,
    sniff_jsonl,
)
from tests.readers import read

NEWSGROUPS = Path(__file__).parents[4] / "shared/data/20newsgroups/docs.jsonl.gz"


_read = partial(read, JSONL_READER)


def test_benchmark_layout_is_known(tmp_path: Path) -> None:
    lines = '{"_id": "d1", "title": "Boats", "text": "They float.", "metadata": {"url": "u"}}\n'
    assert _read(tmp_path / "a.jsonl", lines) == [
        Document("Boats", "They float.", id="d1", metadata={"url": "u"})
    ]


def test_exported_documents_round_trip(tmp_path: Path) -> None:
    documents = [
        Document("A", " b\n\n", id="x/1", labels=("u", "v;w"), split="test", date="2024-01-31"),
        Document(
            "", "ü", id="2", path="mail/a.eml", media_type="message/rfc822",
            date="2024-01-31T12:00:00+01:00", metadata={"from": "ann", "n": [1, {"k": None}]},
            sections=(Section(0, "page", "1"),),
        ),
    ]  # fmt: skip
    rows = [to_json(each) for each in documents]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    assert _read(tmp_path / "a.jsonl", lines) == documents


def test_broken_line_5000_is_stated_and_skipped(tmp_path: Path) -> None:
    lines = [json.dumps({"id": i, "text": f"text {i}"}) for i in range(1, 10_001)]
    lines[4999] = '{"id": 5000, "text": "broken'
    found = _read(tmp_path / "a.jsonl", "\n".join(lines))
    (problem,) = [item for item in found if isinstance(item, Problem)]
    assert problem.where == "line 5000"
    assert problem.reason.startswith("not valid JSON: Unterminated string")
    assert len(found) == 10_000


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("nonsense", "not valid JSON: Expecting value at column 1"),
        ('{"text": "a"} more', "not valid JSON: Extra data at column 14"),
        ("[1, 2]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("[" * 200_000, "not valid JSON: nested too deeply"),
        ('{"text": "a", "n": ' + "9" * 5000 + "}", "not valid JSON: Exceeds the limit"),
        ('{"note": "x"}', "has neither title nor text"),
        ('{"text": {"a": "b"}}', "its field “text” is an object, not text"),
    ],
)
def test_useless_line_is_a_problem(line: str, reason: str, tmp_path: Path) -> None:
    problem, document = _read(tmp_path / "a.jsonl", f'\n{line}\n  \n{{"text": "ok"}}')
    assert isinstance(problem, Problem)
    assert problem.reason.startswith(reason)
    assert problem.where == "line 2"
    assert document == Document("", "ok")


def test_long_line_is_skipped(tmp_path: Path) -> None:
    lines = '{"text": "' + "x" * 3000 + '"}\n{"text": "ok"}\n'
    problem, document = _read(tmp_path / "a.jsonl", lines, ReadOptions(max_document_bytes=1000))
    assert isinstance(problem, Problem)
    assert "over the limit" in problem.reason
    assert "max_document_bytes" in problem.reason
    assert problem.where == "line 1"
    assert document == Document("", "ok")


def test_line_in_another_encoding_is_read_with_one_warning(tmp_path: Path) -> None:
    lines = b'{"text": "\xc3\xa9"}\n{"text": "caf\xe9"}\n{"text": "th\xe9"}\n'
    assert _read(tmp_path / "a.jsonl", lines) == [
        Document("", "é"),
        Problem("not UTF-8; read as cp1252", "line 2", warning=True),
        Document("", "café", metadata={"encoding": "cp1252"}),
        Document("", "thé", metadata={"encoding": "cp1252"}),
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_mark_is_understood(encoding: str, tmp_path: Path) -> None:
    lines = '{"text": "日本"}\r\n{"text": "b"}\r\n'
    assert _read(tmp_path / "a.jsonl", lines.encode(encoding)) == [
        Document("", "日本"),
        Document("", "b"),
    ]


def test_characters_that_cannot_be_stored_are_mended(tmp_path: Path) -> None:
    line = r'{"text": "a\u0000b \ud83d\ude00 \ud83d", "n": NaN, "i": 1e999}'
    assert _read(tmp_path / "a.jsonl", line) == [
        Document("", "ab 😀 \ufffd", metadata={"n": None, "i": None})
    ]


def test_missing_named_field_is_a_problem_of_the_record(tmp_path: Path) -> None:
    options = ReadOptions(text_field="body", id_field="key")
    lines = '{"key": 1, "body": "a"}\n{"key": 2, "text": "b"}\n{"body": "c"}\n'
    assert _read(tmp_path / "a.jsonl", lines, options) == [
        Document("", "a", id="1"),
        Problem("has no field “body”", "line 2"),
        Problem("has no field “key”", "line 3"),
    ]


def test_named_field_that_no_record_has_is_warned_of(tmp_path: Path) -> None:
    lines = '{"text": "a", "topic": "x"}\n{"text": "b"}\n'
    assert len(_read(tmp_path / "a.jsonl", lines, ReadOptions(labels="topic"))) == 2
    *_, warning = _read(tmp_path / "a.jsonl", lines, ReadOptions(labels="topik"))
    assert warning == Problem("no record has a field “topik”", warning=True)


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_empty_file_is_an_error(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match="is empty"):
        _read(tmp_path / "a.jsonl", data)


def test_binary_file_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match="looks like binary data"):
        _read(tmp_path / "a.jsonl", bytes(range(256)) * 100)


def test_records_of_ever_new_fields_do_not_fill_the_memory(tmp_path: Path) -> None:
    lines = "".join(f'{{"text": "t", "k{i}": {i}}}\n' for i in range(2500))
    found = _read(tmp_path / "a.jsonl", lines)
    assert [item.metadata for item in found if isinstance(item, Document)] == [
        {f"k{i}": i} for i in range(2500)
    ]


def test_jsonl_is_known_by_its_first_line() -> None:
    assert sniff_jsonl(b'\n{"text": "a"}\n{"te')
    assert sniff_jsonl(b'{"text": "' + b"a" * HEAD_BYTES)
    assert not sniff_jsonl(b'{\n "text": "a"\n}\n')
    assert not sniff_jsonl(b'["a"]\n')
    assert not sniff_jsonl(b"{not json}\n")
    assert not sniff_jsonl(b"")


@pytest.mark.data
def test_public_collection_is_read_whole() -> None:
    if not NEWSGROUPS.exists():
        pytest.skip("../shared/data is absent")
    found = JSONL_READER.read(SourceFile.at(NEWSGROUPS), ReadOptions())
    with gzip.open(NEWSGROUPS) as stream:
        for line, document in zip(stream, found, strict=True):
            record = json.loads(line)
            assert isinstance(document, Document)
            assert (document.id, document.split) == (record["id"], record["split"])
            assert list(document.labels) == record["labels"]
            assert document.metadata == {}
            assert document.text == clean(record["text"])


_json_array_read = partial(read, JSON_ARRAY_READER)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_elements_become_documents(indent: int | None, encoding: str, tmp_path: Path) -> None:
    records = [{"id": i, "title": f"ü {i}", "text": "x" * i, "n": i} for i in range(1, 2000)]
    data = json.dumps(records, indent=indent, ensure_ascii=False).encode(encoding)
    found = _json_array_read(tmp_path / "a.json", data)
    assert len(found) == 1999
    told = {"encoding": "utf-16-le"} if encoding == "utf-16" else {}
    assert found[1776] == Document("ü 1777", "x" * 1777, id="1777", metadata={**told, "n": 1777})


def test_array_is_streamed(tmp_path: Path) -> None:
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
    assert _json_array_read(tmp_path / "a.json", '[{"text": "a"}, 7, {"n": 1}, {"text": "b"}]') == [
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
    with pytest.raises(ReaderError, match=reason):
        _json_array_read(tmp_path / "a.json", data)


def test_records_before_the_break_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"text": "a"}, {"text": "b"}, oops]')
    items = JSON_ARRAY_READER.read(SourceFile.at(path), ReadOptions())
    assert [next(items), next(items)] == [Document("", "a"), Document("", "b")]
    with pytest.raises(ReaderError, match="is malformed in record 3"):
        next(items)


def test_element_over_the_limit_ends_the_file(tmp_path: Path) -> None:
    data = '[{"text": "' + "x" * 2_000_000 + '"}]'
    with pytest.raises(ReaderError, match=r"has a record that is over the limit of 0\.1 MiB"):
        _json_array_read(tmp_path / "a.json", data, ReadOptions(max_document_bytes=100_000))
    assert len(_json_array_read(tmp_path / "a.json", data)) == 1


def test_array_is_known_by_its_beginning() -> None:
    assert sniff_json_array(b' [\n  {"text"')
    assert not sniff_json_array(b"[1, 2]")
    assert not sniff_json_array(b'{"a": []}')


def test_rows_of_parquet_are_records(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "notes.parquet"
    columns = {"id": ["a", "b"], "title": ["Ships", None], "text": ["A ship", "A boat"]}
    days = [date(2024, 1, 2), None]
    table = columns | {"labels": [["x", "y"], []], "date": days, "weight": [1.5, math.nan]}
    parquet.write_table(pa.table(table), path)
    found = list(PARQUET_READER.read(SourceFile.at(path), ReadOptions()))
    first, second = (one for one in found if isinstance(one, Document))
    assert (first.id, first.title, first.text, first.labels) == ("a", "Ships", "A ship", ("x", "y"))
    assert (first.date, first.metadata["weight"]) == ("2024-01-02", 1.5)
    assert (second.id, second.title, second.metadata["weight"]) == ("b", "", None)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ReaderError, match="is damaged, or not a Parquet file"):
        list(PARQUET_READER.read(SourceFile.at(path), ReadOptions()))


def test_parquet_without_its_package_is_a_stated_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "notes.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(ReaderError, match=r"install lpisearch\[parquet\]"):
        list(PARQUET_READER.read(SourceFile.at(path), ReadOptions()))
