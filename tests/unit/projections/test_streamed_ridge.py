from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.compute.row_blocks import InMemory, blocks
from lpisearch.compute.shards import ShardWriter
from lpisearch.projections.least_squares import ridge
from lpisearch.projections.streamed_ridge import streamed_ridge

if TYPE_CHECKING:
    from pathlib import Path


def _problem(n: int, n_terms: int) -> tuple[sparse.csr_array, Any]:
    rng = np.random.default_rng(0)
    X = rng.poisson(0.2, (n, n_terms)) * (0.5 + rng.random((n, n_terms)))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
    return sparse.csr_array(X), rng.standard_normal((n, 50))


@pytest.mark.parametrize("shape", [(60, 100), (150, 40)])
@pytest.mark.parametrize("alpha", [0.1, 2.0])
def test_it_is_ridge_regression(shape: tuple[int, int], alpha: float, tmp_path: Path) -> None:
    """From memory and from files, with responses in a file, it is the solution of `ridge`."""
    X, Y = _problem(*shape)
    expected = ridge(X, Y, alpha, solver="dense").coefficients
    writer = ShardWriter(tmp_path / "rows", X.shape[1])
    for block in blocks(InMemory(X, 16)):
        writer.add(block)
    np.save(tmp_path / "Y.npy", Y)
    mapped = np.load(tmp_path / "Y.npy", mmap_mode="r")
    for rows, responses in ((InMemory(X, 16), Y), (writer.finish(), mapped)):
        found = streamed_ridge(rows, responses, alpha, tolerance=1e-10)
        np.testing.assert_allclose(found.coefficients, expected, atol=1e-7)
        assert found.residual < 1e-10
        assert found.steps > 0


def test_a_looser_tolerance_takes_fewer_passes() -> None:
    """The residual that is asked for decides when to stop, by the weight of each response."""
    X, Y = _problem(200, 120)
    rows = InMemory(X, 64)
    loose, tight = (streamed_ridge(rows, Y[:, :3], 0.1, tolerance=each) for each in (0.1, 1e-6))
    assert 0 < loose.steps < tight.steps
    assert loose.residual <= 0.1


def test_responses_for_every_document() -> None:
    """A row of responses too few is a stated error."""
    X, Y = _problem(30, 20)
    with pytest.raises(ValueError, match="30 documents, but 29 rows"):
        streamed_ridge(InMemory(X), Y[:-1], 1.0)
