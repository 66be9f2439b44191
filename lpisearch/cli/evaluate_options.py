"""Options of evaluate."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from lpisearch.cli import arguments
from lpisearch.cli.arguments import USUAL_EDGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.options import (
        CategoriesOptions,
        ClusterOptions,
        EvaluateOptions,
        RetrievalOptions,
        SimilarityOptions,
    )


Number = TypeVar("Number", int, float)

Methods = Annotated[
    str,
    typer.Option("--methods", metavar="NAME,…|all", help="Methods to compare: terms, lsi, rlpi, …"),
]
Dims = Annotated[str, typer.Option("--dims", metavar="auto|N", help="Number of dimensions.")]
Alpha = Annotated[
    str,
    typer.Option(
        "--alpha", metavar="auto|X", help="Ridge regularisation strength, for methods that use it."
    ),
]
Neighbours = Annotated[
    int,
    typer.Option("--neighbours", metavar="N", help="Number of nearest neighbours per document."),
]
Weighting = Annotated[
    str,
    typer.Option(
        "--weighting",
        metavar="NAME",
        help="Term weighting: tf, tfidf, log-tfidf or bm25 (default: log-tfidf, or tf with "
        "--matrix).",
    ),
]
Scale = Annotated[
    float,
    typer.Option(
        "--scale",
        metavar="X",
        help="Scale dimensions by their eigenvalue to this power before taking cosines.",
    ),
]
Largest = Annotated[
    int | None, typer.Option("--largest", metavar="N", help="Use only the N largest classes.")
]
Matrix = Annotated[
    Path | None,
    typer.Option(
        "--matrix",
        metavar="FILE",
        help="Evaluate a labelled count matrix (.npz or svmlight) instead of the library.",
    ),
]
IndexName = Annotated[
    str,
    typer.Option(
        "--index",
        metavar="NAME",
        help="Index to evaluate.",
        autocompletion=arguments.indexes,
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Random seed.")]
Queries = Annotated[
    Path | None, typer.Option("--queries", metavar="FILE", help="Query file (JSON Lines or TSV).")
]
Qrels = Annotated[
    Path | None, typer.Option("--qrels", metavar="FILE", help="Relevance judgements (TREC qrels).")
]
Words = Annotated[
    str,
    typer.Option(
        "--words",
        metavar="WORD,…|N",
        help="Average over subsets: the documents containing each WORD, or each of the N "
        "most frequent.",
    ),
]
SubsetSize = Annotated[
    str,
    typer.Option(
        "--subset-size", metavar="A..B", help="Size range of the subsets, with --words N."
    ),
]
SplitBy = Annotated[
    str,
    typer.Option(
        "--split",
        metavar="field|auto",
        help="Use the train and test sets stored with the documents.",
    ),
]
Train = Annotated[
    str, typer.Option("--train", metavar="5%,10%,…", help="Train on random samples of these sizes.")
]
Repeats = Annotated[
    int, typer.Option("--repeats", metavar="N", help="Number of random samples of each size.")
]
Classifiers = Annotated[
    str,
    typer.Option(
        "--classifiers", metavar="NAME,…", help="Classifiers to compare: centroid, knn, svm."
    ),
]
Single = Annotated[
    bool,
    typer.Option("--single-label", help="Skip documents with several labels, as the papers do."),
]
Classes = Annotated[
    str,
    typer.Option(
        "--classes",
        metavar="2..10|all",
        help="Number of random classes to cluster; all clusters every class.",
    ),
]
Draws = Annotated[
    int, typer.Option("--draws", metavar="N", help="Random draws for each number of classes.")
]
Ways = Annotated[
    str,
    typer.Option(
        "--by", metavar="NAME,…", help="Ranking modes to compare: hybrid, semantic, lexical."
    ),
]
Measures = Annotated[
    str,
    typer.Option(
        "--measures",
        metavar="NAME,…",
        help="Measures to report: AP, nDCG@K, P@K, R@K, RR, AP@K, RR@K.",
    ),
]
Depth = Annotated[
    int, typer.Option("--depth", metavar="N", help="Maximum number of results per query.")
]
Weight = Annotated[
    float | None,
    typer.Option(
        "--semantic-weight",
        metavar="X",
        help="Weight of meaning against words in hybrid ranking (default: learned by index).",
    ),
]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
ReportFolder = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="DIR",
        help="Write an HTML report with tables, plots and parameters to DIR.",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Overwrite files that do not belong to a report.")
]

USUAL_SCALE = 1.5
USUAL_NEIGHBOURS = 15
USUAL_CLASSIFIERS = "centroid,knn,svm"
USUAL_MEASURES = "AP,nDCG@10,P@10,R@100,RR"
USUAL_SIZE = "250..800"
USUAL_DEPTH = 10_000
_MOST = 10_000
"""How many numbers a list may have."""


def evaluate_options(
    *,
    methods: str = "",
    dims: str = "auto",
    alpha: str = "auto",
    neighbours: int = USUAL_NEIGHBOURS,
    graph: str = "auto",
    radius: float | None = None,
    edge_weights: str = USUAL_EDGES,
    settings: Mapping[str, str] | None = None,
    weighting: str = "",
    scale: float = USUAL_SCALE,
    largest: int | None = None,
    matrix: Path | None = None,
    index: str = "default",
    seed: int = 0,
) -> EvaluateOptions:
    """Read the options that all words have."""
    from lpisearch.options import EvaluateOptions

    return EvaluateOptions(
        methods=tuple(names(methods)),
        dims=number("dims", dims, int),
        alpha=number("alpha", alpha, float),
        neighbours=neighbours,
        graph=graph,
        radius=radius,
        edge_weights=edge_weights,
        settings=settings or {},
        weighting=weighting,
        scale=scale,
        largest=largest,
        matrix=matrix,
        index=index,
        seed=seed,
    )


def names(text: str) -> list[str]:
    """Read names with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]


