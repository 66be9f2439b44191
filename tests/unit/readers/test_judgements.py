from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from lpisearch.readers.judgements import (
    JudgementsUnreadable,
    QueriesUnreadable,
    read_judgements,
    read_queries,
)

if TYPE_CHECKING:
    from pathlib import Path


_EXPECTED = {"1": {"a": 1, "b": 0}, "2": {"a": 2}}


@pytest.mark.parametrize(
    "text",
    [
        "1 0 a 1\n1 0 b 0\n2 0 a 2\n",
        "1\t0\ta\t1\r\n1\t0\tb\t0\r\n\r\n2\t0\ta\t2",
        "1 a 1\n1 b 0\n2 a 2\n",
        "query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t0\n2\ta\t2\n",
        "\ufeff1 0 a 1\n1 0 b 0\n2 0 a 2\n1 0 a 1\n",
    ],
    ids=["trec", "tabs", "three columns", "names of columns", "mark and a repeated line"],
)
def test_judgements_are_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "qrels"
    path.write_text(text, encoding="utf-8", newline="")
    assert read_judgements(path) == _EXPECTED


def test_a_packed_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "qrels.gz"
    path.write_bytes(gzip.compress(b"1 0 a 1\n1 0 b 0\n2 0 a 2\n"))
    assert read_judgements(path) == _EXPECTED


def test_ids_may_hold_blanks_between_tabs(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("first query\t0\tmy letters/one.txt\t1\n")
    assert read_judgements(path) == {"first query": {"my letters/one.txt": 1}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"1 0 a 1\n1 0 b 1\n1 0\n", "line 3 has 2 columns, not 3 or 4"),
        (b"1 0 a 1\n\n1 0 b much\n", "line 3: “much” is not a whole number"),
        (b"1 0 a 1\n1 0 b 0.5\n", "line 2: “0.5” is not a whole number"),
        (b"1 0 a 1\n1 0 a 2\n", "line 2 gives “a” a second, different grade for “1”"),
        (b"1 0 a 1\n1 0 5\n", "line 2 has 3 columns, but the first line has 4"),
        (b"", "no judgements"),
        (b"query document grade\n", "no judgements"),
        (b"1 0 a 1\n\xff\xfe 0 b 1\n", "line 2 is not UTF-8"),
        (b"1 0 a 1 5 6\n", "line 1 has 6 columns"),
    ],
    ids=["columns", "word", "fraction", "contradiction", "cut", "empty", "names", "bytes", "six"],
)
def test_malformed_judgements_name_the_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "qrels"
    path.write_bytes(content)
    with pytest.raises(JudgementsUnreadable) as caught:
        read_judgements(path)
    assert said in caught.value.what
    assert str(path) in caught.value.what


def test_a_line_names_things_without_control_characters(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("1 0 a 1\n1 0 a\x1b[2J x\n")
    with pytest.raises(JudgementsUnreadable) as caught:
        read_judgements(path)
    assert "\x1b" not in caught.value.what


@pytest.mark.parametrize("packed", [b"\x1f\x8b\x08\x00cut", b"\x1f\x8b"], ids=["cut", "head"])
def test_a_damaged_packed_file_is_stated(tmp_path: Path, packed: bytes) -> None:
    path = tmp_path / "qrels.gz"
    path.write_bytes(packed)
    with pytest.raises(JudgementsUnreadable):
        read_judgements(path)


def test_no_file_and_a_folder_are_stated(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(JudgementsUnreadable):
            read_judgements(path)


@pytest.mark.parametrize(
    "text",
    [
        '{"id": "1", "text": "wing flow"}\n\n{"id": 2, "text": "heat"}\n',
        '\ufeff{"_id": "1", "text": "wing flow", "metadata": {}}\n{"qid": "2", "query": "heat"}',
        "1\twing flow\r\n2\theat\r\n",
    ],
)
def test_queries_are_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "queries"
    path.write_bytes(text.encode())
    assert read_queries(path) == [("1", "wing flow"), ("2", "heat")]
    path.write_bytes(gzip.compress(text.encode()))
    assert read_queries(path) == [("1", "wing flow"), ("2", "heat")]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "contains no queries"),
        (b"1\tone\nno tab\n", "line 2 has no tab"),
        (b'{"id": "1", "text": "a"}\n{"id": \n', "line 2 is not valid JSON"),
        (b'{"id": "1"}\n', "line 1 lacks an id or a text"),
        (b'{"id": "", "text": "a"}\n', "line 1 lacks an id or a text"),
        (b'{"id": "1", "text": 7}\n', "line 1 lacks an id or a text"),
        (b"1\tone\n1\ttwo\n", "“1” occurs twice"),
        (b"1\t\xff\n", "utf-8"),
        (gzip.compress(b"1\tone\n")[:-9], "end-of-stream"),
    ],
)
def test_broken_files_are_stated(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "queries.tsv"
    path.write_bytes(data)
    with pytest.raises(QueriesUnreadable, match=reason) as caught:
        read_queries(path)
    assert str(path) in caught.value.what


def test_a_missing_file_is_stated(tmp_path: Path) -> None:
    with pytest.raises(QueriesUnreadable, match="nowhere"):
        read_queries(tmp_path / "nowhere")
