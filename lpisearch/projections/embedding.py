"""Interface of non-linear embedding methods.

PLSI, NMF, Laplacian eigenmaps and kernel methods have no `components_` whose product with a
document is its place. What they promise instead:

- `embedding_` (documents x n_components_): the places of the documents that were fitted.
- `transform(X)` places any documents, fitted or new, by the rule that the class states (folding
  in, Nyström, a kernel expansion). For the fitted documents it gives `embedding_`. A document
  without a term has a place of zeros.
- `placement` names that rule in `lpisearch.projections.placements`, and `placement_arrays()`
  gives all the numbers that it takes, so that a stored index places a query without the estimator.
- `scales_`, `n_components_` and `embed` mean what they mean for a linear projection.

Rules see documents at unit length, and so does the rule within `transform`: how long a row is
makes no difference to its place.

A cosine here has no exact explanation by pairs of terms: that takes a linear map.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lpisearch.projections.base import DocumentTransformer
from lpisearch.projections.placements import placement_rule
from lpisearch.projections.rows import SparseRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats


class Embedding(DocumentTransformer):
    """Placed by a rule that is no linear map.

    Subclasses implement `fit`, which sets `embedding_` and `n_components_`, and
    `placement_arrays`.
    """

    embedding_: Floats

    def transform(self, X: Any) -> Floats:
        """Place documents (rows) by the rule that `placement` names."""
        check_is_fitted(self, "embedding_")
        X = self._documents(X, reset=False)
        fold = placement_rule(self.placement)
        places = fold(self.placement_arrays(), SparseRows.of_matrix(X).unit())
        return np.asarray(places, X.dtype)

    @property
    def scales_(self) -> Floats:
        """The weight of each dimension where documents are compared by cosine: here 1."""
        return np.ones(self.n_components_, dtype=self.embedding_.dtype)

    @abstractmethod
    def placement_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers that the rule takes, by name."""

    def _keep_places(self, places: Floats, asked: int) -> None:
        """Store the places of the fitted documents; warn if there are fewer dimensions."""
        found = places.shape[1]
        self._check_found(found, asked, self.n_features_in_)
        self.embedding_ = places
        self.n_components_ = found
