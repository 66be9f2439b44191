"""Methods by name, made with what a command was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lpisearch.projections.catalogue import CATALOGUE

if TYPE_CHECKING:
    from lpisearch.projections.base import DocumentTransformer


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
    """

    dims: int | None
    alpha: float | None
    neighbours: int
    seed: int
    scale: float


def make_method(name: str, options: MethodOptions, n_documents: int) -> DocumentTransformer:
    """Return the estimator of a method, for so many documents.

    A method that can choose its α does, if none is asked for; others keep their own.
    """
    method = CATALOGUE[name]
    wanted = {
        "n_components": options.dims or method.usual_dimensions(n_documents),
        "alpha": options.alpha if options.alpha is not None else "auto",
        "n_neighbors": options.neighbours,
        "random_state": options.seed,
        "eigenvalue_power": options.scale,
    }
    known = set(method.parameters)
    if options.alpha is None and "alpha" not in method.chooses:
        known.discard("alpha")
    return method.load()(**{each: value for each, value in wanted.items() if each in known})
