"""Leading eigenvectors of a document graph.

They are computed from the symmetric N = D^-1/2 W D^-1/2, whose eigenvectors v give y = D^-1/2 v.
The constant vector (eigenvalue 1), which distinguishes no documents, is removed beforehand. A
graph of k connected parts has the eigenvalue 1 k times; the other k - 1 vectors distinguish the
parts and are kept. Isolated documents are left out: their entries are 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from lpisearch.methods.base import check_choice
from lpisearch.methods.linalg import ROWS, combined, gram, whitening
from lpisearch.numeric.threads import map_threads, one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.graphs.affinity import Affinity, Floats, Matrix


SOLVERS = ("auto", "block", "arpack", "dense")
DENSE_DOCUMENTS = 600
OVERSAMPLING = 20
# Columns that a thread filters at a time, so that the blocks of the recurrence stay in its cache.
PANEL = 48
FIRST_DEGREE, FILTER_DEGREE = 10, 14
# The first filter keeps about so many times the columns of the block.
KEPT = 2
# Single precision loses directions that grow so much less than others.
MOST_GROWTH = 1e7
MAX_ROUNDS = 12
ARPACK_TOLERANCE = 1e-6
LANCZOS_STEPS = 12
NOISE = 0.01
# An eigenvalue below so many units of rounding is 0.
ROUNDING = 1000


class GraphVectors(NamedTuple):
    """Eigenvectors y of W y = λ D y without the constant one, and their λ, largest first.

    `vectors` is documents x k; yᵀ D y is the sum of the degrees, so that a typical entry is 1.
    """

    vectors: Floats
    values: Floats
    rounds: int


def graph_vectors(
    W: Affinity,
    count: int,
    *,
    rng: np.random.Generator,
    start: Matrix | None = None,
    solver: str = "auto",
    power: float = 2.0,
    tolerance: float = 0.05,
    dtype: Any = np.float64,
) -> GraphVectors:
    """Find the `count` leading eigenvectors with λ > 0, or all there are.

    The solver "block" is subspace iteration with a Chebyshev filter, "arpack" Lanczos to full
    precision, "dense" LAPACK; "auto" is dense up to 600 documents or for more than a third of all
    vectors, else block. The block solver starts from a random projection of the documents `start`
    (rows). It stops when another round, judged by the last two, would move the subspace by less
    than the share `tolerance`, each direction weighted by λ^power.
    """
    check_choice("solver", solver, SOLVERS)
    graph = NormalisedGraph(W, np.dtype(dtype))
    n = int(np.count_nonzero(graph.roots))
    count = min(count, max(n - 1, 0))
    width = count + max(OVERSAMPLING, count // 8)
    if solver == "auto":
        solver = "dense" if n <= DENSE_DOCUMENTS or 3 * width > n else "block"
    rounds = 0
    values: Floats = np.empty(0)
    vectors: Floats = np.empty((W.shape[0], 0))
    if count == 0:
        pass
    elif solver == "dense" or width >= n:
        values, vectors = _dense(graph, count)
    elif solver == "arpack":
        values, vectors = _arpack(graph, count, rng)
    else:
        # The threads are ours; BLAS threads would wait for each other on every small matrix.
        with one_blas_thread():
            block = _first_block(graph, start, width, rng)
            values, vectors, rounds = _filtered(graph, block, count, power, tolerance)
    keep = values > ROUNDING * np.finfo(graph.dtype).eps
    scale = (graph.roots * np.sqrt(graph.total))[:, np.newaxis]
    y = (vectors[:, keep] * scale).astype(graph.dtype)
    return GraphVectors(y, values[keep].astype(graph.dtype), rounds)


def _dense(graph: NormalisedGraph, count: int) -> tuple[Floats, Floats]:
    """Solve the full problem on the linked documents, with the constant vector moved to -2."""
    active = np.flatnonzero(graph.roots)
    columns = np.eye(len(graph.roots), dtype=graph.dtype)[:, active]
    N = graph.multiply(columns)[active].astype(np.float64)
    u = graph.constant[active].astype(np.float64)
    N = (N + N.T) / 2 - 3 * np.outer(u, u)
    last = len(active) - 1
    values, small = linalg.eigh(N, subset_by_index=(last - count + 1, last), driver="evr")
    vectors: Floats = np.zeros((len(graph.roots), count))
    vectors[active] = small
    return values[::-1], vectors[:, ::-1]


def _arpack(graph: NormalisedGraph, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Lanczos with restarts: the reference, slow if many eigenvalues are near 1."""
    n = len(graph.roots)
    operator = LinearOperator((n, n), matvec=lambda v: graph @ v, dtype=graph.dtype)
    start = graph.without_constant(rng.standard_normal(n, dtype=graph.dtype))
    values, vectors = eigsh(operator, k=count, which="LA", v0=start, tol=ARPACK_TOLERANCE)
    return values[::-1], vectors[:, ::-1]


def _first_block(
    graph: NormalisedGraph, start: Matrix | None, width: int, rng: np.random.Generator
) -> Floats:
    """Add each term, with a random sign, to a random column.

    Noise is added, because documents of few different words do not span the block.
    """
    block = _noise(rng, (len(graph.roots), width), graph.dtype)
    if start is not None:
        terms = np.arange(start.shape[1])
        signs = rng.choice(np.array([-1, 1], graph.dtype), len(terms))
        entries = (signs, (terms, rng.integers(width, size=len(terms))))
        image: Any = start @ sparse.csr_array(entries, shape=(len(terms), width))
        block *= graph.dtype.type(NOISE)
        block += image if isinstance(image, np.ndarray) else image.toarray()
    return graph.without_constant(block)


