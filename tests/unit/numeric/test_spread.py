from __future__ import annotations

import pickle
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.numeric.row_blocks import (
    MatrixBlocks,
    ThreadExecutor,
    TransferStats,
    map_blocks,
    map_parts,
    use_executor,
)
from lpisearch.numeric.row_files import PartitionWriter
from lpisearch.numeric.threads import THREADS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


class Elsewhere:
    """Does all work behind a boundary that only bytes pass, last part first."""

    is_remote = True
    stats = TransferStats()

    def map(self, work: Callable[[Any], Any], parts: Iterable[Any]) -> Iterator[Any]:
        """Send work and parts as bytes; give the results in order."""
        sent = [pickle.dumps((work, part)) for part in parts]
        found = []
        for each in reversed(sent):
            there, part = pickle.loads(each)  # noqa: S301 (our own bytes)
            found.append(there(part))
        return iter(found[::-1])


@dataclass(frozen=True, eq=False, slots=True)
class _Times:
    """Multiplies the rows of a block."""

    V: Any

    def __call__(self, block: Any, start: int) -> Any:
        return start, block @ self.V


def test_results_come_in_order_and_few_wait() -> None:
    taken, given, lock, ahead = [0], [0], Lock(), []

    def parts() -> Iterator[int]:
        for number in range(50):
            with lock:
                taken[0] += 1
                ahead.append(taken[0] - given[0])
            yield number

    found = []
    for result in map_parts(lambda n: n * n, parts()):
        found.append(result)
        given[0] += 1
    assert found == [n * n for n in range(50)]
    assert max(ahead) <= THREADS + 1


def test_an_error_of_a_part_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        list(ThreadExecutor().map(lambda n: 1 / n, [1, 0, *range(100)]))


@pytest.mark.parametrize("place", ["memory", "files"])
def test_work_can_be_done_elsewhere(tmp_path: Path, place: str) -> None:
    rng = np.random.default_rng(0)
    dense = rng.random((50, 30), np.float32) * (rng.random((50, 30)) < 0.2)
    X = sparse.csr_array(dense.astype(np.float32))
    rows: Any = MatrixBlocks(X, 8)
    if place == "files":
        writer = PartitionWriter(tmp_path, 30)
        for start in range(0, 50, 8):
            writer.add(X[start : start + 8])
        rows = writer.finish()
    work = _Times(rng.random((30, 5), np.float32))

    def all_products() -> list[Any]:
        return list(map_blocks(work, rows))

    here = all_products()
    with use_executor(Elsewhere()):
        for (start, one), (again, other) in zip(here, all_products(), strict=True):
            assert start == again
            np.testing.assert_array_equal(one, other)
