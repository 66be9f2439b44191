"""Counts turned around block by block, beside the postings of one matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import sparse

from lpisearch.index import inversion
from lpisearch.index.checkpoint import FileWorkspace, MemoryWorkspace, Stages
from lpisearch.index.inversion import Counted
from lpisearch.index.postings import Postings
from lpisearch.numeric.row_blocks import StackedBlocks
from lpisearch.numeric.row_files import PartitionWriter

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS, TERMS, BLOCK = 61, 40, 9
SOME = 25  # entries that are joined at a time


def _counts(seed: int) -> sparse.csr_array:
    """Return counts in which some terms are in nearly all documents, and some documents empty."""
    rng = np.random.default_rng(seed)
    shares = np.linspace(0.01, 0.9, TERMS)
    table = rng.integers(1, 90_000, (DOCUMENTS, TERMS)) * (rng.random((DOCUMENTS, TERMS)) < shares)
    table[[0, 17, 60]] = 0
    table[5, table.sum(axis=0) == 0] = 1
    return sparse.csr_array(table.astype(np.float32))


@pytest.mark.parametrize("where", ["memory", "files"])
@pytest.mark.parametrize("seed", range(3))
def test_blocks_give_the_postings_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, seed: int
) -> None:
    monkeypatch.setattr(inversion, "_AT_ONCE", SOME)
    counts, names = _counts(seed), [f"t{number * 7 % TERMS:02}" for number in range(TERMS)]
    lengths = np.asarray(counts.sum(axis=1), np.int32)
    blocks = [counts[at : at + BLOCK] for at in range(0, DOCUMENTS, BLOCK)]
    rows: StackedBlocks | object = StackedBlocks(blocks, TERMS)
    workspace: MemoryWorkspace | FileWorkspace = MemoryWorkspace()
    if where == "files":
        writer = PartitionWriter(tmp_path / "rows")
        for block in blocks:
            writer.add(block)
        rows = writer.finish(TERMS)
        workspace = FileWorkspace(tmp_path / "build", "key", 0o600, Stages(print, print).stage)
    frequencies = np.diff(counts.tocsc().indptr).astype(np.int32)
    ones, keys = np.ones(TERMS, np.float32), np.arange(DOCUMENTS)
    hashes = np.zeros((DOCUMENTS, 16), np.uint8)
    counted = Counted(tuple(names), rows, frequencies, ones, lengths, keys, hashes)  # type: ignore[arg-type]
    columns = {names[3]: 0, names[4]: 1}
    found = workspace.run("postings", lambda output: inversion.invert(counted, columns, output))
    expected = Postings.build(names, counts, lengths, columns).arrays()
    assert not any(name.startswith("sorted") for name in found.arrays)
    for name, array in expected.items():
        np.testing.assert_array_equal(found.arrays[name], array, err_msg=name)
        assert found.arrays[name].dtype == array.dtype
