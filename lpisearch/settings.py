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
