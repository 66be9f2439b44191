"""The path of one lasso regression from the β that leaves nothing down (LARS).

Documents are rows of X. For a response y the map a minimises |y - X a|² + β |a|₁. As β falls, a is
linear in β between points where a term enters or leaves: from one such point to the next every
term in use has the same absolute product β / 2 with the residual, and no other term has more
(Efron, Hastie, Johnstone, Tibshirani: Least angle regression, 2004).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from lpisearch.compute.rows import row_lengths
from lpisearch.projections.active_set import ActiveSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Matrix

    Doubles = NDArray[np.float64]

# A product that falls as fast as those in use, but for rounding, never meets them.
PARALLEL = 1e-9
# A move, or what is left of a path, of less than this share of the first β is rounding.
NO_MOVE = 1e-14
# Columns are shortened by up to this share; the conditions of the lasso hold to as much.
TIE_BREAK = 1e-11
# Products with the residual are brought along; so often they are computed anew.
RENEWAL = 25
# Paths of text take little more than one step a term; one that takes so many goes in circles.
STEPS_A_TERM = 20


class End(NamedTuple):
    """Where a path has come to, and whether that is its end."""

    columns: list[int]
    values: Doubles
    level: float
    first: float
    steps: int
    finished: bool


class Terms:
    """The columns of X, centred or not.

    Where several terms are tied, which of them are to enter is a problem of its own. So each
    column is shorter by a tiny share of its own, and no two are tied but by chance.
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
        """Take the mean out, if X is centred."""
        return documents - documents.mean() if self.centred else documents


class Path:
    """One response, and where its path has come to.

    `products` are those of all terms with the residual; `level` is the absolute product of the
    terms in use, which is β / 2. `values` and `signs` are in the order of `active.columns`.
    """

    def __init__(self, terms: Terms, response: Doubles, noise: float) -> None:
        self.terms, self.response = terms, response
        self.active = ActiveSet()
        self.used = terms.columns[:0]  # the columns of `active`, as rows
        self.products = terms.products(response)
        # What of the response, and of a product with it, is rounding.
        self.noise = noise * float(np.linalg.norm(response))
        self.floor = terms.longest * self.noise
        largest = float(np.abs(self.products).max(initial=0))
        self.level = self.first = largest if largest > self.floor else 0.0
        self.values, self.signs = np.empty(0), np.empty(0)
        # What must not enter, with this sign, before the path has moved.
        self.barred = {sign: np.zeros(len(self.products), dtype=bool) for sign in (1, -1)}

    def follow(self, most: int, least: float) -> End:
        """Walk until one more term than `most` would enter, or the level is at `least`."""
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
        """Go on to where the next term enters or leaves; say whether the path ends there."""
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
        """How far it is to where another term's product is as large as the level, and which."""
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
        """How far it is to where a coefficient becomes 0, and which."""
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

    def _leave(self, place: int) -> None:
        self._bar(self.active.columns[place], self.signs[place])
        self.active.remove(place)
        self.used = self.terms.columns[self.active.columns]
        for held in (self.values, self.signs):
            held[place] = held[-1]
        self.values, self.signs = self.values[:-1], self.signs[:-1]

    def _bar(self, term: int, sign: float) -> None:
        """Keep out what the columns in use make up, and what left, until there was a move.

        With the other sign it may come at once.
        """
        self.barred[int(sign)][term] = True

    def _renew(self) -> None:
        """Compute the products anew, free of what many steps have added up."""
        residual = self.response - self._map(self.values)
        self.products = self.terms.products(residual)

    def _settle(self) -> None:
        """Solve for the coefficients at this level afresh: G a = Xᵀ y - level · signs."""
        products = self.used @ self.response
        self.values = self.active.solve(products - self.level * self.signs)

    def _real(self) -> tuple[list[int], Doubles]:
        """Leave out terms that entered just before the end, if what they add is rounding."""
        kept = np.flatnonzero(np.abs(self.values) * row_lengths(self.used) > self.noise)
        columns = [self.active.columns[place] for place in kept]
        return columns, self.values[kept] * self.terms.shortened[columns]

    def _map(self, values: Doubles) -> Doubles:
        """X a, where only the terms in use have coefficients."""
        return self.terms.settled(np.asarray(self.used.T @ values))
