"""Shared code of non-negative factor models (PLSI and NMF).

Documents and factors have no negative weights, so that each document is a mixture of factors and
the factor with the largest part is its cluster.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, check_non_negative

from lpisearch.projections.base import FewerDimensions, check_count, check_not_negative
from lpisearch.projections.embedding import Embedding
from lpisearch.projections.placements import placement_rule
from lpisearch.projections.rows import SparseRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats


class FactorShares(Embedding):
    """Documents as parts of non-negative factors. Subclasses implement `_learn`.

    They have the parameters `n_components`, `n_init`, `max_iter` and `tolerance`, and a rule that
    folds documents in.
    """

    n_components: int
    n_init: int
    max_iter: int
    tolerance: float
    factors_: Floats

    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Learn the factors from documents (rows of X). `y` and `affinity` are not used."""
        del y, affinity
        self._check()
        X = self._weights(X)
        self._learn(X, self._possible(X))
        self.embedding_ = self._placed(X)
        return self

    def fit_transform(
        self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None
    ) -> Floats:
        """Fit, and give the places of the same documents."""
        return self.fit(X, y, affinity=affinity).embedding_.copy()

    def transform(self, X: Any) -> Floats:
        """Place documents by folding them in: the factors stay as they are."""
        check_is_fitted(self, "factors_")
        return self._placed(self._weights(X, reset=False))

    @property
    def clusters_(self) -> NDArray[np.intp]:
        """The factor with the largest part in each fitted document; -1 without a term."""
        largest = self.embedding_.argmax(axis=1)
        return np.where(self.embedding_.any(axis=1), largest, -1)

    @abstractmethod
    def _learn(self, X: sparse.csr_array, n_factors: int) -> None:
        """Set `factors_`, `n_components_` and what the rule of placement takes."""

    def _check(self) -> None:
        """Refuse parameters that are out of range."""
        check_count("n_components", self.n_components)
        check_count("n_init", self.n_init)
        check_count("max_iter", self.max_iter)
        check_not_negative("tolerance", self.tolerance)

    def _weights(self, X: Any, *, reset: bool = True) -> sparse.csr_array:
        """Validate X and give it as a csr_array of positive entries."""
        documents = self._documents(X, reset=reset, any_size=True)
        name = type(self).__name__
        check_non_negative(documents, f"{name}.fit" if reset else f"{name}.transform")
        weights = sparse.csr_array(documents)
        if not weights.data.all():
            weights = weights.copy()
            weights.eliminate_zeros()
        return weights

    def _possible(self, X: sparse.csr_array) -> int:
        """Give the number of factors: no more than documents or terms, which they could copy."""
        filled = np.count_nonzero(np.diff(X.indptr))
        most = min(int(filled), len(np.unique(X.indices)))
        if most < self.n_components:
            warn_of_fewer(self.n_components, most)
        return min(self.n_components, most)

    def _placed(self, X: sparse.csr_array) -> Floats:
        """Fold the documents in, each at unit length: how long it is makes no difference."""
        fold = placement_rule(self.placement)
        places = fold(self.placement_arrays(), SparseRows.of_matrix(X).unit())
        return places.astype(X.dtype, copy=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def warn_of_fewer(asked: int, found: int) -> None:
    """Warn that there are fewer factors than asked."""
    warnings.warn(
        f"{asked} dimensions were requested, but the documents have only {found}.",
        FewerDimensions,
        stacklevel=4,
    )
