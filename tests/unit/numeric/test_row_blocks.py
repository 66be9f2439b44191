from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.numeric.row_blocks import MatrixBlocks, blocks, map_blocks
from lpisearch.numeric.row_files import PartitionedRows, PartitionsDamaged, PartitionWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.numeric.row_blocks import RowBlocks

N_DOCUMENTS, N_TERMS, BLOCK = 37, 23, 8


def _matrix(dtype: Any = np.float64) -> sparse.csr_array:
    rng = np.random.default_rng(0)
    dense = rng.random((N_DOCUMENTS, N_TERMS)) * (rng.random((N_DOCUMENTS, N_TERMS)) < 0.3)
    dense[BLOCK : 2 * BLOCK] = 0  # a block of empty documents
    return sparse.csr_array(dense.astype(dtype))


def _on_disk(X: sparse.csr_array, folder: Path) -> PartitionedRows:
    writer = PartitionWriter(folder, X.shape[1])
    for block in blocks(MatrixBlocks(X, BLOCK)):
        writer.add(block)
    return writer.finish()


@pytest.fixture(params=["memory", "disk"])
def placed(request: Any, tmp_path: Path) -> Callable[[sparse.csr_array], RowBlocks]:
    """Return what brings a matrix to where it is read from."""
    if request.param == "memory":
        return lambda X: MatrixBlocks(X, BLOCK)
    return lambda X: _on_disk(X, tmp_path / "rows")


def test_every_pass_gives_all_rows(placed: Callable[..., RowBlocks]) -> None:
    X = _matrix(np.float32)
    rows = placed(X)
    assert rows.shape == (N_DOCUMENTS, N_TERMS)
    assert rows.dtype == np.dtype(np.float32)
    for _ in range(2):
        found = sparse.vstack(list(blocks(rows)))
        np.testing.assert_array_equal(found.toarray(), X.toarray())


def test_blocks_are_worked_on_in_order(placed: Callable[..., RowBlocks]) -> None:
    X = _matrix(np.float32)
    V = np.random.default_rng(1).normal(size=(N_TERMS, 3)).astype(np.float32)
    found = list(map_blocks(lambda block, start: (start, block @ V), placed(X)))
    assert [start for start, _ in found] == list(range(0, N_DOCUMENTS, BLOCK))
    np.testing.assert_array_equal(np.concatenate([part for _, part in found]), X @ V)


def test_rows_without_an_entry(tmp_path: Path) -> None:
    for n_rows in (0, 3):
        found = _on_disk(sparse.csr_array((n_rows, 4)), tmp_path / str(n_rows))
        assert found.shape == (n_rows, 4)
        assert sum(block.nnz for block in blocks(found)) == 0


def test_a_folder_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    writer = PartitionWriter(tmp_path, N_TERMS)
    writer.add(_matrix())
    with pytest.raises(PartitionsDamaged, match="does not contain all rows"):
        PartitionedRows.open(tmp_path)


@pytest.mark.parametrize("name", ["indptr", "indices", "data"])
def test_a_damaged_file_is_refused(tmp_path: Path, name: str) -> None:
    rows = _on_disk(_matrix(), tmp_path)
    path = tmp_path / f"000000.{name}.npy"
    whole = path.read_bytes()
    other = (tmp_path / f"000002.{name}.npy").read_bytes()
    for content in (whole[:-4], b"", other if name != "indptr" else whole[:40]):
        path.write_bytes(content)
        with pytest.raises(PartitionsDamaged, match=path.name):
            list(blocks(rows))
    path.unlink()
    with pytest.raises(PartitionsDamaged, match=path.name):
        list(blocks(rows))


def test_rows_of_another_kind_are_refused(tmp_path: Path) -> None:
    writer = PartitionWriter(tmp_path, N_TERMS)
    writer.add(_matrix(np.float32))
    for other in (_matrix(np.float64), _matrix(np.float32)[:, :-1]):
        with pytest.raises(ValueError, match="do not go with those before"):
            writer.add(other)


def test_files_are_read_without_the_parser_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = _matrix(np.float32)
    rows = _on_disk(X, tmp_path)

    def fail(*_values: object) -> None:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr("ast.literal_eval", fail)
    np.testing.assert_array_equal(sparse.vstack(list(blocks(rows))).toarray(), X.toarray())
