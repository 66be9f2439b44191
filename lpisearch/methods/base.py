"""Contracts: projection, embedding, factor model.

A projection is a scikit-learn transformer. Documents come in as rows of X (the papers write them
as columns), sparse or dense, float32 or float64; a linear map comes out:

- `components_` (n_components x n_terms): `transform(X)` is `X @ components_.T` and nothing else,
  so a query or a new document takes the same way as the corpus. The largest absolute loading
  of every component is positive.
- `eigenvalues_`: one for each component, largest first unless the class says otherwise.
- `scales_`: what each dimension is multiplied by where documents are compared by cosine.
  `transform` leaves it out, `embed` puts it in and gives rows of unit length.
- `n_components_`: how many dimensions there are. Fewer than asked come with the warning
  `FewerDimensions`; none at all is a ValueError.

Fitting twice with the same `random_state` gives the same bits.

PLSI, NMF, Laplacian eigenmaps and kernel methods have no `components_` whose product with a
document is its place. What they promise instead:

- `embedding_` (documents x n_components_): the places of the documents that were fitted.
- `transform(X)` places any documents, fitted or new, by the rule that the class states (folding
  in, Nyström, a kernel expansion). For the fitted documents it gives `embedding_`. A document
  without a term has a place of zeros.
- `placement` names that rule in `lpisearch.methods.placement`, and `placement_arrays()`
  gives all the numbers that it takes, so that a stored index places a query without the estimator.
- `scales_`, `n_components_` and `embed` mean what they mean for a linear projection.

Rules see documents at unit length, and so does the rule within `transform`: how long a row is
makes no difference to its place.

A cosine here has no exact explanation by pairs of terms: that takes a linear map.

Documents and factors have no negative weights, so that each document is a mixture of factors and
the factor with the largest part is its cluster.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from lpisearch.graphs.affinity import Affinity, as_affinity
from lpisearch.graphs.base import GRAPHS, GraphOptions
from lpisearch.graphs.supervision import memberships
from lpisearch.methods.placement import placement_rule
from lpisearch.numeric.rows import SparseRows, each_term_once, unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix
    from lpisearch.methods.catalogue import Method


# The largest number to this power, and its inverse, bound the largest weight of the documents.
LARGEST_POWER = 0.2


class FewerDimensions(UserWarning):
    """The documents do not have as many dimensions as were asked for."""


class NotConverged(UserWarning):
    """An iteration ended at its limit before its residual was as small as asked."""

    def __init__(self, what: str, steps: int, residual: float, tolerance: float) -> None:
        super().__init__(
            f"{what} did not converge in {steps} steps: residual {residual:.2g}, tolerance "
            f"{tolerance:.2g}."
        )


class DocumentTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """What linear maps and other embeddings share: documents in, places out.

    What a method needs, costs and can do stands in its entry of the catalogue, `about`.
    """

    about: ClassVar[Method]
    # The name of the rule that places documents; "" for a linear map.
    placement: ClassVar[str] = ""

    n_components_: int
    # What only some methods find out; None where there is no such thing.
    alpha_: float | None = None
    eigenvalues_: Floats | None = None
    n_graph_components_: int | None = None
    n_isolated_: int | None = None

    @property
    def clusters_(self) -> NDArray[np.intp] | None:
        """The cluster of each fitted document, where the method itself finds clusters."""
        return None

    @abstractmethod
    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Learn from documents (rows of X), their labels, or a ready graph."""

    @abstractmethod
    def transform(self, X: Any) -> Floats:
        """Place documents."""

    def fit_transform(
        self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None
    ) -> Floats:
        """Fit, then place the same documents."""
        return self.fit(X, y, affinity=affinity).transform(X)

    def embed(self, X: Any) -> Floats:
        """Place, scale each dimension by `scales_`, and bring each row to unit length.

        The cosine of two documents is the inner product of their rows. A document without a
        known term stays a row of zeros.
        """
        return np.asarray(unit_rows(self.transform(X) * self.scales_))

    @property
    def scales_(self) -> Floats:
        """The weight of each dimension where documents are compared by cosine: here 1."""
        return np.ones(self.n_components_, dtype=np.float32)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _documents(self, X: Any, *, reset: bool = True, any_size: bool = False) -> Matrix:
        """Validate X and give it as an array or a csr_array, float32 or float64.

        For fitting there must be two documents, one of them with a term, and weights that can be
        squared, unless those of `any_size` are taken.
        """
        checked: Any = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_min_samples=2 if reset else 1,
        )
        is_sparse: bool = sparse.issparse(checked)
        matrix: Matrix = each_term_once(sparse.csr_array(checked)) if is_sparse else checked
        if reset:
            _check_size(matrix, any_size=any_size)
        return matrix

    def _check_found(self, found: int, asked: int, n_terms: int) -> None:
        """Refuse to go without a dimension; warn if there are fewer than asked."""
        if found == 0:
            raise ValueError(
                "The documents cannot be distinguished, so there is no dimension to keep "
                f"({n_terms} feature(s))."
            )
        if found < asked:
            warnings.warn(
                f"{asked} dimensions were requested, but the documents have only {found}.",
                FewerDimensions,
                stacklevel=4,
            )


