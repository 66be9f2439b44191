"""A method with the settings of a paper: learned from documents, and where it places them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from lpisearch.evaluation.cells import TERMS, class_dimensions, takes_labels
from lpisearch.methods.base import Embedding
from lpisearch.methods.catalogue import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_array

    from lpisearch.methods.base import DocumentTransformer

# What a part says of the size of a problem, and an estimator must be told as a number.
SPARSITY = "sparsity"
EXACT_UP_TO = "exact_up_to"


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the registry (or the terms themselves) and its settings."""

    name: str  # in the registry, or "terms"
    # of the estimator, besides the number of dimensions, which follows from the classes unless it
    # is here. Two are not its own: `sparsity`, the share of zeros in a dimension, becomes a
    # number of terms, and `exact_up_to` = (documents, directions) limits the space that an exact
    # eigenproblem is solved in where there are more documents.
    arguments: tuple[tuple[str, Any], ...] = ()
    init: str = "k-means++"  # how k-means draws its centres

    @classmethod
    def of(cls, name: str, *, init: str = "k-means++", **arguments: Any) -> Self:
        """Make a method of its settings."""
        return cls(name, tuple(sorted(arguments.items())), init)

    @property
    def is_known(self) -> bool:
        """Whether the registry has it."""
        return self.name == TERMS or self.name in CATALOGUE

    def is_one_of(self, names: Sequence[str]) -> bool:
        """Whether it is named, alone or with some of its settings; () names all."""
        own = str(self).split()
        asked = [name.split() for name in names]
        return not asked or any(
            own[0] == name[0] and set(name[1:]) <= set(own[1:]) for name in asked
        )

    def __str__(self) -> str:
        settings = [f"{name}={value}" for name, value in self.arguments]
        return " ".join([self.name, *settings, *([self.init] if self.init != "k-means++" else [])])


class Learned(NamedTuple):
    """A method that was learned, and how much processor time that took, the graph included."""

    estimator: DocumentTransformer | None
    seconds: float

    def vectors(self, X: csr_array) -> Any:
        """Place the documents that were learned from, unscaled, as the papers compare them."""
        if self.estimator is None:
            return X
        if isinstance(self.estimator, Embedding):
            return self.estimator.embedding_
        if self.estimator.__class__.__name__ == "LaplacianScore":
            return X[:, getattr(self.estimator, "selected_")]  # noqa: B009 (not of the base class)
        return self.estimator.transform(X)

    def clusters(self) -> Any:
        """Return the clusters that the method finds by itself, or None."""
        return getattr(self.estimator, "clusters_", None)

    def shape_facts(self, n_terms: int) -> dict[str, Any]:
        """Return how many dimensions there are and, if it is linear, how sparse they are."""
        if self.estimator is None:
            return {"dims": n_terms}
        found: dict[str, Any] = {"dims": int(self.estimator.n_components_)}
        components = getattr(self.estimator, "components_", None)
        if components is not None and self.estimator.__class__.__name__ != "LaplacianScore":
            used = np.count_nonzero(components, axis=1)
            found["sparsity"] = float(100 * (1 - used.mean() / n_terms))
            found["most_terms"] = int(used.max(initial=0))
            found["all_terms"] = int(np.count_nonzero(components.any(axis=0)))
        return found


def learn(
    method: Method, X: csr_array, n_classes: int, labels: Sequence[str] | None = None
) -> Learned:
    """Learn a method from documents (rows at unit length)."""
    if method.name == TERMS:
        return Learned(None, 0.0)
    estimator = CATALOGUE[method.name].load()(**_arguments(method, X, n_classes))
    began = time.process_time()
    estimator.fit(X, labels if labels is not None and takes_labels(method.name) else None)
    return Learned(estimator, time.process_time() - began)


def _arguments(method: Method, X: csr_array, n_classes: int) -> dict[str, Any]:
    n_documents, n_terms = X.shape
    found = {"n_components": class_dimensions(method.name, n_classes)} | dict(method.arguments)
    if SPARSITY in found:
        share = found.pop(SPARSITY)
        found["cardinality"] = max(1, round((1 - share / 100) * n_terms))
    if EXACT_UP_TO in found:
        documents, directions = found.pop(EXACT_UP_TO)
        found["svd_components"] = None if n_documents <= documents else directions
    for name in ("n_selected", "n_components", "cardinality"):
        if isinstance(found.get(name), int):
            found[name] = min(found[name], n_terms)
    # The papers compare places as they are: no dimension counts more than another.
    known = CATALOGUE[method.name].load()().get_params()
    return {"eigenvalue_power": 0.0} | found if "eigenvalue_power" in known else found