def number(field: str, text: str, kind: type[Number]) -> Number | None:
    """Read a number, or None for "auto"."""
    from lpisearch.errors import BadOption

    if text == "auto":
        return None
    try:
        return kind(text)
    except ValueError:
        raise BadOption(field, f"must be auto or a number, not “{text}”") from None


def shares(field: str, text: str) -> tuple[float, ...]:
    """Read shares, as 5% or as .05."""
    from lpisearch.errors import BadOption

    found = []
    for name in names(text):
        try:
            found.append(_share(name))
        except ValueError:
            raise BadOption(field, f"“{name}” is not a fraction (write 5% or .05)") from None
    return tuple(dict.fromkeys(found))


def numbers(field: str, text: str, *, everything: str = "") -> tuple[int, ...]:
    """Read whole numbers and ranges: 2..10,30; `everything` stands for 0."""
    from lpisearch.errors import BadOption

    found: list[int] = []
    for name in names(text):
        if everything and name == everything:
            found.append(0)
            continue
        first, dots, last = name.partition("..")
        try:
            least, most = _positive(first), _positive(last if dots else first)
        except ValueError:
            raise BadOption(field, f"“{name}” is not a number or a range such as 2..10") from None
        if most < least:
            raise BadOption(field, f"the range “{name}” ends before it starts")
        if most - least >= _MOST:
            raise BadOption(field, f"the range “{name}” has more than {_MOST:,} values")
        found += range(least, most + 1)
    return tuple(dict.fromkeys(found))


def values(field: str, text: str, *, words: bool = False) -> tuple[float | str, ...]:
    """Read numbers, shares and ranges of whole numbers, and words where a parameter takes them."""
    from lpisearch.errors import BadOption

    found: list[float | str] = []
    for name in names(text):
        if ".." in name:
            found += numbers(field, name)
            continue
        try:
            found.append(_share(name))
        except ValueError:
            if not words:
                raise BadOption(field, f"“{name}” is not a number") from None
            found.append(name)
    return tuple(dict.fromkeys(found))


def bounds(field: str, text: str) -> tuple[int, int]:
    """Read two whole numbers, as 250..800."""
    from lpisearch.errors import BadOption

    first, _, last = text.partition("..")
    try:
        least, most = int(first), int(last)
    except ValueError:
        raise BadOption(field, f"“{text}” is not a range such as 250..800") from None
    if not 2 <= least <= most:  # noqa: PLR2004 (a pair takes two documents)
        raise BadOption(field, f"“{text}” is not a range that starts at 2 or more")
    return least, most


def _share(text: str) -> float:
    """Read a finite number; a percent sign divides by 100, without a trace of binary rounding."""
    value = float(text.removesuffix("%"))
    if not math.isfinite(value):
        raise ValueError(text)
    return round(value / 100, 12) if text.endswith("%") else value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def similarity_options(words: str, subset_size: str) -> SimilarityOptions:
    """Read which subsets are compared."""
    from lpisearch.options import SimilarityOptions

    limits = bounds("subset_size", subset_size)
    if words.isdecimal() and int(words) > 0:
        return SimilarityOptions((), int(words), limits)
    return SimilarityOptions(tuple(names(words)), None, limits)


def classify_options(
    split: str, train: str, repeats: int, classifiers: str, *, single: bool = False
) -> CategoriesOptions:
    """Read how documents are split, and which classifiers judge them."""
    from lpisearch.options import CategoriesOptions

    trained = shares("train", train)
    return CategoriesOptions(split, trained, repeats, tuple(names(classifiers)), single)


def cluster_options(classes: str, draws: int) -> ClusterOptions:
    """Read which classes are drawn."""
    from lpisearch.options import ClusterOptions

    return ClusterOptions(numbers("classes", classes, everything="all"), draws)


def retrieval_options(
    queries: Path | None,
    qrels: Path | None,
    by: str = "",
    measures: str = USUAL_MEASURES,
    depth: int = USUAL_DEPTH,
    semantic_weight: float | None = None,
) -> RetrievalOptions:
    """Read what is asked, and how it is judged."""
    from lpisearch.errors import BadOption
    from lpisearch.options import RetrievalOptions

    if queries is None:
        raise BadOption("queries", "retrieval needs a query file: --queries FILE")
    if qrels is None:
        raise BadOption("qrels", "retrieval needs relevance judgements: --qrels FILE")
    return RetrievalOptions(
        queries,
        qrels,
        tuple(names(by)),
        tuple(names(measures)),
        depth,
        semantic_weight,
    )
