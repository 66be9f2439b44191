"""Serialise tasks, partitions and results between trusted processes.

Large arrays are not part of the bytes. One that is mapped from a file becomes the file's name: who
reads the bytes maps it too, and may write to it if the sender may. Any other is named by a number
and sent apart, once, however often it is a part of what is sent.

Bytes of this form are code: only those of the user's own processes are read (SECURITY.md).
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

APART_FROM = 1 << 16
"""From so many bytes on an array is sent apart."""
_FILE, _APART = "file", "apart"


def packed(value: Any, *, apart: bool = True) -> tuple[bytes, list[Array]]:
    """Return a value as bytes, and the large arrays that belong to it.

    With `apart` false all arrays but those of files are in the bytes.
    """
    stream = io.BytesIO()
    packer = _Packer(stream, apart=apart)
    packer.dump(value)
    return stream.getvalue(), packer.arrays


def unpacked(content: bytes, arrays: Sequence[Array] = ()) -> Any:
    """Return the value of bytes that `packed` gave, and of the arrays."""
    return _Unpacker(io.BytesIO(content), arrays).load()


class _Packer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, *, apart: bool) -> None:
        super().__init__(stream, protocol=5)
        self.arrays: list[Array] = []
        self._apart = apart

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, np.ndarray) or obj.dtype.hasobject:
            return None
        if isinstance(obj, np.memmap):
            place = _in_file(obj)
            if place is not None:
                return _FILE, *place
        if not self._apart or obj.nbytes < APART_FROM:
            return None
        for number, known in enumerate(self.arrays):
            if known is obj:
                return _APART, number
        self.arrays.append(obj)
        return _APART, len(self.arrays) - 1


class _Unpacker(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, arrays: Sequence[Array]) -> None:
        super().__init__(stream)
        self._arrays = arrays

    def persistent_load(self, pid: Any) -> Any:
        kind, *place = pid
        if kind == _APART:
            return self._arrays[place[0]]
        path, mode, begin, shape, dtype = place
        return np.memmap(path, dtype, mode, begin, shape)


def _in_file(array: np.memmap[Any, Any]) -> tuple[str, str, int, tuple[int, ...], str] | None:
    """Return where the numbers of a mapped array lie; None of what is not a piece of a file."""
    import mmap

    mapped = array._mmap  # type: ignore[attr-defined]  # noqa: SLF001 (as joblib does)
    if mapped is None or array.filename is None or not array.flags.c_contiguous or not array.size:
        return None
    first = np.frombuffer(mapped, np.uint8).ctypes.data  # where the mapping begins in memory
    within = array.ctypes.data - first
    if not 0 <= within <= len(mapped) - array.nbytes:
        return None  # worked out from what is mapped, and no longer a piece of it
    begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY + within
    mode = "r+" if array.flags.writeable else "r"
    return str(array.filename), mode, begin, array.shape, array.dtype.str
