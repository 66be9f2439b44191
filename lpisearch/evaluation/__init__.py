"""Measures as pure functions on arrays, labels, runs and judgements."""

from __future__ import annotations

from lpisearch.evaluation.measures.classification import (
    Confused,
    accuracy,
    confusion,
    macro_f1,
    worst_pairs,
)
from lpisearch.evaluation.measures.clustering import (
    Clustering,
    cluster_documents,
    clustering_accuracy,
    clustering_hits,
    mutual_information,
)
from lpisearch.evaluation.measures.drawing import draw_classes, split_by_share
from lpisearch.evaluation.measures.retrieval import (
    Coverage,
    Measure,
    parse_measures,
    query_coverage,
    score_run,
)
from lpisearch.evaluation.measures.several_labels import SetF1, set_f1
from lpisearch.evaluation.measures.significance import PairedTest, holm, paired_test
from lpisearch.evaluation.measures.similarity import (
    PairPrecision,
    average_accuracy,
    document_accuracies,
    pair_precision,
)
from lpisearch.evaluation.measures.subsets import frequent_terms, word_subsets

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
    "word_subsets",
    "worst_pairs",
]
