"""Parameters of methods; make a method.

In: a name and a value, or its text as it was typed. Out: the value, or what is wrong with it.
SciPy is not needed. What only the documents can tell (more terms than there are) is left to `fit`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from lpisearch.graphs.base import EDGE_WEIGHTS, RADIUS
from lpisearch.methods.catalogue import CATALOGUE, GRAPH_PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lpisearch.methods.base import DocumentTransformer


Setting: TypeAlias = int | float | bool | str | None

_WORDS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
_NONE = "none"
_AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Parameter:
    """What values a parameter takes.

    Attributes
    ----------
    kind
        int, float, bool, or str for one of the `choices`.
    least, most
        Limits of a number.
    above
        Whether the least value itself is refused.
    choices
        Words that it takes beside numbers, or in place of them; "none" stands for None.
    """

    kind: type
    least: float = 0
    most: float = math.inf
    above: bool = False
    choices: tuple[str, ...] = ()

    @property
    def takes(self) -> str:
        """What it takes, in words: “a whole number of at least 1, or auto”."""
        words = " or ".join(self.choices)
        if self.kind is str:
            return f"one of {', '.join(self.choices)}"
        if self.kind is bool:
            return "yes or no"
        number = "a whole number" if self.kind is int else "a number"
        limits = f"{'above' if self.above else 'of at least'} {self.least:g}"
        if self.most < math.inf:
            limits += f" and at most {self.most:g}"
        return f"{number} {limits}" + (f", or {words}" if words else "")

    def read(self, value: Setting) -> Setting:
        """Return a value of its kind, from a text or from the value itself.

        Raises
        ------
        ValueError
            It is no such value.
        """
        if value is None or (isinstance(value, str) and value in self.choices):
            return self._word(_NONE if value is None else value)
        if self.kind is bool:
            return self._truth(value)
        if self.kind is str or isinstance(value, bool):
            raise ValueError(value)
        number = float(value)
        if not (self.least <= number <= self.most) or (self.above and number == self.least):
            raise ValueError(value)
        if self.kind is int:
            if not number.is_integer():
                raise ValueError(value)
            return int(number)
        return number

    def _word(self, word: str) -> Setting:
        if word not in self.choices:
            raise ValueError(word)
        return None if word == _NONE and self.kind is not str else word

    @staticmethod
    def _truth(value: Setting) -> bool:
        if isinstance(value, str) and value.lower() in _WORDS:
            return _WORDS[value.lower()]
        if isinstance(value, bool):
            return value
        raise ValueError(value)


_COUNT = Parameter(int, least=1)
_COUNT_OR_AUTO = Parameter(int, least=1, choices=(_AUTO,))
_STRENGTH = Parameter(float)
_STRENGTH_OR_AUTO = Parameter(float, choices=(_AUTO,))
_POSITIVE = Parameter(float, above=True)
_SHARE = Parameter(float, most=1, above=True)
_BLOCK_SOLVER = Parameter(str, choices=(_AUTO, "block", "arpack", "dense"))

_PARAMETERS: Mapping[str, Parameter] = {
    "beta": _STRENGTH_OR_AUTO,
    "cardinality": _COUNT_OR_AUTO,
    "centred": Parameter(bool),
    "coef0": _STRENGTH,
    "cooling": _SHARE,
    "degree": _COUNT,
    "eigenvalue_power": _STRENGTH,
    "exact_documents": _COUNT,
    "gamma": _POSITIVE,
    "heat_scale": _POSITIVE,
    "held_out": _SHARE,
    "kernel": Parameter(str, choices=("linear", "rbf", "poly")),
    "label_strength": _STRENGTH_OR_AUTO,
    "landmarks": _COUNT,
    "max_iter": _COUNT,
    "mu": _STRENGTH_OR_AUTO,
    "n_init": _COUNT,
    "n_selected": _COUNT_OR_AUTO,
    "regression_tolerance": _STRENGTH_OR_AUTO,
    "rho": Parameter(float, least=1),
    "selection": Parameter(str, choices=(_AUTO, "alternating", "exchange")),
    "solver": _BLOCK_SOLVER,
    "svd_components": Parameter(int, least=1, choices=(_AUTO, _NONE)),
    "tol": _STRENGTH,
    "tolerance": _STRENGTH,
    "weighting": Parameter(str, choices=("ncw", _NONE)),
}
# Where a method means something else by a name than the others do.
_OF_METHOD: Mapping[tuple[str, str], Parameter] = {
    ("plsi", "beta"): Parameter(float, most=1, above=True, choices=(_AUTO,)),
    ("lpfl", "mu"): _POSITIVE,
    ("nmf", "solver"): Parameter(str, choices=("hals", "multiplicative")),
}
# What has an option of its own, by the name of that option.
OPTIONS: Mapping[str, str] = {
    "alpha": "alpha",
    "edge_weights": "edge_weights",
    "graph": "graph",
    "n_components": "dims",
    "n_neighbors": "neighbours",
    "radius": "radius",
    "random_state": "seed",
}


def settable(method: str) -> dict[str, Parameter]:
    """Return what may be set of a method beside the common options, by name."""
    about = CATALOGUE[method]
    names = [name for name in about.parameters if name not in {*OPTIONS, "n_components"}]
    own = [name for name in names if name not in GRAPH_PARAMETERS]
    beside = [name for name in names if name in GRAPH_PARAMETERS]
    return {
        name: _OF_METHOD.get((method, name), _PARAMETERS[name]) for name in sorted(own) + beside
    }


def settable_by_any(methods: Iterable[str]) -> dict[str, Parameter]:
    """Return what may be set of at least one of some methods."""
    found: dict[str, Parameter] = {}
    for method in methods:
        found = settable(method) | found
    return found


def typed(method: str, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the settings that a method has, each of its kind.

    Raises
    ------
    ValueError
        A value that the parameter does not take; it says which.
    """
    known = settable(method)
    found = {}
    for name, value in settings.items():
        if name in known:
            try:
                found[name] = known[name].read(value)
            except (ValueError, OverflowError):
                takes = known[name].takes
                raise ValueError(f"{name} for {method} must be {takes}, not “{value}”") from None
    return found


