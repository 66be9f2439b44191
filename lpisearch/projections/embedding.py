"""The contract of methods that place documents, but not by a linear map.

PLSI, NMF, Laplacian eigenmaps and kernel methods have no `components_` whose product with a
document is its place. What they promise instead:

- `embedding_` (documents x n_components_): the places of the documents that were fitted.
- `transform(X)` places any documents, fitted or new, by the rule that the class states (folding
  in, Nyström, a kernel expansion). For the fitted documents it gives `embedding_`.
- `placement` names that rule in `lpisearch.projections.placements`, and `placement_arrays()`
  gives all the numbers that it takes, so that a stored index places a query without the estimator.
- `scales_`, `n_components_` and `embed` mean what they mean for a linear projection.

A cosine here has no exact explanation by pairs of terms: that takes a linear map.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from lpisearch.projections.base import DocumentTransformer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats


class Embedding(DocumentTransformer):
    """Placed by a rule that is no linear map. Subclasses implement `fit` and `transform`."""

    embedding_: Floats
    placement: ClassVar[str]

    @abstractmethod
    def placement_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers that the rule takes, by name."""
