"""Arrays that are mapped from files: the system may take their memory back."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def let_go(array: NDArray[Any]) -> None:
    """Let the system take back the memory of an array, or a view of one, mapped from a file."""
    whole: Any = array
    while whole is not None and not isinstance(whole, mmap.mmap):
        whole = getattr(whole, "base", None)
    if whole is not None and hasattr(mmap, "MADV_DONTNEED"):
        whole.madvise(mmap.MADV_DONTNEED)
