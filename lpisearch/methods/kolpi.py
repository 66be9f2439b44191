"""Orthogonal locality preserving indexing in a kernel space (kernel OLPI)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from lpisearch.methods.base import GraphTransformer, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.kernels import LEAST, KernelEmbedding
from lpisearch.methods.linalg import graph_grams, whitening, whole_space
from lpisearch.methods.locality import linked_mean
from lpisearch.methods.orthogonal import orthogonal_directions


@dataclass(eq=False, repr=False)
class KOLPI(GraphTransformer, KernelEmbedding):
    """Orthogonal locality preserving indexing in a reproducing kernel Hilbert space.

    olpi-2005 proposes it in section 6. With Φ the documents (rows) in the space of a kernel, about
    their mean, and K = ΦΦᵀ, a direction is a = Φᵀc, and the places are Φa = Kc. Each a minimises

        f(a) = cᵀ K L K c / cᵀ K D K c

    among those orthogonal to all before it: cᵢᵀ K c = 0, cᵀ K c = 1. The kernels are those of
    `KRLPI`; with "linear" it is `OLPI` of documents at unit length.

    Up to `exact_documents` this is exact, in time cubic in their number. Beyond, a lies in the
    span of `landmarks` documents, drawn at random.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    kernel, gamma, coef0, degree, exact_documents, landmarks
        See `KRLPI`.
    random_state
        Seed of the landmarks.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`; neighbours are found by cosine, not by the kernel.

    Attributes
    ----------
    embedding_
        Documents x n_components_; each dimension's largest absolute entry is positive.
    eigenvalues_
        1 - f of each dimension, largest first.
    landmarks_
        The documents that have a coefficient.
    scales_, n_graph_components_, n_isolated_
        See `GraphTransformer`.

    References
    ----------
    D. Cai, X. He: Orthogonal locality preserving indexing, SIGIR 2005 (olpi-2005).

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.kolpi import KOLPI
    >>> X = np.array([[1.0, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 2], [0, 0, 2, 1]])
    >>> KOLPI(n_components=2, n_neighbors=1).fit(X).eigenvalues_.round(6)
    array([ 1., -1.])
    """

    about = CATALOGUE["kolpi"]
    placement = "kernel"

    n_components: int = DIMENSIONS
    _: KW_ONLY
    random_state: Any = 0

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        kernels = self._kernels(X)
        W = self._affinity(X, y, affinity).of(kernels.documents)
        count = len(kernels) if len(kernels) <= self.exact_documents else self.landmarks
        landmarks = np.sort(generator(self.random_state).permutation(len(kernels))[:count])
        # Documents in an orthonormal basis of what the landmarks span.
        T = whitening(kernels.some(landmarks).matrix(np.arange(len(landmarks))), LEAST)
        if len(landmarks) == len(kernels):  # K = U diag(s²) Uᵀ and T = U / s: the features are U s
            features = T / np.sum(T * T, axis=0)
        else:
            features = np.vstack([block @ T for _, block in kernels.blocks(landmarks)])
        space = whole_space(features, linked_mean(features, W))
        linked = W.n_isolated < len(kernels)
        count = min(int(self.n_components), len(space.scales)) if linked else 0
        found = orthogonal_directions(*graph_grams(space.documents, W), space.scales, count)
        directions = space.to_terms(found.vectors).T
        self._store_vectors(np.zeros((X.shape[0], count), X.dtype), int(self.n_components))
        self.eigenvalues_ = found.values.astype(X.dtype)
        self._store_functions(kernels, landmarks, T @ directions, features @ directions)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_kernel()
