"""Representations of documents: by terms or in a subspace.

Everything that is learned (vocabulary, idf, projection) comes from the counts passed to
`TermWeights.learn` and `represent`; other documents are only projected.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.graphs.base import GRAPHS
from lpisearch.index.projection import check_graph, check_settings
from lpisearch.messages import Message, Option, call, nearest, quoted
from lpisearch.methods.catalogue import CATALOGUE
from lpisearch.methods.parameters import MethodOptions, make_method
from lpisearch.numeric.threads import one_thread_if_small
from lpisearch.text.vocabulary import narrow
from lpisearch.text.weighting import Weighting, normalise_rows, weighting_scheme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.evaluation.collection import Collection
    from lpisearch.methods.base import DocumentTransformer
    from lpisearch.options import EvaluateOptions

    Rows = Any  # a csr_array of terms or an array of vectors


TERMS = "terms"
EVERY = "all"
FEWEST_TERMS = 1000
BASELINES = (TERMS, "lsi")
_LARGEST_SEED = 2**31 - 1  # draws add to it, and NumPy accepts 32 bits
PAPERS = (TERMS, "lsi", "lpi", "rlpi", "olpi")


@dataclass(frozen=True, eq=False, slots=True)
class TermWeights:
    """A vocabulary and its weighting, learned from documents."""

    selected: NDArray[np.bool_]
    weighting: Weighting

    @classmethod
    def learn(cls, collection: Collection, scheme: str) -> TermWeights:
        """Learn from all documents of a collection."""
        counts = collection.counts
        frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
        selected = collection.limits.choose(frequencies, len(collection))
        weighting = Weighting.fit(narrow(counts, selected), scheme or collection.weighting)
        return cls(selected, weighting)

    def apply(self, counts: csr_array) -> csr_array:
        """Return the weights of any documents, at unit length."""
        return normalise_rows(self.weighting.apply(narrow(counts, self.selected)))


@dataclass(frozen=True, eq=False, slots=True)
class Represented:
    """A learned representation."""

    name: str  # "terms" or the method
    dims: int
    seconds: float  # of fitting, including the graph
    estimator: DocumentTransformer | None  # None for terms
    scales: NDArray[np.floating[Any]] | None  # factors of the dimensions for cosines

    @property
    def alpha(self) -> float | None:
        """The strength of the ridge penalty, if any."""
        alpha = None if self.estimator is None else self.estimator.alpha_
        return None if alpha is None else float(alpha)

    def vectors(self, X: csr_array) -> Rows:
        """Project documents without scaling, as the papers cluster them."""
        return X if self.estimator is None else self.estimator.transform(X)

    def directions(self, X: csr_array, dims: int | None = None) -> Rows:
        """Project documents, scale the dimensions and normalise the rows."""
        from lpisearch.index.subspace import scaled_rows

        if self.estimator is None or self.scales is None:
            return X
        vectors = np.asarray(self.estimator.transform(X), np.float32)
        return scaled_rows(vectors[:, :dims], np.asarray(self.scales[:dims], np.float32))


def represent(
    name: str,
    X: csr_array,
    options: EvaluateOptions,
    *,
    dims: int | None = None,
    labels: Sequence[Any] | None = None,
) -> Represented:
    """Learn "terms" or a method from weighted documents (rows at unit length).

    `dims` applies if the options do not set it; `labels` are for methods that can learn from them.
    """
    if name == TERMS:
        return Represented(name, X.shape[1], 0.0, None, None)
    from lpisearch.methods.base import NotConverged

    wanted = MethodOptions.of(options, options.scale, dims)
    estimator = make_method(name, wanted, X.shape[0])
    began = time.perf_counter()
    try:
        with one_thread_if_small(X.shape[0]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the table shows the number of dimensions
            warnings.simplefilter("always", NotConverged)  # recorded by `Cells`
            estimator.fit(X, labels if takes_labels(name) else None)
    except ValueError as error:
        raise NothingToEvaluate(
            f"Cannot train {name} on these documents: {error}",
            Message(
                "drop it with ",
                Option("methods"),
                ", or choose other options: ",
                call("help", "evaluate"),
            ),
        ) from error
    seconds = time.perf_counter() - began
    return Represented(
        name, estimator.n_components_, seconds, estimator, np.asarray(estimator.scales_)
    )


def chosen_methods(options: EvaluateOptions, usual: Sequence[str]) -> tuple[str, ...]:
    """Return the representations to compare; BadOption lists all unknown names."""
    known = [TERMS, *CATALOGUE]
    if EVERY in options.methods:
        return tuple(known)
    unknown = [name for name in options.methods if name not in known]
    if unknown:
        hint = nearest(unknown[0], known)
        raise BadOption("methods", f"unknown method {quoted(unknown)}{hint}", [EVERY, *known])
    return tuple(dict.fromkeys(options.methods or usual))


def takes_labels(name: str) -> bool:
    """Return whether a method can learn from labels."""
    return name != TERMS and CATALOGUE[name].has_graph


def leaves_out_constant(name: str) -> bool:
    """Return whether a method drops the constant direction: c classes need c - 1 dimensions."""
    return takes_labels(name) and not CATALOGUE[name].keeps_constant


def is_nested(name: str) -> bool:
    """Return whether fewer dimensions are the first of more, so that one fit serves all."""
    return name != TERMS and CATALOGUE[name].is_nested


def depends_on(name: str, parameter: str) -> bool:
    """Return whether a representation has a parameter of that name."""
    return name != TERMS and parameter in CATALOGUE[name].parameters


def class_dimensions(name: str, n_classes: int) -> int:
    """Return the number of dimensions used in the papers for a number of classes.

    A method that selects terms gets 1,000, the fewest in lpfl-2012.
    """
    if name != TERMS and CATALOGUE[name].selects_terms:
        return FEWEST_TERMS
    return max(n_classes - 1, 1) if leaves_out_constant(name) else n_classes


def check_options(
    options: EvaluateOptions, methods: Sequence[str], *, has_labels: bool = False
) -> None:
    """Raise BadOption for options that do not fit the methods compared."""
    if options.weighting:
        weighting_scheme(options.weighting)
    if options.dims is not None and options.dims < 1:
        raise BadOption("dims", f"must be at least 1, not {options.dims}")
    if options.neighbours < 1:
        raise BadOption("neighbours", f"must be at least 1, not {options.neighbours}")
    if options.alpha is not None and not 0 <= options.alpha < np.inf:
        raise BadOption("alpha", f"must be 0 or more, not {options.alpha}")
    if not 0 <= options.scale < np.inf:
        raise BadOption("scale", f"must be 0 or more, not {options.scale}")
    if not 0 <= options.seed <= _LARGEST_SEED:
        raise BadOption("seed", f"must be between 0 and {_LARGEST_SEED:,}, not {options.seed}")
    check_graph(options, methods)
    if not has_labels and options.graph in GRAPHS and GRAPHS[options.graph].needs_labels:
        raise BadOption("graph", f"{options.graph} is built from labels, which only classify uses")
    check_settings(options.settings, methods)
    if options.largest is not None and options.largest < 2:  # noqa: PLR2004 (the least to tell apart)
        raise BadOption("largest", f"must be at least 2, not {options.largest}")
