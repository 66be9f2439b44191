"""The lasso by its exact path (LARS).

Documents are rows of X. For a response y the map a minimises |y - X a|² + β |a|₁. The map with a
given number of terms is found exactly, without a search for its β.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from lpisearch.methods.base import NotConverged, check_count
from lpisearch.numeric.rows import row_lengths
from lpisearch.numeric.threads import map_threads, one_blas_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix

    Doubles = NDArray[np.float64]


# A path ends at this many units of rounding in the response.
ROUNDING = 100


class Lasso(NamedTuple):
    """Terms x responses, and the β that each response reached."""

    coefficients: Floats
    penalties: Doubles


def lasso(
    X: Matrix,
    Y: Floats,
    *,
    cardinality: int | None = None,
    penalty: float | Doubles = 0.0,
    centred: bool = False,
) -> Lasso:
    """Regress every column of Y on the terms, each along its own path, in double precision.

    A path ends where more than `cardinality` terms would enter, which is the least β before the
    path first has more, and at the latest at the penalty β (one for all, or one per response).
    With `centred`, the mean of every column is subtracted from X implicitly, as if there were an
    intercept; the columns of Y must then have mean 0. A path of too many steps ends with the
    warning NotConverged: its map is exact for the β it reached, and the residual is the remaining
    distance as a share of the first β.
    """
    terms = Terms(X, centred=centred)
    most = min(X.shape) if cardinality is None else cardinality
    least = np.broadcast_to(np.asarray(penalty, dtype=np.float64) / 2, Y.shape[1:])
    noise = ROUNDING * float(np.finfo(Y.dtype).eps)

    def follow(column: int) -> End:
        path = Path(terms, Y[:, column].astype(np.float64), noise)
        return path.follow(most, float(least[column]))

    with one_blas_thread():
        ends = map_threads(follow, range(Y.shape[1]))
    coefficients = np.zeros((X.shape[1], Y.shape[1]), dtype=X.dtype)
    for column, end in enumerate(ends):
        coefficients[end.columns, column] = end.values
        if not end.finished:
            left = (end.level - least[column]) / end.first
            what = f"The lasso path of response {column}"
            warnings.warn(NotConverged(what, end.steps, left, NO_MOVE), stacklevel=2)
    return Lasso(coefficients, np.array([2 * end.level for end in ends]))


def vanishing_penalties(X: Matrix, Y: Floats) -> Doubles:
    """Return, for each response, the least β with all coefficients 0: twice the largest |Xᵀ y|."""
    products = np.asarray(X.T.astype(np.float64) @ Y.astype(np.float64))
    return np.asarray(2 * np.abs(products).max(axis=0, initial=0))


def cardinality_for(value: int | str, n_terms: int) -> int:
    """Resolve the number of terms in a dimension: "auto" is √n_terms, rounded up."""
    check_count("cardinality", value, auto=True)
    if isinstance(value, str):
        return math.isqrt(n_terms - 1) + 1
    if value > n_terms:
        raise ValueError(f"cardinality is {value}, but there are only {n_terms} terms.")
    return int(value)


# A product that falls as fast as the active ones, except for rounding, never meets them.
PARALLEL = 1e-9
# A move, or the rest of a path, of less than this share of the first β is rounding.
NO_MOVE = 1e-14
# Columns are shortened by up to this share, which is the accuracy of the lasso conditions.
TIE_BREAK = 1e-11
# Products with the residual are updated, and recomputed after so many steps.
RENEWAL = 25
# Paths of text take little more than one step per term; one of so many steps is cycling.
STEPS_A_TERM = 20


class End(NamedTuple):
    """The state of a path, and whether it reached its end."""

    columns: list[int]
    values: Doubles
    level: float
    first: float
    steps: int
    finished: bool


class Terms:
    """The columns of X, centred or not.

    Each column is shortened by a tiny random share, because choosing among tied terms would be a
    problem of its own.
    """

    def __init__(self, X: Matrix, *, centred: bool) -> None:
        self.columns: Any = sparse.csr_array(X.T.astype(np.float64))
        self.shortened = 1 - TIE_BREAK * np.random.default_rng(0).random((X.shape[1],))
        self.columns.data *= np.repeat(self.shortened, np.diff(self.columns.indptr))
        self.centred = centred
        self.longest = float(row_lengths(self.columns).max(initial=0))

    def products(self, documents: Doubles) -> Doubles:
        """Xᵀ u, where u has mean 0 if X is centred."""
        return np.asarray(self.columns @ documents)

    def column(self, term: int) -> Doubles:
        """One column of X."""
        start, stop = self.columns.indptr[term : term + 2]
        full = np.zeros(self.columns.shape[1])
        full[self.columns.indices[start:stop]] = self.columns.data[start:stop]
        return self.settled(full)

    def settled(self, documents: Doubles) -> Doubles:
        """Subtract the mean if X is centred."""
        return documents - documents.mean() if self.centred else documents


class Path:
    """The lasso path of one response.

    As β falls, a is linear in β between points where a term enters or leaves: between two of them
    all active terms have the same absolute product β / 2 with the residual, and no other term has
    more (Efron, Hastie, Johnstone, Tibshirani: Least angle regression, 2004). `products` are those
    of all terms with the residual; `level` is β / 2; `values` and `signs` are in the order of
    `active.columns`.
    """

    def __init__(self, terms: Terms, response: Doubles, noise: float) -> None:
        self.terms, self.response = terms, response
        self.active = ActiveSet()
        self.used = terms.columns[:0]  # the columns of `active`, as rows
        self.products = terms.products(response)
        # Rounding in the response, and in a product with it.
        self.noise = noise * float(np.linalg.norm(response))
        self.floor = terms.longest * self.noise
        largest = float(np.abs(self.products).max(initial=0))
        self.level = self.first = largest if largest > self.floor else 0.0
        self.values, self.signs = np.empty(0), np.empty(0)
        # Terms that must not enter, with this sign, before the path has moved.
        self.barred = {sign: np.zeros(len(self.products), dtype=bool) for sign in (1, -1)}

    def follow(self, most: int, least: float) -> End:
        """Walk until more than `most` terms would enter, or the level is at `least`."""
        finished = self.level <= least
        if not finished:
            self._enter(int(np.abs(self.products).argmax()))
        steps, limit = 0, STEPS_A_TERM * (most + 10)
        while not finished and steps < limit:
            finished = self._step(most, least)
            steps += 1
            if steps % RENEWAL == 0:
                self._renew()
        self._settle()
        columns, values = self._real()
        return End(columns, values, self.level, self.first, steps, finished)

    def _step(self, most: int, least: float) -> bool:
        """Walk to where the next term enters or leaves; return whether the path ends there."""
        direction = self.active.solve(self.signs)
        change = self.terms.products(self._map(direction))
        entry, entering = self._next_entry(change)
        exit_, leaving = self._next_exit(direction)
        length = min(entry, exit_, self.level - least)
        self.values = self.values + length * direction
        self.products -= length * change
        self.level -= length
        if length > NO_MOVE * self.first:
            self.barred[1][:] = self.barred[-1][:] = False
        if self.level - least < NO_MOVE * self.first or self.level < self.floor:
            return True
        if length == exit_:
            self._leave(leaving)
        elif len(self.active) == most:
            return True
        else:
            self._enter(entering)
        return False

    def _next_entry(self, change: Doubles) -> tuple[float, int]:
        """Return the distance to where another term's product reaches the level, and the term."""
        lengths = np.full(len(change), np.inf)
        for sign, barred in self.barred.items():
            closing = 1 - sign * change
            meets = (closing > PARALLEL) & ~barred
            gap = np.maximum(self.level - sign * self.products, 0)  # below 0 only by rounding
            np.divide(gap, closing, out=gap, where=meets)
            np.minimum(lengths, gap, out=lengths, where=meets)
        lengths[self.active.columns] = np.inf
        nearest = int(lengths.argmin())
        return float(lengths[nearest]), nearest

    def _next_exit(self, direction: Doubles) -> tuple[float, int]:
        """Return the distance to where a coefficient becomes 0, and its position."""
        shrinks = direction * self.signs < 0
        lengths = np.full(len(direction), np.inf)
        lengths[shrinks] = np.abs(self.values[shrinks] / direction[shrinks])
        nearest = int(lengths.argmin())
        return float(lengths[nearest]), nearest

    def _enter(self, term: int) -> None:
        column = self.terms.column(term)
        if self.active.add(term, self.used @ column, float(column @ column)):
            self.used = self.terms.columns[self.active.columns]
            self.values = np.append(self.values, 0.0)
            self.signs = np.append(self.signs, np.sign(self.products[term]))
        else:
            self._bar(term, np.sign(self.products[term]))

    def _leave(self, position: int) -> None:
        self._bar(self.active.columns[position], self.signs[position])
        self.active.remove(position)
        self.used = self.terms.columns[self.active.columns]
        for array in (self.values, self.signs):
            array[position] = array[-1]
        self.values, self.signs = self.values[:-1], self.signs[:-1]

    def _bar(self, term: int, sign: float) -> None:
        """Bar a dependent term, or one that left, with this sign until the path has moved."""
        self.barred[int(sign)][term] = True

    def _renew(self) -> None:
        """Recompute the products, without accumulated rounding."""
        residual = self.response - self._map(self.values)
        self.products = self.terms.products(residual)

    def _settle(self) -> None:
        """Solve for the coefficients at this level: G a = Xᵀ y - level · signs."""
        products = self.used @ self.response
        self.values = self.active.solve(products - self.level * self.signs)

    def _real(self) -> tuple[list[int], Doubles]:
        """Drop terms that entered just before the end if their share is rounding."""
        real = np.flatnonzero(np.abs(self.values) * row_lengths(self.used) > self.noise)
        columns = [self.active.columns[position] for position in real]
        return columns, self.values[real] * self.terms.shortened[columns]

    def _map(self, values: Doubles) -> Doubles:
        """X a, where only the active terms have coefficients."""
        return self.terms.settled(np.asarray(self.used.T @ values))


# The independent share of the squared length of a new column must be above this.
DEPENDENT = 1e-10
# The inverse is recomputed if the residual of a solution exceeds this share of the right side.
DRIFT = 1e-11
FIRST_CAPACITY = 32


class ActiveSet:
    """The active columns (in no particular order), their Gram matrix G, and its inverse.

    Updating the inverse costs the square of the number of columns, solving again the cube.
    """

    def __init__(self) -> None:
        self.columns: list[int] = []
        self._gram = np.empty((FIRST_CAPACITY, FIRST_CAPACITY))
        self._inverse = np.empty((FIRST_CAPACITY, FIRST_CAPACITY))

    def __len__(self) -> int:
        return len(self.columns)

    def add(self, column: int, products: Doubles, square: float) -> bool:
        """Add a column by its products with the others and itself; return False if dependent."""
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

    def remove(self, position: int) -> None:
        """Remove the column at this position; the last one moves there."""
        last = len(self) - 1
        self.columns[position] = self.columns[last]
        self.columns.pop()
        for matrix in (self._gram, self._inverse):
            matrix[[position, last], : last + 1] = matrix[[last, position], : last + 1]
            matrix[: last + 1, [position, last]] = matrix[: last + 1, [last, position]]
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