class Projection(DocumentTransformer):
    """A linear map from terms to a subspace. Subclasses implement `fit`."""

    components_: Floats
    eigenvalues_: Floats

    def transform(self, X: Any) -> Floats:
        """Project documents (rows): `X @ components_.T`, without centring or scaling."""
        check_is_fitted(self, "components_")
        X = self._documents(X, reset=False)
        return np.asarray(X @ self.components_.T.astype(X.dtype, copy=False))

    @property
    def scales_(self) -> Floats:
        """The weight of each dimension where documents are compared by cosine: here 1."""
        return np.ones(self.n_components_, dtype=self.components_.dtype)

    def _keep(self, components: Floats, eigenvalues: Floats, asked: int) -> None:
        """Store the learned map with its signs fixed; warn if it is smaller than asked."""
        found = len(components)
        self._check_found(found, asked, components.shape[1])
        self.components_ = with_fixed_signs(components)
        self.eigenvalues_ = eigenvalues.astype(components.dtype)
        self.n_components_ = found


class GraphTransformer(DocumentTransformer):
    """What learns from who is a neighbour of whom, whether the map is linear or not.

    Subclasses have the parameters `graph`, `n_neighbors`, `radius`, `edge_weights` and
    `heat_scale`, and call `_affinity` in `fit`.
    """

    graph: str
    n_neighbors: int
    radius: float
    edge_weights: str
    heat_scale: float
    eigenvalue_power: float
    eigenvalues_: Floats
    n_graph_components_: int
    n_isolated_: int

    @property
    def scales_(self) -> Floats:
        """Each graph eigenvalue to the power `eigenvalue_power`; negative ones count as 0."""
        return np.asarray(np.maximum(self.eigenvalues_, 0) ** self.eigenvalue_power)

    @property
    def graph_options(self) -> GraphOptions:
        """How neighbours are found and weighted."""
        return GraphOptions(
            n_neighbors=self.n_neighbors,
            radius=self.radius,
            edge_weights=self.edge_weights,
            heat_scale=self.heat_scale,
        )

    def _affinity(self, X: Matrix, y: Sequence[Any] | None, affinity: Any) -> Affinity:
        """Take the ready graph, or build the one that `graph` names, and count its parts."""
        options = self.graph_options
        if affinity is not None:
            W = as_affinity(affinity, X.shape[0])
        else:
            W = GRAPHS[self._graph_name(y, X.shape[0])].build(X, y, options)
        self.n_graph_components_ = W.n_components
        self.n_isolated_ = W.n_isolated
        return W

    def _graph_name(self, y: Sequence[Any] | None, n_documents: int) -> str:
        """Resolve "auto": by label if all have one, by nearness if none has, else a blend."""
        if self.graph in GRAPHS:
            return self.graph
        if self.graph != "auto":
            known = ", ".join(["auto", *GRAPHS])
            raise ValueError(f"graph must be one of {known}, not {self.graph!r}.")
        if y is None:
            return "nearest"
        shares, _ = memberships(y, n_documents)
        return "label" if np.diff(shares.indptr).all() else "blend"


class GraphProjection(GraphTransformer, Projection):
    """A linear map that learns from who is a neighbour of whom."""


def _check_size(X: Matrix, *, any_size: bool) -> None:
    """Refuse weights that are all 0, or so large or small that their fourth powers are no numbers.

    Gram matrices and their squares would be infinite, or 0, and the map wrong without a word.
    """
    entries = X.data if sparse.issparse(X) else X
    largest = float(np.abs(entries).max(initial=0))
    if largest == 0:
        raise ValueError(f"None of the {X.shape[0]} documents contains a term: X is all zeros.")
    bound = float(np.finfo(X.dtype).max) ** LARGEST_POWER
    if not (any_size or 1 / bound < largest < bound):
        raise ValueError(
            f"The largest weight is {largest:.3g}; with {X.dtype} it must be between "
            f"{1 / bound:.0e} and {bound:.0e}. Normalise the documents to unit length first."
        )


def with_fixed_signs(components: Floats) -> Floats:
    """Turn each row so that its largest absolute entry (the first, if several) is positive."""
    rows = np.arange(len(components))
    highest, lowest = components.argmax(axis=1), components.argmin(axis=1)
    above, below = components[rows, highest], -components[rows, lowest]
    turned = (below > above) | ((below == above) & (lowest < highest))
    fixed = components.copy()
    fixed[turned] = 0 - components[turned]  # the difference leaves no zero with a minus sign
    return np.asarray(fixed)


def generator(random_state: Any) -> np.random.Generator:
    """Make a random generator from an int, None or a `RandomState`, as scikit-learn has them."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.default_rng(seed)


def check_count(name: str, value: Any, *, auto: bool = False) -> None:
    """Refuse a number of dimensions that is not a whole number above 0 (or "auto")."""
    if auto and isinstance(value, str) and value == "auto":
        return
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        choice = ' or "auto"' if auto else ""
        raise ValueError(f"{name} must be a whole number above 0{choice}, not {value!r}.")


def check_not_negative(name: str, value: Any, *, auto: bool = False) -> None:
    """Refuse a strength that is negative or not a number (or "auto")."""
    if auto and isinstance(value, str) and value == "auto":
        return
    number = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, bool) or not number or not 0 <= value < np.inf:
        choice = ' or "auto"' if auto else ""
        raise ValueError(f"{name} must be a number of at least 0{choice}, not {value!r}.")


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
