"""Base classes of the methods: scikit-learn transformers whose rows are documents.

`Projection` is a linear map, `Embedding` a placement by a rule. Subclasses are dataclasses: their
fields are the parameters of the constructor, and `_fit` learns from validated documents.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import linalg, sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    check_non_negative,
    validate_data,
)

from lpisearch.graphs.affinity import Affinity, as_affinity
from lpisearch.graphs.base import (
    EDGE_WEIGHTS,
    GRAPHS,
    HEAT_SCALE,
    METRICS,
    NEIGHBOURS,
    RADIUS,
    GraphOptions,
)
from lpisearch.graphs.supervision import memberships
from lpisearch.methods.catalogue import EIGENVALUE_POWER, Method
from lpisearch.methods.placement import placement_rule
from lpisearch.numeric.rows import SparseRows, sum_duplicate_terms, unit_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix


# The largest number to this power, and its inverse, bound the largest weight of the documents.
LARGEST_POWER = 0.2


class FewerDimensions(UserWarning):
    """The documents have fewer dimensions than were requested."""


class NotConverged(UserWarning):
    """An iteration reached its limit before its residual was within the tolerance."""

    def __init__(self, what: str, steps: int, residual: float, tolerance: float) -> None:
        super().__init__(
            f"{what} did not converge in {steps} steps: residual {residual:.2g}, tolerance "
            f"{tolerance:.2g}."
        )


class DocumentTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """Base of all methods: documents in, places (points of the subspace) out.

    Subclasses implement `_fit`, and `about` is their entry in the catalogue. Fitting twice with
    the same `random_state` gives the same bits.

    Attributes
    ----------
    n_components_
        Number of dimensions. Fewer than requested come with the warning `FewerDimensions`; none
        at all is a ValueError.
    scales_
        Weight of each dimension where documents are compared by cosine: `embed` applies it,
        `transform` does not.
    eigenvalues_
        One for each component, largest first unless the class says otherwise; None if the method
        has none. So are `alpha_` (strength of a ridge penalty), and `n_graph_components_` and
        `n_isolated_` of a graph.
    """

    about: ClassVar[Method]
    placement: ClassVar[str] = ""
    """The rule of `lpisearch.methods.placement` that places documents; "" for a linear map."""

    n_components: int | str
    n_components_: int
    alpha_: float | None = None
    eigenvalues_: Floats | None = None
    n_graph_components_: int | None = None
    n_isolated_: int | None = None

    @property
    def clusters_(self) -> NDArray[np.intp] | None:
        """The cluster of each fitted document, if the method finds clusters."""
        return None

    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Learn from documents.

        Parameters
        ----------
        X
            Documents as rows, best at unit length; sparse or dense, float32 or float64.
        y
            A label for each document; None, -1, "" or NaN is unlabelled; a list holds several,
            as does a row of 0 and 1 of an array or sparse matrix, documents x classes.
            Methods without a graph do not use labels.
        affinity
            A ready graph (an `Affinity` or a symmetric matrix), in place of one built from X
            and y. Methods without a graph do not use it. Cross-validation cuts a matrix by rows
            alone, but an `Affinity` by rows and columns.

        Raises
        ------
        ValueError
            If a parameter is out of range, or the documents have no dimension to keep.
        """
        self._check_parameters()
        self._fit(self._documents(X), y, affinity)
        return self

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
        """The weight of each dimension where documents are compared by cosine: 1 by default."""
        return np.ones(self.n_components_, dtype=np.float32)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_parameters(self) -> None:
        """Refuse parameters that are out of range."""
        check_count("n_components", self.n_components)

    @abstractmethod
    def _fit(self, X: Matrix, y: Any, affinity: Any) -> None:
        """Learn from validated documents; end with `_store` or `_store_vectors`."""

    def _documents(self, X: Any, *, reset: bool = True, any_size: bool = False) -> Matrix:
        """Validate X and return it as an array or a csr_array, float32 or float64.

        To fit, X must have two documents, one of them with a term, and, unless `any_size`,
        weights that can be squared.
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
        matrix: Matrix = sum_duplicate_terms(sparse.csr_array(checked)) if is_sparse else checked
        if reset:
            _check_size(matrix, any_size=any_size)
        return matrix

    def _set_dimensions(self, count: int, requested: int, n_terms: int) -> None:
        """Store the number of dimensions; refuse 0, warn if there are fewer than requested."""
        if count == 0:
            raise indistinguishable(n_terms)
        self.n_components_ = count
        if count < requested:
            warn_of_fewer(requested, count, stacklevel=6)


def indistinguishable(n_terms: int) -> ValueError:
    """Return the error that says that documents have no dimension."""
    return ValueError(
        "The documents cannot be distinguished, so there is no dimension to keep "
        f"({n_terms} feature(s))."
    )


class Projection(DocumentTransformer):
    """A linear map from terms to a subspace.

    Attributes
    ----------
    components_
        n_components_ x n_terms. The largest absolute loading of every component is positive.
    """

    components_: Floats
    eigenvalues_: Floats

    def transform(self, X: Any) -> Floats:
        """Project documents (rows): `X @ components_.T`, without centring or scaling."""
        check_is_fitted(self, "components_")
        X = self._documents(X, reset=False)
        return np.asarray(X @ self.components_.T.astype(X.dtype, copy=False))

    @property
    def scales_(self) -> Floats:
        """The weight of each dimension where documents are compared by cosine: 1 by default."""
        return np.ones(self.n_components_, dtype=self.components_.dtype)

    def inverse_transform(self, Z: Any) -> Floats:
        """Return documents with these places, as near to the mean (or, without, to 0) as can be.

        That is `Z @ pinv(components_).T`; a method with a mean sees differences from it alone.
        """
        check_is_fitted(self, "components_")
        C, mean = self.components_.astype(np.float64), getattr(self, "mean_", None)
        origin = np.zeros(C.shape[1]) if mean is None else mean
        shifted = np.asarray(Z) - C @ origin
        documents = origin + shifted @ linalg.pinvh(C @ C.T) @ C
        return np.asarray(documents, self.components_.dtype)

    def _store(self, components: Floats, eigenvalues: Floats, requested: int) -> None:
        """Store the learned map with its signs fixed; warn if it is smaller than requested."""
        self._set_dimensions(len(components), requested, components.shape[1])
        self.components_ = with_fixed_signs(components)
        self.eigenvalues_ = eigenvalues.astype(components.dtype)


class TermSelector(Projection):
    """A linear map that uses some of the terms; `selected_` has their columns."""

    selected_: NDArray[np.intp]

    def get_support(self, indices: bool = False) -> NDArray[Any]:  # noqa: FBT001, FBT002 -- as in scikit-learn
        """Return a mask of the selected terms, or their columns in ascending order."""
        check_is_fitted(self, "selected_")
        mask = np.zeros(self.n_features_in_, np.bool_)
        mask[self.selected_] = True
        return np.flatnonzero(mask) if indices else mask

    def _store(self, components: Floats, eigenvalues: Floats, requested: int) -> None:
        super()._store(components, eigenvalues, requested)
        self.selected_ = np.flatnonzero(self.components_.any(axis=0))


@dataclass(eq=False, repr=False, kw_only=True)
class GraphParameters:
    """Parameters of every method that learns from a document graph.

    Parameters
    ----------
    graph
        A name from `GRAPHS`, or "auto": by label if all documents have one, by nearness if none
        has, otherwise both ("blend"). Or a transformer that finds neighbours, such as
        scikit-learn's `KNeighborsTransformer(mode="distance")`; labels are then not used.
    n_neighbors, radius, edge_weights, heat_scale, metric, mutual
        See `lpisearch.graphs.base.GraphOptions`.
    eigenvalue_power
        `embed` scales each dimension by its graph eigenvalue to this power; `components_` does
        not contain the scale.
    """

    graph: Any = "auto"
    n_neighbors: int = NEIGHBOURS
    radius: float = RADIUS
    edge_weights: str = EDGE_WEIGHTS[0]
    heat_scale: float = HEAT_SCALE
    metric: str = METRICS[0]
    mutual: bool = False
    eigenvalue_power: float = EIGENVALUE_POWER


class GraphTransformer(GraphParameters, DocumentTransformer):
    """A method that learns from a document graph, given or built by `_affinity`.

    Attributes
    ----------
    eigenvalues_
        λ of each dimension on the scale of W y = λ D y, largest first.
    scales_
        `eigenvalues_ ** eigenvalue_power`.
    n_graph_components_, n_isolated_
        Number of connected parts of the graph, and of documents without a neighbour.
    seconds_
        Time of each stage that the method measures, such as "graph".
    """

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
            metric=self.metric,
            mutual=self.mutual,
            search=self.graph if hasattr(self.graph, "fit_transform") else None,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_not_negative("eigenvalue_power", self.eigenvalue_power)

    def _affinity(self, X: Matrix, y: Sequence[Any] | None, affinity: Any) -> Affinity:
        """Return the given graph, or build the one that `graph` names; count its parts."""
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
        if hasattr(self.graph, "fit_transform"):
            return "nearest"
        if self.graph in GRAPHS:
            return str(self.graph)
        if self.graph != "auto":
            known = ", ".join(["auto", *GRAPHS])
            raise ValueError(f"graph must be one of {known}, not {self.graph!r}.")
        if y is None:
            return "nearest"
        shares, _ = memberships(y, n_documents)
        return "label" if np.diff(shares.indptr).all() else "blend"

    def _edge_arrays(self, y: Any, affinity: Any, n_documents: int) -> dict[str, NDArray[Any]]:
        """Return how a new document finds its neighbours, and how its edges are weighted."""
        graph = GRAPHS["nearest" if affinity is not None else self._graph_name(y, n_documents)]
        most, least, edge_weights = self.n_neighbors, 0.0, self.edge_weights
        if edge_weights in {"self-tuning", "fuzzy"}:
            edge_weights = "cosine"
        if graph.has_ball:
            most, least = n_documents, self.graph_options.min_cosine
        elif graph.is_complete:
            most, edge_weights = n_documents, "cosine"
        return {
            "edge_weights": np.array([edge_weights]),
            "edge_limits": np.array([most, least, self.heat_scale], np.float64),
        }

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage in `seconds_`."""
        began = perf_counter()
        yield
        self.seconds_[stage] = self.seconds_.get(stage, 0.0) + perf_counter() - began


