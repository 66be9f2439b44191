"""What building an index takes, and what came out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """What building an index will take, before it begins.

    Attributes
    ----------
    documents, words
        How many there are.
    terms
        At most so many become columns of the matrix.
    memory_mb, seconds
        Estimates, from the words and the method.
    """

    documents: int
    words: int
    terms: int
    memory_mb: float
    seconds: float


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What building an index gave.

    Attributes
    ----------
    name, method
        As asked for.
    dims, alpha
        As chosen; alpha is None for a method that has none.
    documents, terms
        The size of the matrix.
    components, isolated
        Connected parts of the graph, and documents without a neighbour; None without a graph.
    unknown_rate
        Share of the corpus' words that are not in the vocabulary, being too rare.
    seconds
        By stage.
    peak_mb
        The most memory that the process has held.
    size_bytes
        Of the folder.
    folder
        Where the arrays are.
    classifier
        What was learned from the labels (see `lpisearch.classifiers.training.Learned`); None
        without labels.
    notes
        What is to be known of the map.
    """

    name: str
    method: str
    dims: int
    alpha: float | None
    documents: int
    terms: int
    components: int | None
    isolated: int | None
    unknown_rate: float
    seconds: dict[str, float]
    peak_mb: float
    size_bytes: int
    folder: str
    classifier: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
