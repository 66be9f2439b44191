"""The inverse of a Gram matrix that grows and shrinks by one column at a time.

A lasso path changes its set of columns at every step. Bringing the inverse along costs the square
of their number, solving anew the cube.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

# What a new column adds to those there are, as a share of its squared length, must be above this.
DEPENDENT = 1e-10
# A solution whose residual is above this, as a share of the right side, has the inverse renewed.
DRIFT = 1e-11
FIRST_CAPACITY = 32


class ActiveSet:
    """Columns in use, the Gram matrix G of them, and its inverse.

    Attributes
    ----------
    columns
        Their numbers, in no particular order.
    """

    def __init__(self) -> None:
        self.columns: list[int] = []
        self._gram = np.empty((FIRST_CAPACITY, FIRST_CAPACITY))
        self._inverse = np.empty((FIRST_CAPACITY, FIRST_CAPACITY))

    def __len__(self) -> int:
        return len(self.columns)

    def add(self, column: int, products: Doubles, square: float) -> bool:
        """Take in a column, given its products with the others and with itself.

        One that depends on the others is not taken; the answer says whether it was.
        """
        k = len(self)
        if k == len(self._gram):
            self._gram, self._inverse = _doubled(self._gram), _doubled(self._inverse)
        weights = self.solve(products)
        rest = square - products @ weights
        if not rest > DEPENDENT * square:
            return False
        self._gram[k, :k] = self._gram[:k, k] = products
        self._gram[k, k] = square
        self._inverse[:k, :k] += np.outer(weights, weights / rest)
        self._inverse[k, :k] = self._inverse[:k, k] = -weights / rest
        self._inverse[k, k] = 1 / rest
        self.columns.append(column)
        return True

    def remove(self, place: int) -> None:
        """Drop the column at this place; the last one moves there."""
        last = len(self) - 1
        self.columns[place] = self.columns[last]
        self.columns.pop()
        for matrix in (self._gram, self._inverse):
            matrix[[place, last], : last + 1] = matrix[[last, place], : last + 1]
            matrix[: last + 1, [place, last]] = matrix[: last + 1, [last, place]]
        edge = self._inverse[:last, last]
        self._inverse[:last, :last] -= np.outer(edge, edge / self._inverse[last, last])

    def solve(self, right: Doubles) -> Doubles:
        """Solve G w = right."""
        k = len(self)
        gram, inverse = self._gram[:k, :k], self._inverse[:k, :k]
        solution = inverse @ right
        residual = right - gram @ solution
        if np.abs(residual).max(initial=0) > DRIFT * np.abs(right).max(initial=0):
            inverse[:] = linalg.inv(gram)
            solution += inverse @ residual
            solution += inverse @ (right - gram @ solution)
        return np.asarray(solution)


def _doubled(matrix: Doubles) -> Doubles:
    wider = np.empty((2 * len(matrix), 2 * len(matrix)))
    wider[: len(matrix), : len(matrix)] = matrix
    return wider