class Asked(Protocol):
    """What indexes and evaluations are asked for alike."""

    @property
    def dims(self) -> int | None: ...  # noqa: D102 (a field, as are the others)
    @property
    def alpha(self) -> float | None: ...  # noqa: D102
    @property
    def neighbours(self) -> int: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def graph(self) -> str: ...  # noqa: D102
    @property
    def radius(self) -> float | None: ...  # noqa: D102
    @property
    def edge_weights(self) -> str: ...  # noqa: D102
    @property
    def settings(self) -> Mapping[str, Setting]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """What a method is told, whatever its own names for it are.

    Attributes
    ----------
    dims, alpha
        None leaves the choice to the method, or to a stated rule.
    neighbours
        How many neighbours each document names in a graph.
    seed
        Of every random choice.
    scale
        Where documents are compared by cosine, a dimension counts by its eigenvalue to this power.
    graph, radius, edge_weights
        Who is a neighbour of whom, and how much an edge counts; a radius of None is the usual one.
    settings
        What the method alone has, by the names of its parameters; those of other methods are
        passed over. They go before all that is above.
    """

    dims: int | None
    alpha: float | None
    neighbours: int
    seed: int
    scale: float
    graph: str = "auto"
    radius: float | None = None
    edge_weights: str = EDGE_WEIGHTS[0]
    settings: Mapping[str, Setting] = field(default_factory=dict)

    @classmethod
    def of(cls, asked: Asked, scale: float, dims: int | None = None) -> Self:
        """Take what an index or an evaluation is asked for; `dims`, if it does not say it."""
        return cls(
            dims=asked.dims or dims,
            alpha=asked.alpha,
            neighbours=asked.neighbours,
            seed=asked.seed,
            scale=scale,
            graph=asked.graph,
            radius=asked.radius,
            edge_weights=asked.edge_weights,
            settings=asked.settings,
        )


def make_method(name: str, options: MethodOptions, n_documents: int) -> DocumentTransformer:
    """Return the estimator of a method, for so many documents.

    A method that can choose its α does, if none is asked for; others keep their own.
    """
    method = CATALOGUE[name]
    wanted: dict[str, Any] = {
        "n_components": options.dims or method.usual_dimensions(n_documents),
        "alpha": options.alpha if options.alpha is not None else "auto",
        "n_neighbors": options.neighbours,
        "random_state": options.seed,
        "eigenvalue_power": options.scale,
        "graph": options.graph,
        "radius": options.radius or RADIUS,
        "edge_weights": options.edge_weights,
    } | typed(name, options.settings)
    known = set(method.parameters)
    if options.alpha is None and "alpha" not in method.chooses:
        known.discard("alpha")
    return method.load()(**{each: value for each, value in wanted.items() if each in known})
