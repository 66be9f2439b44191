"""Multi-cluster feature selection (MCFS)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from lpisearch.methods.base import SelectedTerms, check_count, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.lasso import lasso
from lpisearch.methods.locality import best_terms
from lpisearch.methods.responses import graph_responses


@dataclass(eq=False, repr=False)
class MCFS(SelectedTerms):
    """Selection of terms that together distinguish several clusters.

    1. The leading eigenvectors y of W y = λ D y, without the constant one, place the documents
       (rows of X; the paper writes them as columns) by cluster.
    2. For each y, least angle regression finds a map a of at most k terms: |X a - y|² + β |a|₁
       with the least β that leaves no more (equation 6).
    3. The score of a term is its largest |a| over all y (equation 8). The terms with the highest
       are selected.

    `LaplacianScore` judges each term alone, so that it selects many that say the same.

    Parameters
    ----------
    n_components
        Number of terms to keep.
    n_responses
        Number of eigenvectors. The paper takes as many as clusters, 5 where that is not known.
        Many more select the terms of a few documents.
    cardinality
        k, the number of terms in the regression of each y; "auto" is `n_components`, as in the
        paper.
    solver, tolerance, random_state
        Parameters of the eigenproblem: see `RLPI`.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`. The paper has 5 neighbours and weights of 1.

    Attributes
    ----------
    selected_
        The columns of the terms, best first.
    scores_
        The score of every term; 0 if no regression uses it.
    eigenvalues_
        The score of each selected term as a share of the highest.
    components_, n_graph_components_, n_isolated_
        See `LaplacianScore`.

    References
    ----------
    D. Cai, C. Zhang, X. He: Unsupervised feature selection for multi-cluster data, KDD 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.mcfs import MCFS
    >>> X = np.array([[1.0, 0, 0.2], [0.9, 0.3, 0], [0, 0.2, 1], [0, 0.3, 0.9]])
    >>> MCFS(n_components=2, n_responses=1, n_neighbors=1).fit(X).selected_
    array([0, 2])
    """

    about = CATALOGUE["mcfs"]

    n_components: int = DIMENSIONS
    _: KW_ONLY
    n_responses: int = 5
    cardinality: int | str = "auto"
    solver: str = "auto"
    tolerance: float = 0.05
    random_state: Any = 0

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        responses = graph_responses(
            self._affinity(X, y, affinity),
            X,
            self.n_responses,
            rng=generator(self.random_state),
            solver=self.solver,
            tolerance=self.tolerance,
        )
        auto = isinstance(self.cardinality, str)
        k = min(int(self.n_components if auto else self.cardinality), X.shape[1])
        found = lasso(X, responses.vectors, cardinality=k)
        self.scores_ = np.abs(found.coefficients).max(axis=1, initial=0)
        shares = self.scores_ / max(self.scores_.max(), np.finfo(X.dtype).tiny)
        selected = best_terms(np.where(shares > 0, -shares, np.inf), self.n_components)
        self._select(selected, shares[selected])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_responses", self.n_responses)
        check_count("cardinality", self.cardinality, auto=True)