class GraphProjection(GraphTransformer, Projection):
    """A linear map that learns from a document graph."""


class SelectedTerms(TermSelector, GraphProjection):
    """A linear map whose dimensions are terms; `selected_` has their columns, best first."""

    scores_: Floats

    def transform(self, X: Any) -> Floats:
        """Select columns: the result is `X @ components_.T`."""
        check_is_fitted(self, "selected_")
        chosen: Any = self._documents(X, reset=False)[:, self.selected_]
        return chosen if isinstance(chosen, np.ndarray) else np.asarray(chosen.toarray())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the selected terms, best first."""
        return np.asarray(_check_feature_names_in(self, input_features)[self.selected_])

    @property
    def components_(self) -> Floats:  # type: ignore[override]  # thousands of rows: made on demand
        """The selection as a dense matrix, n_components_ x n_terms."""
        matrix = np.zeros((self.n_components_, len(self.scores_)), self.eigenvalues_.dtype)
        matrix[np.arange(self.n_components_), self.selected_] = 1
        return matrix

    def _select(self, terms: NDArray[np.intp], values: Floats) -> None:
        """Store the selected terms and the value of each, best first."""
        self.selected_, self.eigenvalues_ = terms, values
        self._set_dimensions(len(terms), int(self.n_components), len(self.scores_))


class Embedding(DocumentTransformer):
    """A method that places documents by a rule that is not a linear map.

    `placement` names the rule, and `placement_arrays` has all the numbers that it takes, so a
    stored index can place a query without the estimator. Rules see documents at unit length: the
    length of a row does not change its place. Such a cosine has no exact explanation by terms.

    Attributes
    ----------
    embedding_
        Documents x n_components_: the places of the fitted documents, as `transform` gives them.
        A document without a term has a place of zeros.
    """

    embedding_: Floats

    def transform(self, X: Any) -> Floats:
        """Place documents (rows), fitted or new, by the rule that `placement` names."""
        check_is_fitted(self, "embedding_")
        return self._placed(self._documents(X, reset=False))

    def _placed(self, X: Matrix) -> Floats:
        rule = placement_rule(self.placement)
        places = rule(self.placement_arrays(), SparseRows.of_matrix(X).unit())
        return np.asarray(places, X.dtype)

    @property
    def scales_(self) -> Floats:
        """The weight of each dimension where documents are compared by cosine: 1 by default."""
        return np.ones(self.n_components_, dtype=self.embedding_.dtype)

    @abstractmethod
    def placement_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers that the rule takes, by name."""

    def _store_vectors(self, places: Floats, requested: int) -> None:
        """Store the places of the fitted documents; warn if there are fewer dimensions."""
        self._set_dimensions(places.shape[1], requested, self.n_features_in_)
        self.embedding_ = places


