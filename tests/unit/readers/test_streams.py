from __future__ import annotations

import errno
import gzip
import io
import os
import tracemalloc
import zipfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.errors import ReaderError
from lpisearch.options import MEBIBYTE
from lpisearch.readers import base as streams
from lpisearch.readers.base import (
    EXPANSION_FREE_BYTES,
    Archive,
    ArchiveLimits,
    SourceFile,
    chunks,
    lines,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@given(st.lists(st.binary(max_size=8).map(lambda data: data.replace(b"x", b"\n"))))
def test_lines_do_not_depend_on_the_chunks(pieces: list[bytes]) -> None:
    expected = b"".join(pieces).split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    assert list(lines(pieces, 1000)) == list(enumerate(expected, 1))


def test_long_line_is_passed_over_and_counted() -> None:
    pieces = [b"a\nbbbb", b"bbbb", b"b\nc\ndddddddd\ne"]
    assert list(lines(pieces, 5)) == [(1, b"a"), (2, None), (3, b"c"), (4, None), (5, b"e")]
    assert list(lines([b"aaaa", b"aaaa"], 5)) == [(1, None)]


def test_endless_line_is_never_held() -> None:
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
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(bytes(8 * MEBIBYTE)))
    with pytest.raises(ReaderError, match=r"is more than 1\.\d MiB, over the limit of 1\.0 MiB"):
        whole(SourceFile.at(path), MEBIBYTE)


def test_bytes_before_the_end_of_truncated_gzip_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"".join(b"%d\n" % i for i in range(200_000)))[:-500])
    found: list[bytes] = []
    with pytest.raises(ReaderError, match="is damaged: the gzip data is truncated"):
        found.extend(chunks(SourceFile.at(path)))
    assert len(b"".join(found)) > 1_200_000


def test_wrong_checksum_is_damage_and_not_a_system_error(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"text")[:-8] + bytes(8))
    with pytest.raises(ReaderError, match="is damaged: the gzip data is broken"):
        list(chunks(SourceFile.at(path)))


def _zip(path: Path, method: int = zipfile.ZIP_DEFLATED, **members: bytes) -> SourceFile:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return SourceFile.at(path)


def test_members_are_read(tmp_path: Path) -> None:
    with Archive(_zip(tmp_path / "a.zip", one=b"1" * 100, two=b"")) as archive:
        assert "one" in archive
        assert "three" not in archive
        assert archive.read("one") == b"1" * 100
        assert archive.read("two") == b""


def test_gzipped_archive_is_read(tmp_path: Path) -> None:
    plain = _zip(tmp_path / "a.zip", one=b"text").path
    packed = tmp_path / "a.zip.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    with Archive(SourceFile.at(packed)) as archive:
        assert archive.read("one") == b"text"


def test_missing_member_is_stated(tmp_path: Path) -> None:
    with (
        Archive(_zip(tmp_path / "a.zip", one=b"")) as archive,
        pytest.raises(ReaderError, match="no part “two”"),
    ):
        archive.read("two")


def test_ratio_is_limited_for_what_is_really_unpacked(tmp_path: Path) -> None:
    bomb = _zip(tmp_path / "a.zip", bomb=bytes(EXPANSION_FREE_BYTES * 3))
    with Archive(bomb) as archive, pytest.raises(ReaderError, match="200 times its size"):
        archive.read("bomb")


def test_high_ratio_is_free_while_small(tmp_path: Path) -> None:
    with Archive(_zip(tmp_path / "a.zip", blank=bytes(5 * MEBIBYTE))) as archive:
        assert len(archive.read("blank")) == 5 * MEBIBYTE


def test_false_declared_size_is_no_way_around_the_limits(tmp_path: Path) -> None:
    path = _zip(tmp_path / "a.zip", bomb=bytes(30 * MEBIBYTE)).path
    declared = (30 * MEBIBYTE).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(declared, (1000).to_bytes(4, "little")))
    with Archive(SourceFile.at(path)) as archive, pytest.raises(ReaderError, match="is damaged"):
        archive.read("bomb")


def test_member_size_is_limited(tmp_path: Path) -> None:
    source = _zip(tmp_path / "a.zip", zipfile.ZIP_STORED, big=os.urandom(MEBIBYTE + 1))
    limits = ArchiveLimits(member_bytes=MEBIBYTE)
    with (
        Archive(source, limits) as archive,
        pytest.raises(ReaderError, match="more than 1 MiB in “big”"),
    ):
        archive.read("big")


def test_total_size_is_limited(tmp_path: Path) -> None:
    half = os.urandom(MEBIBYTE * 2 // 3)
    limits = ArchiveLimits(expanded_bytes=MEBIBYTE)
    with Archive(_zip(tmp_path / "a.zip", one=half, two=half), limits) as archive:
        archive.read("one")
        with pytest.raises(ReaderError, match="more than 1 MiB"):
            archive.read("two")


def test_number_of_members_is_limited(tmp_path: Path) -> None:
    source = _zip(tmp_path / "a.zip", a=b"", b=b"", c=b"")
    with pytest.raises(ReaderError, match="more than 2 members"):
        Archive(source, ArchiveLimits(entries=2))


def test_methods_without_a_bound_are_refused(tmp_path: Path) -> None:
    with (
        Archive(_zip(tmp_path / "a.zip", zipfile.ZIP_LZMA, one=b"text")) as archive,
        pytest.raises(ReaderError, match="does not allow"),
    ):
        archive.read("one")


def test_encrypted_member_is_stated(tmp_path: Path) -> None:
    path = _zip(tmp_path / "a.zip", one=b"text").path
    data = bytearray(path.read_bytes())
    data[6] |= 1  # the flag in the local header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and in the directory
    path.write_bytes(data)
    with Archive(SourceFile.at(path)) as archive, pytest.raises(ReaderError, match="is encrypted"):
        archive.read("one")


def test_old_binary_container_is_stated(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000))
    with pytest.raises(ReaderError, match="is encrypted, or in the old"):
        Archive(SourceFile.at(path))


def test_empty_file_is_stated(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.touch()
    with pytest.raises(ReaderError, match="is empty"):
        Archive(SourceFile.at(path))


def test_every_truncation_is_stated(tmp_path: Path) -> None:
    data = _zip(tmp_path / "a.zip", one=os.urandom(200), two=b"x" * 200).path.read_bytes()
    path = tmp_path / "cut.zip"
    for size in range(1, len(data) - 1, 7):
        path.write_bytes(data[:size])
        with pytest.raises(ReaderError, match="is damaged"):
            Archive(SourceFile.at(path))


def test_every_flipped_byte_is_stated_or_harmless(tmp_path: Path) -> None:
    content = os.urandom(50) * 3
    data = _zip(tmp_path / "a.zip", one=content).path.read_bytes()
    path = tmp_path / "flipped.zip"
    refused = 0
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 0xFF
        path.write_bytes(flipped)
        try:
            with Archive(SourceFile.at(path)) as archive:
                assert archive.read("one") == content
        except ReaderError:
            refused += 1
    assert refused > len(data) // 2


def test_failing_disk_stays_an_error_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class _Disk(io.BytesIO):
        failing = False

        def read(self, size: int | None = -1, /) -> bytes:
            if self.failing:
                raise OSError(errno.EIO, "Input/output error")
            return super().read(size)

    source = _zip(tmp_path / "a.zip", one=b"text")
    disk = _Disk(source.path.read_bytes())
    monkeypatch.setattr(streams, "open_seekable", lambda *_: disk)
    with Archive(source) as archive:
        disk.failing = True
        with pytest.raises(OSError, match="Input/output error"):
            archive.read("one")
