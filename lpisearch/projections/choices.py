"""Automatic choice of the ridge strength α and the number of dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg

from lpisearch.compute.rows import row_lengths
from lpisearch.projections.blocks import product, transposed

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from lpisearch.graphs.affinity import Floats, Matrix

    Multiply: TypeAlias = Callable[[Floats], Floats]

ALPHAS = np.logspace(-2, 2, 33)
# Plain generalised cross-validation takes α too small where rows are not independent draws, and
# neighbours in a corpus are not. The usual remedy is to weight the degrees of freedom by 1.2 to
# 1.4 (Kim and Gu, Smoothing spline Gaussian regression, 2004). Responses from a graph repeat what
# the documents share, those from labels less so: docs/projections.md.
GRAPH_COST = 1.4
LABEL_COST = 1.2
PROBES = 8
LANCZOS_STEPS = 20

MOST_DIMENSIONS = 300
LEAST_WEIGHT = 0.05


def choose_dimensions(eigenvalues: Floats, power: float) -> int:
    """Choose how many dimensions to keep from the spectrum of the graph, largest first.

    A dimension counts by λ^power where documents are compared. Kept are those that count at
    least a twentieth of the first, and no more than 300: docs/ranking.md.
    """
    weights = np.maximum(eigenvalues[:MOST_DIMENSIONS], 0) ** max(power, 1)
    return int(np.count_nonzero(weights >= LEAST_WEIGHT * weights[:1].max(initial=0)))


def choose_alpha(
    X: Matrix,
    Y: Floats,
    weights: Floats,
    rng: np.random.Generator,
    *,
    cost: float = GRAPH_COST,
) -> float:
    """Choose α by modified generalised cross-validation, from 0.01 to 100.

    It is the α with the least |(I - S)Y|² / (1 - cost · tr(S)/n)², where S = K (K + αI)⁻¹,
    K = X Xᵀ, n is the number of documents with a term, and responses count by their weight.
    Both parts are sums of vᵀ f(K) v: over random combinations v of the responses for the one,
    over random signs for the other. A few Lanczos steps with X, on all of them at once, give
    these for every α by Gauss quadrature, at the price of a few columns of the regression.
    """
    n = int(np.count_nonzero(row_lengths(X)))
    return _choose_alpha(_of_rows(X), n, Y.astype(X.dtype, copy=False), weights, rng, cost=cost)


def choose_kernel_alpha(
    K: Floats, Y: Floats, weights: Floats, rng: np.random.Generator, *, cost: float = GRAPH_COST
) -> float:
    """Choose α in the same way for a kernel matrix K, documents x documents."""
    return _choose_alpha(lambda block: np.asarray(K @ block), len(K), Y, weights, rng, cost=cost)


def alpha_of_spectrum(
    values: Floats, energies: Floats, beyond: float, n: int, *, cost: float = GRAPH_COST
) -> float:
    """Choose α in the same way where the eigenvalues of K are known: nothing is estimated.

    Parameters
    ----------
    values
        Those above zero.
    energies
        The squared components of the responses along each eigenvector, weighted and summed.
    beyond
        The same of all that is orthogonal to them.
    n
        Documents with a term.
    """
    scores = []
    for alpha in ALPHAS:
        shrunk = alpha / (values + alpha)
        left = 1 - cost * np.sum(1 - shrunk) / n
        residual = beyond + np.sum(energies * shrunk**2)
        scores.append(residual / left**2 if left > 0 else np.inf)
    return float(ALPHAS[int(np.argmin(scores))])


def _choose_alpha(
    multiply: Multiply,
    n: int,
    Y: Floats,
    weights: Floats,
    rng: np.random.Generator,
    *,
    cost: float,
) -> float:
    mixing = rng.choice([-1.0, 1.0], (Y.shape[1], PROBES)) * np.sqrt(weights)[:, np.newaxis]
    signs = rng.choice([-1.0, 1.0], (len(Y), PROBES))
    probes = np.concatenate([Y @ mixing.astype(Y.dtype), signs], axis=1).astype(Y.dtype)
    nodes, masses = _quadrature(multiply, probes, min(LANCZOS_STEPS, n))
    scores = [_score(nodes, masses, alpha, n, cost) for alpha in ALPHAS]
    return float(ALPHAS[int(np.argmin(scores))])


def _of_rows(X: Matrix) -> Multiply:
    """Multiply by K = X Xᵀ without making it."""
    Xt = transposed(X)
    return lambda block: product(X, product(Xt, block))


def _quadrature(multiply: Multiply, probes: Floats, steps: int) -> tuple[Floats, Floats]:
    """Give nodes and masses (probes x steps): vᵀ f(X Xᵀ) v is about the sum of mass · f(node).

    They are the eigenvalues, and the squared first components of the eigenvectors, of the
    tridiagonal matrices that `steps` Lanczos steps with X Xᵀ make from each probe v.
    """
    dtype = probes.dtype
    lengths = np.asarray(linalg.norm(probes, axis=0))
    now, before = _divided(probes, lengths), np.zeros_like(probes)
    diagonal = np.zeros((steps, probes.shape[1]))
    beside = np.zeros((steps, probes.shape[1]))
    for step in range(steps):
        image = multiply(now) - before * beside[step - 1].astype(dtype)
        diagonal[step] = np.einsum("ij,ij->j", image, now)
        image -= now * diagonal[step].astype(dtype)
        beside[step] = linalg.norm(image, axis=0)
        before, now = now, _divided(image, beside[step])
    nodes, masses = np.empty_like(diagonal.T), np.empty_like(diagonal.T)
    for column, length in enumerate(lengths):
        values, vectors = linalg.eigh_tridiagonal(diagonal[:, column], beside[:-1, column])
        nodes[column], masses[column] = np.maximum(values, 0), np.square(length * vectors[0])
    return nodes, masses


def _score(nodes: Floats, masses: Floats, alpha: float, n: int, cost: float) -> float:
    """Estimate the error of prediction; infinite where the degrees of freedom are used up."""
    shrunk = alpha / (nodes + alpha)
    residual = np.sum((masses * shrunk**2)[:PROBES])
    freedom = np.sum((masses * (1 - shrunk))[PROBES:]) / PROBES
    left = 1 - cost * freedom / n
    return float(residual / left**2) if left > 0 else float("inf")


def _divided(block: Floats, lengths: Any) -> Floats:
    """Bring columns to unit length; one that has come to its end becomes 0."""
    safe = lengths > np.finfo(block.dtype).eps * np.max(lengths, initial=0)
    inverse = np.divide(1, lengths, out=np.zeros(len(lengths)), where=safe)
    return np.asarray(block * inverse.astype(block.dtype))
