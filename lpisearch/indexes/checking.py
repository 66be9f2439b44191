"""Validate index options before anything is read."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Protocol, TypeVar

from lpisearch.errors import BadOption
from lpisearch.graphs.options import EDGE_WEIGHTS
from lpisearch.graphs.registry import GRAPHS
from lpisearch.messages import Message, Option, call
from lpisearch.projections.catalogue import CATALOGUE
from lpisearch.projections.parameters import OPTIONS, settable_by_any, typed
from lpisearch.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.settings import IndexSpec
    from lpisearch.settings.indexes import Setting

    Spec = TypeVar("Spec", bound=IndexSpec)

AUTO = "auto"
_LABEL_CHOICES = ("ignore", "use")
_LARGEST_SEED = 2**32 - 1
_LARGEST_ALPHA = 1e30  # beyond it float32 cannot hold what is left of the map


class GraphChoice(Protocol):
    """Options that say who is a neighbour of whom."""

    @property
    def graph(self) -> str: ...  # noqa: D102 (a field)
    @property
    def radius(self) -> float | None: ...  # noqa: D102 (a field)
    @property
    def edge_weights(self) -> str: ...  # noqa: D102 (a field)


def check_options(options: IndexSpec) -> None:
    """Refuse options that cannot work, before anything is read.

    Raises
    ------
    BadOption
    """
    from lpisearch.terms.weighting import weighting_scheme

    if options.method not in CATALOGUE:
        hint = nearest(options.method, CATALOGUE)
        raise BadOption("method", f"unknown method “{options.method}”{hint}", CATALOGUE)
    method = CATALOGUE[options.method]
    if options.labels not in _LABEL_CHOICES:
        raise BadOption("labels", f"unknown value “{options.labels}”", _LABEL_CHOICES)
    if options.dims is not None and options.dims < 1:
        raise BadOption("dims", f"must be at least 1, not {options.dims}")
    if options.neighbours < 1:
        raise BadOption("neighbours", f"must be at least 1, not {options.neighbours}")
    if options.alpha is not None and not 0 <= options.alpha <= _LARGEST_ALPHA:
        raise BadOption("alpha", f"must be between 0 and {_LARGEST_ALPHA:g}, not {options.alpha}")
    if options.alpha is not None and "alpha" not in method.parameters:
        raise BadOption("alpha", f"{options.method} does not use alpha")
    check_graph(options, [options.method])
    _check_what_is_known(options)
    if not 0 <= options.seed <= _LARGEST_SEED:
        raise BadOption("seed", f"must be between 0 and {_LARGEST_SEED}, not {options.seed}")
    weighting_scheme(options.weighting)
    check_settings(options.settings, [options.method])


def check_graph(options: GraphChoice, methods: Sequence[str]) -> None:
    """Refuse a graph that there is not, or that none of the methods has.

    Raises
    ------
    BadOption
    """
    if options.radius is not None and not 0 < options.radius <= sqrt(2):
        raise BadOption("radius", f"must be above 0 and at most √2, not {options.radius}")
    if options.edge_weights not in EDGE_WEIGHTS:
        hint = nearest(options.edge_weights, EDGE_WEIGHTS)
        raise BadOption(
            "edge_weights", f"unknown edge weights “{options.edge_weights}”{hint}", EDGE_WEIGHTS
        )
    if options.graph not in {AUTO, *GRAPHS}:
        hint = nearest(options.graph, GRAPHS)
        raise BadOption("graph", f"unknown graph “{options.graph}”{hint}", [AUTO, *GRAPHS])
    asked = {"graph": options.graph != AUTO, "edge_weights": options.edge_weights != "cosine"}
    for field, is_asked in asked.items():
        if is_asked and not any(name in CATALOGUE and CATALOGUE[name].has_graph
                                for name in methods):  # fmt: skip
            none = f"{methods[0]} has" if len(methods) == 1 else "none of the methods has"
            raise BadOption(field, f"{none} {'no graph' if len(methods) == 1 else 'a graph'}")


def _check_what_is_known(options: IndexSpec) -> None:
    """Refuse labels and pairs that the graph has no use for."""
    has_graph = CATALOGUE[options.method].has_graph
    if options.labels == "use" and not has_graph:
        raise BadOption("labels", f"{options.method} does not use labels")
    if options.pairs and not has_graph:
        raise BadOption("pairs", f"{options.method} does not use a graph")
    unknown = {kind for kind, _, _ in options.pairs} - {"must", "cannot"}
    if unknown:
        raise BadOption("pairs", f"“{min(unknown)}” is not must or cannot")
    if options.graph == AUTO or GRAPHS[options.graph].needs_labels == (options.labels == "use"):
        return
    needs, instead = "does not use labels", "ignore"
    if options.labels == "ignore":
        needs, instead = "needs labels", "use"
    error = BadOption("graph", f"{options.graph} {needs}")
    error.next_step = call("index", graph=options.graph, labels=instead)
    raise error


def check_settings(settings: Mapping[str, Setting], methods: Sequence[str]) -> None:
    """Refuse a setting that no method has, or a value that it does not take.

    Raises
    ------
    BadOption
    """
    known = settable_by_any(name for name in methods if name in CATALOGUE)
    for name in settings:
        if name in known:
            continue
        if name in OPTIONS:
            said = Message(f"{name} has its own option, ", Option(OPTIONS[name]))
            raise BadOption("settings", said)
        who = methods[0] if len(methods) == 1 else "none of the methods"
        negation = "no" if len(methods) == 1 else "a"
        raise BadOption(
            "settings", f"{who} has {negation} parameter “{name}”{nearest(name, known)}", known
        )
    try:
        for method in methods:
            if method in CATALOGUE:
                typed(method, settings)
    except ValueError as error:
        raise BadOption("settings", str(error)) from None


def with_typed_settings(spec: Spec) -> Spec:
    """Return a specification with each setting of its kind, as it is stored."""
    return replace(spec, settings=typed(spec.method, spec.settings))
