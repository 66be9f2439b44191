"""Paths and grouped options: what a command was asked to do, as frozen values."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from lpisearch.records import Filter

MEBIBYTE = 1024 * 1024
_OWN_ENDINGS = ("-wal", "-shm", "-journal", ".lock", ".before-")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How files become documents.

    Attributes
    ----------
    format
        "auto" or the name of a reader.
    labels
        "auto" (a field of the document, else the top folder), "folder", "none", the name of
        a field or column, or the path of a CSV file with labels.
    split
        "auto" (a field, else a folder called train, test, …), "folder", "none" or a field name.
    id_field, title_field, text_field
        Names of fields or columns; "" looks for the usual names.
    max_document_bytes
        A document larger than this is refused, so that one file cannot take all memory.
    """

    format: str = "auto"
    labels: str = "auto"
    split: str = "auto"
    id_field: str = ""
    title_field: str = ""
    text_field: str = ""
    max_document_bytes: int = 64 * MEBIBYTE


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """What `lpisearch ingest` was asked to do.

    Attributes
    ----------
    read
        How files become documents.
    prune
        Remove documents whose source file, or whose record within it, is gone.
    language
        Of the stemmer and the stop words; "" keeps what the library has (English at first).
    wait_seconds
        How long to wait for another process that is writing.
    batch_documents
        How many documents one transaction may hold: what a kill can cost.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    prune: bool = False
    language: str = ""
    wait_seconds: float = 30.0
    batch_documents: int = 1000


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """What `lpisearch index` was asked to do.

    Attributes
    ----------
    name
        Several indexes can lie beside each other; `default` is the one that queries use.
    method
        The projection.
    dims, alpha
        None leaves the choice to the method, by a stated rule.
    neighbours
        How many neighbours each document names in the graph.
    labels
        "ignore", or "use": documents with a common label are neighbours too.
    weighting
        How counts become weights.
    train
        Which documents `classify` learns from: "auto" (those of the split "train" if any is
        labelled, else all), "all", "none", or the name of a split.
    where
        Which documents; all, if not given.
    seed
        Of every random choice.
    wait_seconds
        How long to wait for another process that is writing.
    """

    name: str = "default"
    method: str = "rlpi"
    dims: int | None = None
    alpha: float | None = None
    neighbours: int = 15
    labels: str = "ignore"
    weighting: str = "log-tfidf"
    train: str = "auto"
    where: Filter = field(default_factory=Filter)
    seed: int = 0
    wait_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How `lpisearch query` is to answer.

    Attributes
    ----------
    by
        "hybrid", "semantic" (cosine in the subspace alone) or "lexical" (BM25 alone).
    k, offset
        How many hits, and how many of the best to pass over first.
    where
        Which documents may be found: applied before ranking.
    min_score
        Leave out hits below it; None keeps all.
    collapse
        Show one of several documents that are nearly the same.
    index
        The name of the index.
    """

    by: str = "hybrid"
    k: int = 10
    offset: int = 0
    where: Filter = field(default_factory=Filter)
    min_score: float | None = None
    collapse: bool = False
    index: str = "default"


@dataclass(frozen=True, slots=True)
class ClassifyOptions:
    """How `lpisearch classify` is to judge.

    Attributes
    ----------
    by
        "centroid", "knn" or "svm".
    k
        How many labels to give, best first.
    index
        The name of the index.
    """

    by: str = "centroid"
    k: int = 5
    index: str = "default"


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """What `lpisearch topics` is to find.

    Attributes
    ----------
    number
        Of topics; None reads it off the spectrum of the index.
    terms, documents
        How many of each to show for a topic.
    seed
        Of every random choice.
    index
        The name of the index.
    """

    number: int | None = None
    terms: int = 8
    documents: int = 3
    seed: int = 0
    index: str = "default"


@dataclass(frozen=True, slots=True)
class DimensionOptions:
    """Which dimensions `lpisearch topics --method` is to show.

    Attributes
    ----------
    method
        One whose dimensions have few words each.
    dims
        How many dimensions.
    terms, documents
        How many of each to show at each end of a dimension.
    seed
        Of every random choice, if the map is learned for this alone.
    index
        The name of an index that is used as it is, if it is of this method.
    """

    method: str
    dims: int = 10
    terms: int = 8
    documents: int = 3
    seed: int = 0
    index: str = "default"


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
    weighting: str = ""
    scale: float = 1.5
    largest: int | None = None
    matrix: Path | None = None
    index: str = "default"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SimilarityOptions:
    """Which documents are compared pair by pair.

    Attributes
    ----------
    words
        A subset of the documents for each of these words (column numbers for a matrix).
    most_frequent
        Take so many of the most frequent words instead.
    least, most
        How many documents such a subset may have.
    """

    words: tuple[str, ...] = ()
    most_frequent: int | None = None
    least: int = 250
    most: int = 800


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
    """

    split: str = "auto"
    train: tuple[float, ...] = ()
    repeats: int = 10
    classifiers: tuple[str, ...] = ("centroid", "knn", "svm")


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
    """

    queries: Path
    qrels: Path
    by: tuple[str, ...] = ()
    measures: tuple[str, ...] = ("AP", "nDCG@10", "P@10", "R@100", "RR")
    depth: int = 10_000


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """What `evaluate sweep` varies.

    Attributes
    ----------
    measure
        "similarity", "classify", "cluster" or "retrieval".
    over
        "dims", "neighbours", "alpha" or "train".
    values
        What it takes in turn.
    """

    measure: str
    over: str
    values: tuple[float, ...]


def shipped_folder(name: str) -> Path:
    """Return a folder that comes with the program: inside the package, or beside a checkout."""
    package = Path(__file__).parent
    installed = package / f"_{name}"
    return installed if installed.is_dir() else package.parent / name


def index_folder(library: Path) -> Path:
    """Return the folder beside a library that holds its indexes; two libraries share none."""
    if library.suffix == ".db":
        return library.with_suffix(".index")
    return library.with_name(f"{library.name}-index")


def is_own_file(path: str, library: Path) -> bool:
    """Tell whether a path is the library itself or one of the files beside it."""
    own = os.path.abspath(library)  # noqa: PTH100 (as discovery makes paths: links stay)
    if not path.startswith(own.removesuffix(library.suffix)):
        return False  # nearly always: it is asked of every file
    if path == str(index_folder(Path(own))):
        return True
    rest = path.removeprefix(own)
    return path.startswith(own) and (not rest or rest.startswith(_OWN_ENDINGS))
