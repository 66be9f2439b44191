"""Ridge regression on documents that do not fit into memory (rlpi-2007, section 3.4).

The primal form (Xᵀ X + αI) A = Xᵀ Y is solved by block conjugate gradients, all responses together:
a step is one pass over the documents, and what is held is a few arrays of terms x responses and one
block of documents. Memory does not depend on the number of documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lpisearch.compute.row_blocks import gram_times, transposed_times
from lpisearch.projections.least_squares import (
    REGRESSION_TOLERANCE,
    Ridge,
    block_conjugate_gradients,
)

if TYPE_CHECKING:
    from lpisearch.compute.row_blocks import RowBlocks
    from lpisearch.graphs.affinity import Floats


def streamed_ridge(
    rows: RowBlocks,
    Y: Floats,
    alpha: float,
    *,
    weights: Floats | None = None,
    tolerance: float = REGRESSION_TOLERANCE,
) -> Ridge:
    """Regress all responses on the documents together, block by block.

    Parameters
    ----------
    rows
        The documents, in memory or on disk.
    Y
        Documents x responses; an array that is mapped from a file is read block by block.
    alpha
        Strength of the penalty.
    weights
        How much each response counts where the solver decides to stop.
    tolerance
        It stops when the residuals of the equation above, each as a share of its right side, have
        a weighted root mean square below this.

    Raises
    ------
    ValueError
        There is not one row of responses for each document.
    """
    if len(Y) != rows.shape[0]:
        raise ValueError(f"There are {rows.shape[0]} documents, but {len(Y)} rows of responses.")
    importance = np.ones(Y.shape[1]) if weights is None else weights
    strength = rows.dtype.type(alpha)

    def shifted(block: Floats) -> Floats:
        image = gram_times(rows, block)
        image += strength * block
        return image

    right = transposed_times(rows, Y)
    goal = tolerance**2 * float(importance.sum())
    solved = block_conjugate_gradients(shifted, right, importance, goal)
    residual = float(np.sqrt(solved.left / importance.sum()))
    return Ridge(solved.solution, solved.steps, residual)
