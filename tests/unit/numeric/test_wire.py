from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.numeric.dask_cluster import LARGE_BYTES, deserialise, serialise
from lpisearch.numeric.row_files import FileTarget

if TYPE_CHECKING:
    from pathlib import Path

LARGE = np.arange(LARGE_BYTES, dtype=np.float32)


def _sent(value: Any) -> Any:
    content, arrays = serialise(value)
    return deserialise(content, arrays)


def test_large_arrays_are_sent_apart_and_once() -> None:
    content, arrays = serialise({"one": LARGE, "other": [LARGE, LARGE[:3]], "small": np.ones(3)})
    assert len(arrays) == 1
    assert arrays[0] is LARGE
    assert len(content) < 1000
    found = deserialise(content, arrays)
    assert found["one"] is found["other"][0]
    np.testing.assert_array_equal(found["other"][1], LARGE[:3])
    assert len(serialise(LARGE, apart=False)[1]) == 0


def test_mapped_arrays_are_sent_as_names_of_files(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, LARGE.reshape(-1, 8))
    mapped = np.load(path, mmap_mode="r+")
    piece = mapped[100:200]
    content, arrays = serialise([mapped, piece])
    assert arrays == []
    assert len(content) < 1000
    whole, part = deserialise(content)
    np.testing.assert_array_equal(whole, mapped)
    np.testing.assert_array_equal(part, piece)
    part[0] = -1
    assert (mapped[100] == -1).all()
    assert not _sent(np.load(path, mmap_mode="r"))[:1].flags.writeable


def test_what_is_no_piece_of_a_file_is_sent_itself(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, LARGE.reshape(-1, 8))
    mapped = np.load(path, mmap_mode="r")
    for array in (mapped + 1, mapped[::2], mapped[:, 3], mapped[:0], mapped.copy()):
        content, _ = serialise(array, apart=False)
        assert len(content) > array.nbytes
        np.testing.assert_array_equal(deserialise(content), array)


def test_rows_are_written_where_they_belong(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(b"head" + bytes(4 * 6))
    target = _sent(FileTarget(path, 4, (3, 2), np.dtype(np.float32)))
    target.write(2, np.full((1, 2), 3.0))
    target.write(0, np.array([[1, 1], [2, 2]]))
    assert target.array().tolist() == [[1, 1], [2, 2], [3, 3]]
    assert path.read_bytes()[:4] == b"head"
