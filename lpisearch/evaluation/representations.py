"""Documents by terms or in a subspace.

All that is learned (which terms are kept, their idf, the map) comes from the counts that
`TermWeights.learn` and `represent` are given; other documents are only placed by it.
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

    Rows = Any  # a csr_array of terms, or an array of places


TERMS = "terms"
EVERY = "all"
FEWEST_TERMS = 1000
BASELINES = (TERMS, "lsi")
_LARGEST_SEED = 2**31 - 1  # further draws count on from it; NumPy takes 32 bits
PAPERS = (TERMS, "lsi", "lpi", "rlpi", "olpi")


@dataclass(frozen=True, eq=False, slots=True)
class TermWeights:
    """Which terms are kept and how they weigh, learned from some documents."""

    stays: NDArray[np.bool_]
    weighting: Weighting

    @classmethod
    def learn(cls, collection: Collection, scheme: str) -> TermWeights:
        """Learn from all documents of a collection."""
        counts = collection.counts
        frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
        stays = collection.limits.choose(frequencies, len(collection))
        return cls(stays, Weighting.fit(narrow(counts, stays), scheme or collection.weighting))

    def apply(self, counts: csr_array) -> csr_array:
        """Return the weights of documents, which may be others, at unit length."""
        return normalise_rows(self.weighting.apply(narrow(counts, self.stays)))


@dataclass(frozen=True, eq=False, slots=True)
class Represented:
    """A representation that was learned.

    Attributes
    ----------
    name
        "terms", or the method.
    dims
        How many numbers a document has.
    seconds
        What learning it took, the graph included.
    estimator
        The fitted method; None for the terms themselves.
    scales
        What each dimension is multiplied by where documents are compared by cosine.
    """

    name: str
    dims: int
    seconds: float
    estimator: DocumentTransformer | None
    scales: NDArray[np.floating[Any]] | None

    @property
    def alpha(self) -> float | None:
        """The strength of the ridge, where there is one."""
        alpha = None if self.estimator is None else self.estimator.alpha_
        return None if alpha is None else float(alpha)

    def places(self, X: csr_array) -> Rows:
        """Place documents, as the papers cluster them: unscaled."""
        return X if self.estimator is None else self.estimator.transform(X)

    def directions(self, X: csr_array, dims: int | None = None) -> Rows:
        """Place documents, scale the dimensions, and bring rows to unit length."""
        from lpisearch.index.subspace import scaled_rows

        if self.estimator is None or self.scales is None:
            return X
        places = np.asarray(self.estimator.transform(X), np.float32)
        return scaled_rows(places[:, :dims], np.asarray(self.scales[:dims], np.float32))


def represent(
    name: str,
    X: csr_array,
    options: EvaluateOptions,
    *,
    dims: int | None = None,
    labels: Sequence[Any] | None = None,
) -> Represented:
    """Learn a representation from weighted documents (rows at unit length).

    Parameters
    ----------
    name
        "terms" or a method of the registry.
    dims
        How many dimensions, if the options do not say it; None leaves it to the method.
    labels
        Of the documents, for methods that can learn from them.

    Raises
    ------
    NothingToEvaluate
        The documents do not have what the method needs.
    """
    if name == TERMS:
        return Represented(name, X.shape[1], 0.0, None, None)
    from lpisearch.methods.base import NotConverged

    wanted = MethodOptions.of(options, options.scale, dims)
    estimator = make_method(name, wanted, X.shape[0])
    began = time.perf_counter()
    try:
        with one_thread_if_small(X.shape[0]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # how many dimensions there are is in the table
            warnings.simplefilter("always", NotConverged)  # a part of the run takes note of it
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
    """Return the representations to compare: those asked for, or the usual ones.

    Raises
    ------
    BadOption
        All unknown names at once.
    """
    known = [TERMS, *CATALOGUE]
    if EVERY in options.methods:
        return tuple(known)
    unknown = [name for name in options.methods if name not in known]
    if unknown:
        hint = nearest(unknown[0], known)
        raise BadOption("methods", f"unknown method {quoted(unknown)}{hint}", [EVERY, *known])
    return tuple(dict.fromkeys(options.methods or usual))


def takes_labels(name: str) -> bool:
    """Tell whether a method can learn from labels."""
    return name != TERMS and CATALOGUE[name].has_graph


def leaves_out_constant(name: str) -> bool:
    """Tell whether a method drops the constant direction, so that c classes take c - 1."""
    return takes_labels(name) and not CATALOGUE[name].keeps_constant


def is_nested(name: str) -> bool:
    """Tell whether fewer dimensions are the first of more, so that one fit serves them all."""
    return name != TERMS and CATALOGUE[name].is_nested


def depends_on(name: str, parameter: str) -> bool:
    """Tell whether a representation has a parameter of that name."""
    return name != TERMS and parameter in CATALOGUE[name].parameters


def class_dimensions(name: str, n_classes: int) -> int:
    """Return how many dimensions the papers keep for so many classes.

    Where a dimension is a term, the least that lpfl-2012 keeps: a thousand.
    """
    if name != TERMS and CATALOGUE[name].selects_terms:
        return FEWEST_TERMS
    return max(n_classes - 1, 1) if leaves_out_constant(name) else n_classes


def check_options(
    options: EvaluateOptions, methods: Sequence[str], *, has_labels: bool = False
) -> None:
    """Refuse options that cannot work with the methods that are compared.

    Raises
    ------
    BadOption
    """
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
