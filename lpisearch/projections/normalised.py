"""The symmetric form of a document graph, N = D^-1/2 W D^-1/2, as an operator on blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.projections.blocks import ROWS, product

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.graphs.affinity import Affinity, Floats


class NormalisedGraph:
    """N = D^-1/2 W D^-1/2 as an operator, and the direction of the constant vector."""

    def __init__(self, W: Affinity, dtype: np.dtype[Any]) -> None:
        degrees = np.where(W.component_labels >= 0, W.degrees, 0)
        self.dtype: Any = dtype
        self.total = float(degrees.sum())
        inverse = np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)
        self.roots = np.sqrt(inverse)
        self.constant = np.sqrt(degrees / max(self.total, np.finfo(float).tiny)).astype(dtype)
        self._edges: sparse.csr_array | None = None
        self._factor: Any = None
        scale = sparse.diags_array(self.roots.astype(dtype), format="csr")
        if W.edges is not None:
            self._edges = sparse.csr_array(scale @ W.edges.astype(dtype) @ scale)
        if W.factor is not None:
            self._factor = scale @ W.factor.astype(dtype)

    def __matmul__(self, block: Floats) -> Floats:
        """Multiply N by a block, shared out among threads where that pays."""
        out: Any = 0 if self._edges is None else product(self._edges, block)
        if self._factor is not None:
            out = out + self._factor @ (self._factor.T @ block)
        return self.without_constant(np.asarray(out))

    def affine(self, scale: float, shift: float) -> Callable[[Floats], Floats]:
        """Give the operator scale · N - shift · I, for use on one thread."""
        diagonal = sparse.diags_array(np.full(len(self.roots), -shift, self.dtype), format="csr")
        edges = diagonal
        if self._edges is not None:
            edges = sparse.csr_array(self.dtype.type(scale) * self._edges + diagonal)
        factor: Any = self._factor

        def multiply(block: Floats) -> Floats:
            out: Any = edges @ block
            if factor is not None:
                out += self.dtype.type(scale) * (factor @ (factor.T @ block))
            return np.asarray(out)

        return multiply

    def apply(self, block: Floats) -> Floats:
        """Multiply N by a block on the calling thread."""
        out: Any = 0 if self._edges is None else self._edges @ block
        if self._factor is not None:
            out = out + self._factor @ (self._factor.T @ block)
        return np.asarray(out)

    def without_constant(self, block: Floats) -> Floats:
        """Take the direction of the constant vector out of a block, in place."""
        shares = self.constant @ block
        for start in range(0, len(block), ROWS):
            rows = slice(start, start + ROWS)
            block[rows] -= np.multiply.outer(self.constant[rows], shares)
        return block
