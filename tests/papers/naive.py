"""The methods as the papers write them, dense and slow: nothing here comes from the package.

Documents are rows of X; W is the full affinity matrix, D the diagonal of its row sums.
"""

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


def terms_space(X: Any) -> Any:
    """Give the right singular vectors as columns, largest singular value first, to the rank."""
    _, scales, Vt = np.linalg.svd(X, full_matrices=False)
    return Vt[scales > 1e-10 * scales[0]].T


def lsi(X: Any, count: int) -> tuple[Any, Any]:
    """Find the largest eigenvalues of X Xᵀ and the documents' places, up to scale."""
    last = len(X) - 1
    values, U = linalg.eigh(X @ X.T, subset_by_index=(last - count + 1, last))
    return values[::-1], U[:, ::-1]


def kernel_ridge(K: Any, Y: Any, alpha: float, chosen: Any = None) -> Any:
    """Give the places K C, for (K + αI) C = Y; with a coefficient for some documents alone."""
    if chosen is None:
        return K @ np.linalg.solve(K + alpha * np.eye(len(K)), Y)
    some, own = K[:, chosen], K[np.ix_(chosen, chosen)]
    return some @ np.linalg.solve(some.T @ some + alpha * own, some.T @ Y)


def indicators(y: Any) -> Any:
    """Give class indicators orthogonal to the constant and to each other, by Gram and Schmidt."""
    basis = [np.ones(len(y)) / np.sqrt(len(y))]
    for label in np.unique(y)[:-1]:
        v = (y == label) * 1.0
        for before in basis:
            v = v - before * (before @ v)
        basis.append(v / np.linalg.norm(v))
    return np.column_stack(basis[1:]) * np.sqrt(len(y))


def laplacian_scores(X: Any, W: Any) -> Any:
    """Give fᵀ L f / fᵀ D f of each term, about its mean by degrees; a term of none comes last."""
    d = W.sum(axis=1)
    F = X - (d @ X) / d.sum()
    weight = d @ F**2
    some = weight > 0
    scores = np.full(X.shape[1], np.inf)
    scores[some] = 1 - np.einsum("ij,ij->j", F[:, some], W @ F[:, some]) / weight[some]
    return scores


def lpp(X: Any, W: Any, count: int, V: Any) -> tuple[Any, Any]:
    """Solve Zᵀ W Z a = λ Zᵀ D Z a in a space V, Z the documents about their mean."""
    Z, d = (X - X.mean(axis=0)) @ V, W.sum(axis=1)
    last = V.shape[1] - 1
    values, b = linalg.eigh(
        Z.T @ W @ Z, Z.T @ (d[:, np.newaxis] * Z), subset_by_index=(last - count + 1, last)
    )
    return values[::-1], V @ b[:, ::-1]


def lpi(X: Any, W: Any, count: int, space: int | None = None, V: Any = None) -> tuple[Any, Any]:
    """Solve Zᵀ W Z b = λ Zᵀ D Z b in the leading part of the SVD space, a = V b.

    A direction that is constant is taken out by looking on its complement only.
    """
    V = (terms_space(X) if V is None else V)[:, :space]
    Z, d = X @ V, W.sum(axis=1)
    moment = d @ Z
    if moment @ linalg.solve(Z.T @ (d[:, np.newaxis] * Z), moment) > (1 - 1e-6) * d.sum():
        complement = linalg.null_space(moment[np.newaxis])
        Z, V = Z @ complement, V @ complement
    values, b = linalg.eigh(Z.T @ W @ Z, Z.T @ (d[:, np.newaxis] * Z))
    return values[::-1][:count], (V @ b[:, ::-1])[:, :count]


def locality(X: Any, W: Any, a: Any) -> Any:
    """Return aᵀ Xᵀ L X a / aᵀ Xᵀ D X a of each column."""
    Z, d = X @ a, W.sum(axis=1)
    return 1 - np.sum(Z * (W @ Z), axis=0) / np.sum(d[:, np.newaxis] * Z**2, axis=0)


def olpi(X: Any, W: Any, count: int, space: int | None = None, V: Any = None) -> Any:
    """Minimise aᵀ Xᵀ L X a / aᵀ Xᵀ D X a on the complement of what there is, one by one."""
    V = (terms_space(X) if V is None else V)[:, :space]
    Z, D = X @ V, np.diag(W.sum(axis=1))
    A, B = Z.T @ W @ Z, Z.T @ D @ Z
    taken = np.zeros((Z.shape[1], 0))
    for _ in range(count):
        C = linalg.null_space(taken.T) if taken.size else np.eye(Z.shape[1])
        best = C @ linalg.eigh(C.T @ A @ C, C.T @ B @ C)[1][:, -1]
        taken = np.column_stack([taken, best / np.linalg.norm(best)])
    return V @ taken
