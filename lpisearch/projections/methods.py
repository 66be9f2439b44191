"""Create methods by name from command options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

from lpisearch.graphs.options import EDGE_WEIGHTS, RADIUS
from lpisearch.projections.catalogue import CATALOGUE
from lpisearch.projections.parameters import typed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.projections.base import DocumentTransformer
    from lpisearch.projections.parameters import Setting


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
