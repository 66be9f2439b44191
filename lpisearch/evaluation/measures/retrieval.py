"""Measures of ranked lists against judgements, equal to those of trec_eval.

A run gives, for each query, documents with scores; judgements give, for each query, documents with
grades: above 0 is relevant, 0 and below is not. Documents are ranked as trec_eval ranks them: by
score in single precision, largest first, and those with the same score by id, last in the alphabet
first. The order in which a run lists them does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lpisearch.errors import BadOption

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

Run: TypeAlias = Mapping[str, Sequence[tuple[str, float]]]
Judgements: TypeAlias = Mapping[str, Mapping[str, int]]
_Grades: TypeAlias = "NDArray[np.int64]"


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured, and on how many documents from the top.

    Attributes
    ----------
    kind
        AP, nDCG, P, R or RR.
    depth
        Documents from the top that count; None for the whole list.
    """

    kind: str
    depth: int | None = None

    def __str__(self) -> str:
        return self.kind if self.depth is None else f"{self.kind}@{self.depth}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which queries can be scored. A mean over `scored` is that of trec_eval.

    Attributes
    ----------
    scored
        In the run and judged.
    missing
        Judged, but not in the run: left out by trec_eval, or with its option -c counted as 0.
    unjudged
        In the run, but without judgements: left out.
    """

    scored: tuple[str, ...]
    missing: tuple[str, ...]
    unjudged: tuple[str, ...]


def parse_measures(names: Iterable[str]) -> list[Measure]:
    """Read names of measures; small and capital letters are alike, and each counts once.

    AP
        average precision; AP@K counts relevant documents among the first K only
    nDCG, nDCG@K
        discounted gain over the best possible, the gain being the grade
    P@K
        the share of relevant documents among the first K
    R@K
        the share of the relevant documents that are among the first K
    RR
        one over the rank of the first relevant document; RR@K is 0 if it is behind the first K

    Parameters
    ----------
    names
        Such as "AP" and "nDCG@10".

    Returns
    -------
    list of Measure
        In the order of the names.

    Raises
    ------
    BadOption
        If names are unknown; all of them are named.

    Examples
    --------
    >>> from lpisearch.evaluation import parse_measures
    >>> [str(measure) for measure in parse_measures(["AP", "ndcg@10"])]
    ['AP', 'nDCG@10']
    """
    found = {name: _parse(name) for name in names}
    unknown = [name for name, measure in found.items() if measure is None]
    if unknown or not found:
        reason = "no measure is called " + ", ".join(unknown) if unknown else "names no measure"
        raise BadOption("measures", reason, ["AP", "AP@K", "nDCG", "nDCG@K", "P@K", "R@K",
                                               "RR", "RR@K (K is a number)"])  # fmt: skip
    return list(dict.fromkeys(measure for measure in found.values() if measure is not None))


def query_coverage(run: Run, judgements: Judgements) -> Coverage:
    """Tell which queries have both a list and judgements, and which only one of them.

    Parameters
    ----------
    run
        For each query, documents with scores.
    judgements
        For each query, documents with grades.

    Returns
    -------
    Coverage
        The queries, each in the order in which they come in.

    Examples
    --------
    >>> from lpisearch.evaluation import query_coverage
    >>> query_coverage({"q1": [("d1", 1.0)], "q2": []}, {"q1": {"d1": 1}, "q3": {"d1": 1}})
    Coverage(scored=('q1',), missing=('q3',), unjudged=('q2',))
    """
    return Coverage(
        tuple(query for query in judgements if query in run),
        tuple(query for query in judgements if query not in run),
        tuple(query for query in run if query not in judgements),
    )


def score_run(
    run: Run, judgements: Judgements, measures: Iterable[Measure]
) -> dict[str, dict[str, float]]:
    """Score each query that has both a list and judgements, as trec_eval does.

    A query without a relevant document scores 0; so does one whose list is empty (which a file
    of a run cannot say: trec_eval takes it as missing). Queries that only one side has are left
    out: `query_coverage` names them.

    Parameters
    ----------
    run
        For each query, documents with scores, in any order.
    judgements
        For each query, documents with grades.
    measures
        From `parse_measures`.

    Returns
    -------
    dict
        For the name of each measure, the score of each query.

    Raises
    ------
    ValueError
        If a list has a document twice, or a score that is not a number.

    Examples
    --------
    >>> from lpisearch.evaluation import parse_measures, score_run
    >>> run = {"q1": [("d1", 0.9), ("d2", 0.8), ("d3", 0.7)]}
    >>> score_run(run, {"q1": {"d1": 0, "d2": 1, "d4": 2}}, parse_measures(["AP", "P@2", "RR"]))
    {'AP': {'q1': 0.25}, 'P@2': {'q1': 0.5}, 'RR': {'q1': 0.5}}
    """
    wanted = list(measures)
    scores: dict[str, dict[str, float]] = {str(measure): {} for measure in wanted}
    for query in query_coverage(run, judgements).scored:
        judged = judgements[query]
        found = [judged.get(document, 0) for document in _ranked(query, run[query])]
        grades = np.maximum(np.array(found, dtype=np.int64), 0)
        best = np.sort(np.maximum(np.array(list(judged.values()), dtype=np.int64), 0))[::-1]
        for measure in wanted:
            score = _KINDS[measure.kind]
            scores[str(measure)][query] = score(grades, best[best > 0], measure.depth)
    return scores


def _parse(name: str) -> Measure | None:
    """Read one name."""
    match = re.fullmatch(r"([a-z]+)(?:@([1-9][0-9]{0,8}))?", name.strip(), re.IGNORECASE | re.ASCII)
    kind = {known.lower(): known for known in _KINDS}.get(match[1].lower()) if match else None
    if match is None or kind is None or (match[2] is None and kind in _NEED_DEPTH):
        return None
    return Measure(kind, int(match[2]) if match[2] else None)


def _ranked(query: str, documents: Sequence[tuple[str, float]]) -> list[str]:
    """Order documents by score in single precision, then by id, both descending."""
    ids = [document for document, _ in documents]
    if len(set(ids)) < len(ids):
        twice = next(document for number, document in enumerate(ids) if document in ids[:number])
        raise ValueError(f"Query {query}: document {twice} is in the list twice.")
    with np.errstate(over="ignore"):  # a score beyond single precision is infinite, as in C
        scores = np.array([score for _, score in documents], dtype=np.float64).astype(np.float32)
    if np.isnan(scores).any():
        raise ValueError(f"Query {query}: a score is not a number.")
    return [
        document for _, document in sorted(zip(scores.tolist(), ids, strict=True), reverse=True)
    ]


def _average_precision(grades: _Grades, best: _Grades, depth: int | None) -> float:
    ranks = np.flatnonzero(grades[:depth]) + 1
    return float(np.sum(np.arange(1, len(ranks) + 1) / ranks) / len(best)) if len(best) else 0.0


def _gain(grades: _Grades, best: _Grades, depth: int | None) -> float:
    ideal = _discounted(best[:depth])
    return _discounted(grades[:depth]) / ideal if ideal else 0.0


def _discounted(grades: _Grades) -> float:
    return float(np.sum(grades / np.log2(np.arange(2, len(grades) + 2))))


def _precision(grades: _Grades, _best: _Grades, depth: int | None) -> float:
    return float(np.count_nonzero(grades[:depth]) / (depth or len(grades) or 1))


def _recall(grades: _Grades, best: _Grades, depth: int | None) -> float:
    return float(np.count_nonzero(grades[:depth]) / len(best)) if len(best) else 0.0


def _reciprocal_rank(grades: _Grades, _best: _Grades, depth: int | None) -> float:
    ranks = np.flatnonzero(grades[:depth])
    return float(1 / (ranks[0] + 1)) if len(ranks) else 0.0


_KINDS: dict[str, Callable[[_Grades, _Grades, int | None], float]] = {
    "AP": _average_precision,
    "nDCG": _gain,
    "P": _precision,
    "R": _recall,
    "RR": _reciprocal_rank,
}
_NEED_DEPTH = frozenset({"P", "R"})
