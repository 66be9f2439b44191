"""Immutable paths and option groups of a command."""

from __future__ import annotations

from lpisearch.settings.evaluation import (
    CategoriesOptions,
    ClusterOptions,
    EvaluateOptions,
    RetrievalOptions,
    SimilarityOptions,
    SweepOptions,
)
from lpisearch.settings.indexes import (
    ENTRY_SORTS,
    RELEVANCE,
    SORTS,
    ClassifyOptions,
    DimensionOptions,
    IndexFields,
    IndexOptions,
    IndexSpec,
    SearchOptions,
    TopicOptions,
)
from lpisearch.settings.ingesting import (
    MEBIBYTE,
    FindOptions,
    IngestOptions,
    ReadOptions,
)
from lpisearch.settings.paths import (
    index_folder,
    is_own_place,
    own_paths,
    real_path,
    shipped_folder,
)

__all__ = [
    "ENTRY_SORTS",
    "MEBIBYTE",
    "RELEVANCE",
    "SORTS",
    "CategoriesOptions",
    "ClassifyOptions",
    "ClusterOptions",
    "DimensionOptions",
    "EvaluateOptions",
    "FindOptions",
    "IndexFields",
    "IndexOptions",
    "IndexSpec",
    "IngestOptions",
    "ReadOptions",
    "RetrievalOptions",
    "SearchOptions",
    "SimilarityOptions",
    "SweepOptions",
    "TopicOptions",
    "index_folder",
    "is_own_place",
    "own_paths",
    "real_path",
    "shipped_folder",
]
