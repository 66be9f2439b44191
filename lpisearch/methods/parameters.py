"""Parameters of methods: which values they take, and how a method is made from options.

SciPy is not needed. Limits that depend on the documents (no more terms than there are) are checked
by `fit`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from lpisearch.graphs.base import EDGE_WEIGHTS, METRICS, RADIUS
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
    """The values of a parameter: a number within limits, yes or no, or one of the choices.

    With `above`, the least value itself is refused. A number may also have choices; "none" stands
    for None.
    """

    kind: type
    least: float = 0
    most: float = math.inf
    above: bool = False
    choices: tuple[str, ...] = ()

    @property
    def takes(self) -> str:
        """The accepted values in words: “a whole number of at least 1, or auto”."""
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
        """Return a valid value from a text or a value, or raise ValueError."""
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
    "balance": Parameter(float, most=1),
    "beta": _STRENGTH_OR_AUTO,
    "cardinality": _COUNT_OR_AUTO,
    "centred": Parameter(bool),
    "coef0": _STRENGTH,
    "cooling": _SHARE,
    "degree": _COUNT,
    "eigenvalue_power": _STRENGTH,
    "exact_documents": _COUNT,
    "gamma": _POSITIVE,
    "graph_weight": _STRENGTH,
    "heat_scale": _POSITIVE,
    "held_out": _SHARE,
    "kernel": Parameter(str, choices=("linear", "rbf", "poly")),
    "label_strength": _STRENGTH_OR_AUTO,
    "landmarks": _COUNT,
    "max_iter": _COUNT,
    "metric": Parameter(str, choices=METRICS),
    "mu": _STRENGTH_OR_AUTO,
    "mutual": Parameter(bool),
    "n_init": _COUNT,
    "n_responses": _COUNT,
    "n_rounds": Parameter(int),
    "n_selected": _COUNT_OR_AUTO,
    "regression_tolerance": _STRENGTH_OR_AUTO,
    "rho": Parameter(float, least=1),
    "selection": Parameter(str, choices=(_AUTO, "alternating", "exchange")),
    "shrinkage": _STRENGTH,
    "solver": _BLOCK_SOLVER,
    "svd_components": Parameter(int, least=1, choices=(_AUTO, _NONE)),
    "tol": _STRENGTH,
    "tolerance": _STRENGTH,
    "weighting": Parameter(str, choices=("ncw", _NONE)),
}
# Parameters whose meaning differs from that in other methods.
_OF_METHOD: Mapping[tuple[str, str], Parameter] = {
    ("plsi", "beta"): Parameter(float, most=1, above=True, choices=(_AUTO,)),
    ("lpfl", "mu"): _POSITIVE,
    ("nmf", "solver"): Parameter(str, choices=("hals", "multiplicative")),
}
# Parameters with an option of their own, and the name of that option.
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
    """Return the parameters of a method that are not common options, by name."""
    about = CATALOGUE[method]
    names = [name for name in about.parameters if name not in {*OPTIONS, "n_components"}]
    own = sorted(name for name in names if name not in GRAPH_PARAMETERS)
    shared = [name for name in names if name in GRAPH_PARAMETERS]
    return {name: _OF_METHOD.get((method, name), _PARAMETERS[name]) for name in own + shared}


def settable_by_any(methods: Iterable[str]) -> dict[str, Parameter]:
    """Return the parameters of at least one of some methods that are not common options."""
    union: dict[str, Parameter] = {}
    for method in methods:
        union = settable(method) | union
    return union


def typed(method: str, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the settings that apply to a method, converted; raise ValueError for a bad value."""
    known = settable(method)
    converted = {}
    for name, value in settings.items():
        if name in known:
            try:
                converted[name] = known[name].read(value)
            except (ValueError, OverflowError):
                takes = known[name].takes
                raise ValueError(f"{name} for {method} must be {takes}, not “{value}”") from None
    return converted


class MethodRequest(Protocol):
    """The options that indexes and evaluations have in common."""

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
    """Options of a method, under the names that all methods share.

    `dims` and `alpha` of None leave the choice to the method or to a rule, a `radius` of None is
    the default. `scale` is the eigenvalue power. `settings` are by the names of the method's own
    parameters and take precedence; those of other methods are ignored.
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
    def of(cls, request: MethodRequest, scale: float, dims: int | None = None) -> Self:
        """Take the options of an index or an evaluation; `dims` is used if they have none."""
        return cls(
            dims=request.dims or dims,
            alpha=request.alpha,
            neighbours=request.neighbours,
            seed=request.seed,
            scale=scale,
            graph=request.graph,
            radius=request.radius,
            edge_weights=request.edge_weights,
            settings=request.settings,
        )


def make_method(name: str, options: MethodOptions, n_documents: int) -> DocumentTransformer:
    """Return the estimator of a method for a number of documents.

    Without an α, methods that can choose one do; others keep their default.
    """
    method = CATALOGUE[name]
    parameters: dict[str, Any] = {
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
    return method.load()(**{key: value for key, value in parameters.items() if key in known})
