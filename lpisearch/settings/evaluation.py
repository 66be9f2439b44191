"""Evaluation options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lpisearch.settings.indexes import Setting


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """What every evaluation is told.

    Attributes
    ----------
    methods
        Representations to compare; () leaves the choice to the evaluation.
    dims, alpha
        None leaves the choice to the method, or to what the evaluation is used to.
    neighbours
        How many neighbours each document names in a graph.
    graph, radius, edge_weights
        Who is a neighbour of whom, and how much an edge counts, as `IndexSpec` has them.
    settings
        What some of the methods alone have, by the names of their parameters.
    weighting
        How counts become weights; "" is log-tfidf for a library, tf for a matrix.
    scale
        Where documents are compared by cosine, a dimension counts by its eigenvalue to this power.
    largest
        Keep only so many of the largest classes.
    matrix
        A file with counts and labels, in place of the library.
    index
        The name of the index that is compared with the baselines.
    seed
        Of every random choice.
    """

    methods: tuple[str, ...] = ()
    dims: int | None = None
    alpha: float | None = None
    neighbours: int = 15
    graph: str = "auto"
    radius: float | None = None
    edge_weights: str = "cosine"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    weighting: str = ""
    scale: float = 1.5
    largest: int | None = None
    matrix: Path | None = None
    index: str = "default"
    seed: int = 0

    @property
    def of_methods(self) -> tuple[object, ...]:
        """What a sweep may vary: it tells the parts of one run apart."""
        graph = (self.graph, self.radius, self.edge_weights)
        return (self.dims, self.alpha, self.neighbours, *graph, *self.settings.items())


@dataclass(frozen=True, slots=True)
class SimilarityOptions:
    """Which documents are compared pair by pair.

    Attributes
    ----------
    words
        A subset of the documents for each of these words (column numbers for a matrix).
    most_frequent
        Take so many of the most frequent words instead.
    subset_size
        How many documents such a subset may have.
    """

    words: tuple[str, ...] = ()
    most_frequent: int | None = None
    subset_size: tuple[int, int] = (250, 800)


@dataclass(frozen=True, slots=True)
class CategoriesOptions:
    """How `evaluate classify` parts the documents into those to learn from and those to judge.

    Attributes
    ----------
    split
        "field" takes the split that the documents state; "auto" does where they state one.
    train
        Shares to learn from, drawn at random in each class.
    repeats
        How many draws of each share.
    classifiers
        Which of centroid, knn and svm.
    single
        Leave out documents with several labels, as the papers do.
    """

    split: str = "auto"
    train: tuple[float, ...] = ()
    repeats: int = 10
    classifiers: tuple[str, ...] = ("centroid", "knn", "svm")
    single: bool = False


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Which classes `evaluate cluster` tries to find.

    Attributes
    ----------
    classes
        Numbers of classes drawn at random; 0 stands for all of them at once.
    draws
        How many draws of each number.
    """

    classes: tuple[int, ...] = (0,)
    draws: int = 50


@dataclass(frozen=True, slots=True)
class RetrievalOptions:
    """What `evaluate retrieval` asks, and how it judges.

    Attributes
    ----------
    queries, qrels
        Files of queries and of judgements.
    by
        Ways to rank; () is all that the library allows.
    measures
        Such as AP, nDCG@10, P@10, R@100, RR.
    depth
        How many documents a query may find.
    semantic_weight
        How much the subspace counts beside the words in hybrid; None leaves it to the index.
    """

    queries: Path
    qrels: Path
    by: tuple[str, ...] = ()
    measures: tuple[str, ...] = ("AP", "nDCG@10", "P@10", "R@100", "RR")
    depth: int = 10_000
    semantic_weight: float | None = None


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """What `evaluate sweep` varies.

    Attributes
    ----------
    measure
        "similarity", "classify", "cluster" or "retrieval".
    over
        "dims", "neighbours", "alpha" or "train", or a parameter that only some methods have.
    values
        What it takes in turn.
    """

    measure: str
    over: str
    values: tuple[Setting, ...]


Wanted = CategoriesOptions | ClusterOptions | RetrievalOptions | SimilarityOptions
"""What one evaluation measures."""
