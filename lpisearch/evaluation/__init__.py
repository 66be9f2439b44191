"""Evaluations, and their measures as plain functions."""

from __future__ import annotations

from lpisearch.evaluation.clustering import (
    Clustering,
    cluster_documents,
    clustering_accuracy,
    clustering_hits,
    mutual_information,
)
from lpisearch.evaluation.measures import (
    Confused,
    PairedTest,
    SetF1,
    accuracy,
    confusion,
    holm,
    macro_f1,
    paired_test,
    set_f1,
    worst_pairs,
)
from lpisearch.evaluation.retrieval import (
    Coverage,
    Measure,
    parse_measures,
    query_coverage,
    score_run,
)
from lpisearch.evaluation.similarity import (
    PairPrecision,
    average_accuracy,
    document_accuracies,
    pair_precision,
)
from lpisearch.evaluation.splits import draw_classes, frequent_terms, split_by_share, term_subsets

__all__ = [
    "Clustering",
    "Confused",
    "Coverage",
    "Measure",
    "PairPrecision",
    "PairedTest",
    "SetF1",
    "accuracy",
    "average_accuracy",
    "cluster_documents",
    "clustering_accuracy",
    "clustering_hits",
    "confusion",
    "document_accuracies",
    "draw_classes",
    "frequent_terms",
    "holm",
    "macro_f1",
    "mutual_information",
    "pair_precision",
    "paired_test",
    "parse_measures",
    "query_coverage",
    "score_run",
    "set_f1",
    "split_by_share",
    "term_subsets",
    "worst_pairs",
]
