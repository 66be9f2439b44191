"""The methods as the papers write them, dense and slow: nothing here comes from the package.

Documents are rows of X; W is the full affinity matrix, D the diagonal of its row sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg


def documents(n: int, n_terms: int, n_topics: int = 6, seed: int = 0) -> Any:
    """Draw documents of some topics, each with words of its own, at unit length."""
    rng = np.random.default_rng(seed)
    topics = rng.random((n_topics, n_terms)) ** 12
    topics /= topics.sum(axis=1, keepdims=True)
    mixtures = rng.dirichlet(np.full(n_topics, 0.15), n)
    X = rng.poisson(60 * mixtures @ topics).astype(float)
    X[np.arange(n), rng.integers(n_terms, size=n)] += 1
    X *= rng.uniform(0.9, 1.1, X.shape)  # no two cosines are equal
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def nearest(X: Any, p: int) -> Any:
    """Join each document to the p nearest by cosine, if either names the other."""
    cosines = X @ X.T
    np.fill_diagonal(cosines, 0)
    named = np.zeros_like(cosines)
    columns = np.argsort(-cosines, axis=1, kind="stable")[:, :p]
    np.put_along_axis(named, columns, np.take_along_axis(cosines, columns, axis=1), axis=1)
    return np.maximum(named, named.T)


def eigenmap(W: Any, count: int) -> tuple[Any, Any]:
    """Solve W y = λ D y; leave out the constant vector, which comes first."""
    last = len(W) - 1
    values, vectors = linalg.eigh(W, np.diag(W.sum(axis=1)), subset_by_index=(last - count, last))
    return values[::-1][1 : count + 1], vectors[:, ::-1][:, 1 : count + 1]


def rlpi(X: Any, Y: Any, alpha: float) -> Any:
    """Regress by the normal equations of the smaller side; by the pseudo-inverse if α is 0."""
    if alpha == 0:
        return np.linalg.pinv(X) @ Y
    if X.shape[0] < X.shape[1]:
        return X.T @ np.linalg.solve(X @ X.T + alpha * np.eye(len(X)), Y)
    return np.linalg.solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T @ Y)


def lpi(X: Any, W: Any, count: int, space: int | None = None) -> tuple[Any, Any]:
    """Solve Zᵀ W Z b = λ Zᵀ D Z b in the leading part of the SVD space, a = V b.

    What is nearest to the constant is taken out by looking on its complement only.
    """
    V = np.linalg.svd(X, full_matrices=False)[2][:space].T
    Z, d = X @ V, W.sum(axis=1)
    complement = linalg.null_space((d @ Z)[np.newaxis])
    Z, V = Z @ complement, V @ complement
    values, b = linalg.eigh(Z.T @ W @ Z, Z.T @ (d[:, np.newaxis] * Z))
    return values[::-1][:count], (V @ b[:, ::-1])[:, :count]


def olpi(X: Any, W: Any, count: int, space: int | None = None) -> Any:
    """Minimise aᵀ Xᵀ L X a / aᵀ Xᵀ D X a on the complement of what there is, one by one."""
    V = np.linalg.svd(X, full_matrices=False)[2][:space].T
    Z, D = X @ V, np.diag(W.sum(axis=1))
    A, B = Z.T @ W @ Z, Z.T @ D @ Z
    taken = np.zeros((Z.shape[1], 0))
    for _ in range(count):
        C = linalg.null_space(taken.T) if taken.size else np.eye(Z.shape[1])
        best = C @ linalg.eigh(C.T @ A @ C, C.T @ B @ C)[1][:, -1]
        taken = np.column_stack([taken, best / np.linalg.norm(best)])
    return V @ taken
