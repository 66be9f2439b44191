"""Memory-mapped arrays, whose memory the system can reclaim."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def mapped(path: Path) -> NDArray[Any]:
    """Map the array of a file into memory, to be read."""
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError:  # an array without entries cannot be mapped
        array = np.load(path, allow_pickle=False)
    return array


def let_go(array: NDArray[Any]) -> None:
    """Let the system take back the memory of an array, or a view of one, mapped from a file."""
    whole: Any = array
    while whole is not None and not isinstance(whole, mmap.mmap):
        whole = getattr(whole, "base", None)
    if whole is not None and hasattr(mmap, "MADV_DONTNEED"):
        whole.madvise(mmap.MADV_DONTNEED)
