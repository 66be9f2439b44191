"""Build the options of each `lpisearch evaluate` subcommand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.cli.evaluate import options as given

if TYPE_CHECKING:
    from lpisearch.settings import (
        CategoriesOptions,
        ClusterOptions,
        RetrievalOptions,
        SimilarityOptions,
    )


def similarity_options(words: str, subset_size: str) -> SimilarityOptions:
    """Read which subsets are compared."""
    from lpisearch.settings import SimilarityOptions

    bounds = given.bounds("subset_size", subset_size)
    if words.isdecimal() and int(words) > 0:
        return SimilarityOptions((), int(words), bounds)
    return SimilarityOptions(tuple(given.names(words)), None, bounds)


def classify_options(
    split: str, train: str, repeats: int, classifiers: str, *, single: bool = False
) -> CategoriesOptions:
    """Read how documents are split, and which classifiers judge them."""
    from lpisearch.settings import CategoriesOptions

    shares = given.shares("train", train)
    return CategoriesOptions(split, shares, repeats, tuple(given.names(classifiers)), single)


def cluster_options(classes: str, draws: int) -> ClusterOptions:
    """Read which classes are drawn."""
    from lpisearch.settings import ClusterOptions

    return ClusterOptions(given.numbers("classes", classes, everything="all"), draws)


def retrieval_options(
    queries: Path | None,
    qrels: Path | None,
    by: str = "",
    measures: str = given.USUAL_MEASURES,
    depth: int = given.USUAL_DEPTH,
    semantic_weight: float | None = None,
) -> RetrievalOptions:
    """Read what is asked, and how it is judged."""
    from lpisearch.errors import BadOption
    from lpisearch.settings import RetrievalOptions

    if queries is None:
        raise BadOption("queries", "retrieval needs a query file: --queries FILE")
    if qrels is None:
        raise BadOption("qrels", "retrieval needs relevance judgements: --qrels FILE")
    return RetrievalOptions(
        queries,
        qrels,
        tuple(given.names(by)),
        tuple(given.names(measures)),
        depth,
        semantic_weight,
    )
