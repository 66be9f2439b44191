from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from lpisearch.readers.judgements import QueriesUnreadable, read_queries

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "text",
    [
        '{"id": "1", "text": "wing flow"}\n\n{"id": 2, "text": "heat"}\n',
        '\ufeff{"_id": "1", "text": "wing flow", "metadata": {}}\n{"qid": "2", "query": "heat"}',
        "1\twing flow\r\n2\theat\r\n",
    ],
)
def test_queries_are_read(tmp_path: Path, text: str) -> None:
    """JSON Lines under the usual names, or tab-separated lines, give ids and texts in order."""
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
    """The message names the file and, where there is one, the line."""
    path = tmp_path / "queries.tsv"
    path.write_bytes(data)
    with pytest.raises(QueriesUnreadable, match=reason) as caught:
        read_queries(path)
    assert str(path) in caught.value.what


def test_a_missing_file_is_stated(tmp_path: Path) -> None:
    """The message names it."""
    with pytest.raises(QueriesUnreadable, match="nowhere"):
        read_queries(tmp_path / "nowhere")
