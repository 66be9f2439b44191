from __future__ import annotations

import errno
import gzip
import io
import os
import zipfile
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.options import MEBIBYTE
from lpisearch.readers import streams
from lpisearch.readers.base import SourceFile
from lpisearch.readers.streams import EXPANSION_FREE_BYTES, Archive, ArchiveLimits

if TYPE_CHECKING:
    from pathlib import Path


def _zip(path: Path, method: int = zipfile.ZIP_DEFLATED, **members: bytes) -> SourceFile:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return SourceFile.at(path)


def test_members_are_read(tmp_path: Path) -> None:
    """Members are found by name and read whole."""
    with Archive(_zip(tmp_path / "a.zip", one=b"1" * 100, two=b"")) as archive:
        assert "one" in archive
        assert "three" not in archive
        assert archive.read("one") == b"1" * 100
        assert archive.read("two") == b""


def test_gzipped_archive_is_read(tmp_path: Path) -> None:
    """An archive inside gzip is unpacked in memory."""
    plain = _zip(tmp_path / "a.zip", one=b"text").path
    packed = tmp_path / "a.zip.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    with Archive(SourceFile.at(packed)) as archive:
        assert archive.read("one") == b"text"


def test_missing_member_is_stated(tmp_path: Path) -> None:
    """The name of the missing part is in the message."""
    with (
        Archive(_zip(tmp_path / "a.zip", one=b"")) as archive,
        pytest.raises(ReaderError, match="no part “two”"),
    ):
        archive.read("two")


def test_ratio_is_limited_for_what_is_really_unpacked(tmp_path: Path) -> None:
    """A member of zeros packs a thousand to one: beyond the free bytes it is refused."""
    bomb = _zip(tmp_path / "a.zip", bomb=bytes(EXPANSION_FREE_BYTES * 3))
    with Archive(bomb) as archive, pytest.raises(ReaderError, match="200 times its size"):
        archive.read("bomb")


def test_high_ratio_is_free_while_small(tmp_path: Path) -> None:
    """A small file may pack as well as it likes."""
    with Archive(_zip(tmp_path / "a.zip", blank=bytes(5 * MEBIBYTE))) as archive:
        assert len(archive.read("blank")) == 5 * MEBIBYTE


def test_false_declared_size_is_no_way_around_the_limits(tmp_path: Path) -> None:
    """An archive that understates its sizes gives no more than it declares, or fails."""
    path = _zip(tmp_path / "a.zip", bomb=bytes(30 * MEBIBYTE)).path
    declared = (30 * MEBIBYTE).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(declared, (1000).to_bytes(4, "little")))
    with Archive(SourceFile.at(path)) as archive, pytest.raises(ReaderError, match="is damaged"):
        archive.read("bomb")


def test_member_size_is_limited(tmp_path: Path) -> None:
    """One member may not unpack to more than the limit, even if it packs badly."""
    source = _zip(tmp_path / "a.zip", zipfile.ZIP_STORED, big=os.urandom(MEBIBYTE + 1))
    limits = ArchiveLimits(member_bytes=MEBIBYTE)
    with (
        Archive(source, limits) as archive,
        pytest.raises(ReaderError, match="more than 1 MiB in “big”"),
    ):
        archive.read("big")


def test_total_size_is_limited(tmp_path: Path) -> None:
    """All members together may not unpack to more than the limit."""
    half = os.urandom(MEBIBYTE * 2 // 3)
    limits = ArchiveLimits(expanded_bytes=MEBIBYTE)
    with Archive(_zip(tmp_path / "a.zip", one=half, two=half), limits) as archive:
        archive.read("one")
        with pytest.raises(ReaderError, match="more than 1 MiB"):
            archive.read("two")


def test_number_of_members_is_limited(tmp_path: Path) -> None:
    """An archive of very many members is refused when it is opened."""
    source = _zip(tmp_path / "a.zip", a=b"", b=b"", c=b"")
    with pytest.raises(ReaderError, match="more than 2 members"):
        Archive(source, ArchiveLimits(entries=2))


def test_methods_without_a_bound_are_refused(tmp_path: Path) -> None:
    """LZMA and bzip2 unpack whole blocks at once; no office format uses them."""
    with (
        Archive(_zip(tmp_path / "a.zip", zipfile.ZIP_LZMA, one=b"text")) as archive,
        pytest.raises(ReaderError, match="does not allow"),
    ):
        archive.read("one")


def test_encrypted_member_is_stated(tmp_path: Path) -> None:
    """A member that asks for a password is told by its flag."""
    path = _zip(tmp_path / "a.zip", one=b"text").path
    data = bytearray(path.read_bytes())
    data[6] |= 1  # the flag in the local header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and in the directory
    path.write_bytes(data)
    with Archive(SourceFile.at(path)) as archive, pytest.raises(ReaderError, match="is encrypted"):
        archive.read("one")


def test_old_binary_container_is_stated(tmp_path: Path) -> None:
    """An encrypted DOCX is wrapped in the container of the old .doc format."""
    path = tmp_path / "a.docx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000))
    with pytest.raises(ReaderError, match="is encrypted, or in the old"):
        Archive(SourceFile.at(path))


def test_empty_file_is_stated(tmp_path: Path) -> None:
    """A file of no bytes is said to be empty."""
    path = tmp_path / "a.docx"
    path.touch()
    with pytest.raises(ReaderError, match="is empty"):
        Archive(SourceFile.at(path))


def test_every_truncation_is_stated(tmp_path: Path) -> None:
    """Wherever an archive is cut off, the message is the same kind of error."""
    data = _zip(tmp_path / "a.zip", one=os.urandom(200), two=b"x" * 200).path.read_bytes()
    path = tmp_path / "cut.zip"
    for size in range(1, len(data) - 1, 7):
        path.write_bytes(data[:size])
        with pytest.raises(ReaderError, match="is damaged"):
            Archive(SourceFile.at(path))


def test_every_flipped_byte_is_stated_or_harmless(tmp_path: Path) -> None:
    """Damage anywhere gives the right bytes or a stated error, nothing else."""
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
    """An OSError that damage cannot explain reaches the caller unchanged."""

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