def _noise(rng: np.random.Generator, size: tuple[int, ...], dtype: Any) -> Floats:
    """Draw uniformly from [-0.5, 0.5): as good as normal here, and faster."""
    return np.asarray(rng.random(size, dtype=dtype) - dtype.type(0.5))


def _filtered(
    graph: NormalisedGraph, block: Floats, count: int, power: float, tolerance: float
) -> tuple[Floats, Floats, int]:
    """Iterate a subspace; each round damps the lower part of the spectrum.

    The filter is a Chebyshev polynomial of N: small from the lowest eigenvalue up to the last
    Ritz value of the round before, or an estimate, and steep above it (Zhou and Saad, 2006).
    """
    low, high = _spread(graph, KEPT * block.shape[1])
    values, basis = _ritz(graph, _chebyshev(graph, block, low, high, FIRST_DEGREE))
    rounds, moved, expected = 0, 1.0, 1.0
    while rounds < MAX_ROUNDS and expected > tolerance:
        before = basis[:, :count]
        high = max(values[-1], 0.0)
        values, basis = _ritz(graph, _chebyshev(graph, basis, low, high, FILTER_DEGREE))
        weights = np.maximum(values[:count], 0) ** (2 * power)
        overlap = np.square(gram(before, basis[:, :count], graph.dtype)).sum(axis=0)
        moved_before = moved
        moved = float(np.sum(weights * (1 - overlap)) / max(np.sum(weights), np.finfo(float).tiny))
        # How far the next round would move it if the steps keep shrinking at this rate.
        expected = moved * min(moved / moved_before, 1) if moved > 0 else 0
        rounds += 1
    return values[:count], basis[:, :count], rounds


def _spread(graph: NormalisedGraph, kept: int) -> tuple[float, float]:
    """Bound the lowest eigenvalue from below; estimate which one has `kept` others above it.

    Lanczos steps give Ritz values, a residual, and the share of the spectrum near each of them.
    """
    n = len(graph.roots)
    v = graph.without_constant(_noise(np.random.default_rng(n), (n,), graph.dtype))
    v /= linalg.norm(v)
    before, beta = np.zeros_like(v), 0.0
    alphas: list[float] = []
    betas: list[float] = []
    for _ in range(LANCZOS_STEPS):
        w = graph.multiply(v) - beta * before
        alphas.append(float(w @ v))
        w -= alphas[-1] * v
        beta = float(linalg.norm(w))
        betas.append(beta)
        if beta < ARPACK_TOLERANCE:
            break
        before, v = v, w / w.dtype.type(beta)
    ritz, small = linalg.eigh_tridiagonal(alphas, betas[:-1])
    low = float(max(ritz[0] - abs(betas[-1] * small[-1, 0]), -1.0))
    shares = np.square(small[0])
    high = float(np.interp(1 - kept / n, np.cumsum(shares) - shares / 2, ritz))
    return low, max(high, 0.0)


def _chebyshev(graph: NormalisedGraph, block: Floats, low: float, high: float, most: int) -> Floats:
    """Filter a block, its panels of columns in threads."""
    centre, half = (low + high) / 2, max((high - low) / 2, ARPACK_TOLERANCE)
    steepness = np.arccosh(max((1 - centre) / half, 1 + ARPACK_TOLERANCE))
    degree = int(np.clip(np.log(2 * MOST_GROWTH) / steepness, 1, most))
    twice = graph.affine(2 / half, 2 * centre / half)
    cuts = np.linspace(0, block.shape[1], -(-block.shape[1] // PANEL) + 1).astype(int)
    out = np.empty_like(block)

    def run(start: int, stop: int) -> None:
        before = np.ascontiguousarray(block[:, start:stop])
        now = twice(before)
        now /= 2
        for _ in range(degree - 1):
            following = twice(now)
            following -= before
            before, now = now, following
        # Otherwise rounding would hide columns that grew by much smaller factors.
        now /= np.maximum(linalg.norm(now, axis=0), np.finfo(now.dtype).tiny)
        out[:, start:stop] = now

    map_threads(run, cuts[:-1], cuts[1:])
    return out


def _ritz(graph: NormalisedGraph, block: Floats) -> tuple[Floats, Floats]:
    """Return Ritz values and vectors of the span of a block, largest first."""
    eps = np.finfo(graph.dtype).eps
    graph.without_constant(block)
    basis = combined(block, whitening(gram(block, block), np.square(10 * eps)))
    del block
    # The basis is only nearly orthonormal; the small matrices correct for it.
    correction = whitening(gram(basis, basis, graph.dtype), np.sqrt(eps))
    small = correction.T @ gram(basis, graph @ basis, graph.dtype) @ correction
    values, vectors = linalg.eigh((small + small.T) / 2)
    return values[::-1], combined(basis, correction @ vectors[:, ::-1], graph.dtype)


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
        self.multiply = self.affine(1, 0)

    def __matmul__(self, block: Floats) -> Floats:
        """Multiply N by a block, without the constant direction."""
        return self.without_constant(self.multiply(block))

    def affine(self, scale: float, shift: float) -> Callable[[Floats], Floats]:
        """Return the operator scale · N - shift · I, for use on one thread."""
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

    def without_constant(self, block: Floats) -> Floats:
        """Remove the direction of the constant vector from a block, in place."""
        shares = self.constant @ block
        for start in range(0, len(block), ROWS):
            rows = slice(start, start + ROWS)
            block[rows] -= np.multiply.outer(self.constant[rows], shares)
        return block
