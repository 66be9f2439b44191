"""Spectral regression by its parts: responses of documents, and a regression of them on terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lpisearch.methods.base import check_choice
from lpisearch.methods.catalogue import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.graphs.affinity import Floats


# The method of each regulariser, and its name for the strength.
REGULARISERS = {
    "ridge": ("rlpi", "alpha"),
    "lasso": ("slpi", "beta"),
    "cardinality": ("spg", "cardinality"),
    "l21": ("fsslpi", "mu"),
}
KERNEL = ("krlpi", "alpha")
# Names in the field: regulariser, kernel and graph.
NAMES: Mapping[str, tuple[str, str | None, str]] = {
    "SRDA": ("ridge", None, "label"),
    "SRKDA": ("ridge", "rbf", "label"),
    "sparse SRDA": ("lasso", None, "label"),
    "unsupervised SR": ("ridge", None, "nearest"),
    "sparse SR": ("lasso", None, "nearest"),
    "kernel SR": ("ridge", "rbf", "nearest"),
    "RLPI": ("ridge", None, "auto"),
    "KRLPI": ("ridge", "rbf", "auto"),
    "SLPI": ("lasso", None, "auto"),
    "SPG": ("cardinality", None, "auto"),
    "FSSL": ("l21", None, "auto"),
}


class SpectralRegression(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """Spectral regression: where documents should be, then a function of their terms.

    1. Responses Y (documents x dimensions): eigenvectors of W y = λ D y of a graph, class
       indicators made orthogonal if all documents have a label, or numbers of your own.
    2. A regression of each response on the terms: with documents as rows of X, the map A minimises
       |X A - Y|² plus a penalty, α |A|² (ridge), β |A|₁ (lasso; or at most so many terms in each
       dimension, the cardinality), or μ |A|₂,₁ (l21). With a kernel, (K + αI) C = Y.

    `named` makes one by its name in the field, such as SRDA.

    Parameters
    ----------
    n_components
        Dimensions, or "auto".
    regulariser
        "ridge", "lasso", "cardinality" or "l21".
    kernel
        None, "linear", "rbf" or "poly"; kernels have a ridge penalty.
    strength
        α, β, the number of terms, or μ, or "auto".
    graph
        See `lpisearch.methods.base.GraphParameters`.
    options
        More parameters of the method, by name: see the class of `method_`.

    Attributes
    ----------
    method_
        The fitted method: `RLPI`, `SLPI`, `SPG`, `FSSL` or `KRLPI`.

    References
    ----------
    D. Cai, X. He, J. Han: Spectral regression: a unified approach for sparse subspace learning,
    ICDM 2007; SRDA: an efficient algorithm for large scale discriminant analysis, TKDE 2008;
    Speed up kernel discriminant analysis, VLDB Journal 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.spectral import SpectralRegression
    >>> X = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0.2, 1], [0, 0.1, 0.9]])
    >>> srda = SpectralRegression.named("SRDA", strength=0.1)
    >>> srda.fit_transform(X, ["a", "a", "b", "b"]).round(1).ravel()
    array([ 1. ,  0.9, -1. , -0.9])
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        regulariser: str = "ridge",
        kernel: str | None = None,
        strength: float | str = "auto",
        graph: Any = "auto",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.regulariser = regulariser
        self.kernel = kernel
        self.strength = strength
        self.graph = graph
        self.options = options

    @classmethod
    def named(cls, name: str, **parameters: Any) -> Self:
        """Make the one of that name in `NAMES`; other parameters as in the constructor."""
        check_choice("name", name, list(NAMES))
        regulariser, kernel, graph = NAMES[name]
        own = {"regulariser": regulariser, "kernel": kernel, "graph": graph}
        return cls(**(own | parameters))

    def fit(
        self,
        X: Any,
        y: Sequence[Any] | None = None,
        *,
        affinity: Any = None,
        responses: Any = None,
    ) -> Self:
        """Learn from documents (rows), and from labels, a ready graph or ready responses."""
        check_choice("regulariser", self.regulariser, list(REGULARISERS))
        if self.kernel is not None and self.regulariser != "ridge":
            raise ValueError(f"A kernel has a ridge penalty, not {self.regulariser!r}.")
        name, strength = KERNEL if self.kernel is not None else REGULARISERS[self.regulariser]
        own = {"n_components": self.n_components, strength: self.strength, "graph": self.graph}
        if self.kernel is not None:
            own["kernel"] = self.kernel
        method: Any = CATALOGUE[name].load()(**(own | dict(self.options or {})))
        if responses is None:
            self.method_ = method.fit(X, y, affinity=affinity)
        else:
            self.method_ = method.fit_responses(X, responses)
        self.n_features_in_ = self.method_.n_features_in_
        return self

    def transform(self, X: Any) -> Floats:
        """Place documents."""
        check_is_fitted(self, "method_")
        places: Floats = self.method_.transform(X)
        return places

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
