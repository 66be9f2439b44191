"""Methods by name, made with what a command was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lpisearch.projections.base import DocumentTransformer

DIMENSIONS = 150
_DOCUMENTS_A_TOPIC = 10


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
    cls = method_class(name)
    wanted = {
        "n_components": options.dims or usual_dimensions(cls, n_documents),
        "alpha": options.alpha if options.alpha is not None else "auto",
        "n_neighbors": options.neighbours,
        "random_state": options.seed,
        "eigenvalue_power": options.scale,
    }
    known = parameters(cls)
    if options.alpha is None and "alpha" not in cls.chooses:
        known -= {"alpha"}
    return cls(**{each: value for each, value in wanted.items() if each in known})


def method_class(name: str) -> type[DocumentTransformer]:
    """Return the estimator class of a method."""
    from lpisearch.projections.registry import METHODS

    return METHODS[name]


def usual_dimensions(cls: type[DocumentTransformer], n_documents: int) -> int | str:
    """Return how many dimensions a method gets if none are asked for.

    Those that choose by a rule of their own do. Dimensions of PLSI and NMF are topics, and a
    topic of a few documents is one of chance: they get a tenth of the documents. All are 150 at
    most.
    """
    from lpisearch.projections.embedding import Embedding

    if "n_components" in cls.chooses:
        return "auto"
    is_embedding = issubclass(cls, Embedding)
    most = max(min(DIMENSIONS, n_documents - 1), 1)
    return min(most, max(n_documents // _DOCUMENTS_A_TOPIC, 2)) if is_embedding else most


def parameters(cls: type[DocumentTransformer]) -> set[str]:
    """Return the names of what a method can be told."""
    found: dict[str, Any] = cls().get_params()
    return set(found)