class FactorShares(Embedding):
    """Documents as mixtures of non-negative factors. Subclasses implement `_learn`.

    The factor with the largest part in a document is its cluster. Subclasses have the parameters
    `n_components`, `n_init`, `max_iter` and `tolerance`.
    """

    n_components: int
    n_init: int
    max_iter: int
    tolerance: float
    factors_: Floats

    def fit_transform(
        self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None
    ) -> Floats:
        """Fit, and return the places of the same documents."""
        return self.fit(X, y, affinity=affinity).embedding_.copy()

    @property
    def clusters_(self) -> NDArray[np.intp]:
        """The factor with the largest part in each fitted document; -1 without a term."""
        largest = self.embedding_.argmax(axis=1)
        return np.where(self.embedding_.any(axis=1), largest, -1)

    @abstractmethod
    def _learn(self, X: sparse.csr_array, n_factors: int) -> None:
        """Set `factors_`, `n_components_` and what the rule of placement takes."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_init", self.n_init)
        check_count("max_iter", self.max_iter)
        check_not_negative("tolerance", self.tolerance)

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        del y, affinity
        self._learn(X, self._possible(X))
        self.embedding_ = self._placed(X)

    def _documents(self, X: Any, *, reset: bool = True, any_size: bool = True) -> sparse.csr_array:
        """Validate X and return it as a csr_array of positive entries."""
        documents = super()._documents(X, reset=reset, any_size=any_size)
        name = type(self).__name__
        check_non_negative(documents, f"{name}.fit" if reset else f"{name}.transform")
        weights = sparse.csr_array(documents)
        if not weights.data.all():
            weights = weights.copy()
            weights.eliminate_zeros()
        return weights

    def _possible(self, X: sparse.csr_array) -> int:
        """Return the number of factors: no more than documents or terms, which they could copy."""
        non_empty = np.count_nonzero(np.diff(X.indptr))
        most = min(int(non_empty), len(np.unique(X.indices)))
        if most < self.n_components:
            warn_of_fewer(self.n_components, most)
        return min(self.n_components, most)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def warn_of_fewer(requested: int, count: int, *, stacklevel: int = 5) -> None:
    """Warn that there are fewer dimensions than requested."""
    warnings.warn(
        f"{requested} dimensions were requested, but the documents have only {count}.",
        FewerDimensions,
        stacklevel=stacklevel,
    )


def _check_size(X: Matrix, *, any_size: bool) -> None:
    """Refuse weights that are all 0, or whose fourth powers overflow or underflow.

    Gram matrices and their squares would be infinite, or 0, and the map silently wrong.
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
    """Flip rows so that the largest absolute entry (the first, if several) is positive."""
    rows = np.arange(len(components))
    highest, lowest = components.argmax(axis=1), components.argmin(axis=1)
    above, below = components[rows, highest], -components[rows, lowest]
    flipped = (below > above) | ((below == above) & (lowest < highest))
    fixed = components.copy()
    fixed[flipped] = 0 - components[flipped]  # the difference leaves no negative zero
    return np.asarray(fixed)


def generator(random_state: Any) -> np.random.Generator:
    """Make a random generator from what scikit-learn accepts: an int, None or a `RandomState`."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.default_rng(seed)


def check_count(name: str, value: Any, *, auto: bool = False) -> None:
    """Refuse what is not a whole number above 0 (or "auto")."""
    if auto and isinstance(value, str) and value == "auto":
        return
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        choice = ' or "auto"' if auto else ""
        raise ValueError(f"{name} must be a whole number above 0{choice}, not {_plain(value)!r}.")


def check_not_negative(name: str, value: Any, *, auto: bool = False) -> None:
    """Refuse a strength that is negative or not a number (or "auto")."""
    if auto and isinstance(value, str) and value == "auto":
        return
    number = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, bool) or not number or not 0 <= value < np.inf:
        choice = ' or "auto"' if auto else ""
        raise ValueError(f"{name} must be a number of at least 0{choice}, not {_plain(value)!r}.")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse what is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {_plain(value)!r}.")


def _plain(value: Any) -> Any:
    """Return a number of NumPy as one of Python, for a message."""
    return value.item() if isinstance(value, np.generic) else value
