from __future__ import annotations

import gzip
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.errors import ReaderError
from lpisearch.options import MEBIBYTE
from lpisearch.readers.base import SourceFile
from lpisearch.readers.streams import chunks, lines, whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@given(st.lists(st.binary(max_size=8).map(lambda data: data.replace(b"x", b"\n"))))
def test_lines_do_not_depend_on_the_chunks(pieces: list[bytes]) -> None:
    """However the bytes come, the lines and their numbers are those of the whole."""
    expected = b"".join(pieces).split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    assert list(lines(pieces, 1000)) == list(enumerate(expected, 1))


def test_long_line_is_passed_over_and_counted() -> None:
    """A line over the limit yields None in its place; the next ones keep their numbers."""
    pieces = [b"a\nbbbb", b"bbbb", b"b\nc\ndddddddd\ne"]
    assert list(lines(pieces, 5)) == [(1, b"a"), (2, None), (3, b"c"), (4, None), (5, b"e")]
    assert list(lines([b"aaaa", b"aaaa"], 5)) == [(1, None)]


def test_endless_line_is_never_held() -> None:
    """Memory stays at a few chunks while a line of 64 MiB passes."""

    def endless() -> Iterator[bytes]:
        for _ in range(256):
            yield bytes(MEBIBYTE // 4)
        yield b"\nend"

    tracemalloc.start()
    try:
        assert list(lines(endless(), MEBIBYTE)) == [(1, None), (2, b"end")]
        assert tracemalloc.get_traced_memory()[1] < 4 * MEBIBYTE
    finally:
        tracemalloc.stop()


def test_large_file_is_refused_unread(tmp_path: Path) -> None:
    """The message has size, limit and option; a plain file is not even opened."""
    path = tmp_path / "a.txt"
    with path.open("wb") as stream:
        stream.truncate(100 * MEBIBYTE)
    with pytest.raises(ReaderError) as error:
        whole(SourceFile.at(path), 64 * MEBIBYTE)
    assert error.value.what == (
        "is 100.0 MiB, over the limit of 64.0 MiB for one document "
        "(raise it with max_document_bytes)"
    )


def test_large_gzipped_file_is_refused_early(tmp_path: Path) -> None:
    """What is unpacked counts, and unpacking ends at the limit."""
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(bytes(8 * MEBIBYTE)))
    with pytest.raises(ReaderError, match=r"is more than 1\.\d MiB, over the limit of 1\.0 MiB"):
        whole(SourceFile.at(path), MEBIBYTE)


def test_bytes_before_the_end_of_truncated_gzip_are_kept(tmp_path: Path) -> None:
    """Everything that can be unpacked is yielded before the error."""
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"".join(b"%d\n" % i for i in range(200_000)))[:-500])
    found: list[bytes] = []
    with pytest.raises(ReaderError, match="is damaged: the gzip data is truncated"):
        found.extend(chunks(SourceFile.at(path)))
    assert len(b"".join(found)) > 1_200_000


def test_wrong_checksum_is_damage_and_not_a_system_error(tmp_path: Path) -> None:
    """BadGzipFile is an OSError by birth; a reader states it as damage."""
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"text")[:-8] + bytes(8))
    with pytest.raises(ReaderError, match="is damaged: the gzip data is broken"):
        list(chunks(SourceFile.at(path)))
