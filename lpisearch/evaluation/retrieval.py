"""Retrieval: judged queries, scored by the measures of trec_eval.

Queries are answered as `lpisearch search` answers them, unless long documents are to be scored as
wholes, as in published protocols; `--methods` builds an index of each method in memory.
A run maps a query to documents with scores, judgements map it to documents with grades, of which
those above 0 are relevant. As in trec_eval, documents are ranked by score in single precision and
ties by id, both descending; the order within a run does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.evaluation.cells import TERMS, as_report, check_options, chosen_methods, compared
from lpisearch.evaluation.collection import index_in_use
from lpisearch.evaluation.measures import Measured, with_differences
from lpisearch.messages import Message, Option, are, call, counted, quoted, some
from lpisearch.methods.parameters import typed
from lpisearch.model.reports import Cell, Report, Table, named
from lpisearch.options import RANKING_MODES, IndexOptions, SearchOptions
from lpisearch.readers.judgements import Judgements, read_judgements, read_queries
from lpisearch.search.batch import answer_batch
from lpisearch.search.engine import Engine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.evaluation.cells import Cells
    from lpisearch.options import EvaluateOptions, RetrievalOptions
    from lpisearch.search.session import Session


LEXICAL = "lexical"

# By measure, the score of each query.
Scores = dict[str, dict[str, float]]


def evaluate_retrieval(
    session: Session, options: EvaluateOptions, wanted: RetrievalOptions, cells: Cells
) -> Report:
    """Measure ranking modes on judged queries and compare them in pairs."""
    methods = _methods(options)
    check_options(options, [name for name in methods if name is not None])
    measures = parse_measures(wanted.measures)
    modes = _modes(wanted)
    questions = read_questions(session, wanted)
    notes = questions.notes
    if not options.methods:
        in_use = index_in_use(session, options.index)
        notes += in_use.notes if in_use is not None else ()
        if in_use is None:
            if wanted.by and set(modes) != {LEXICAL}:
                raise NothingToEvaluate(
                    "Without an index, only lexical ranking works.", call("index")
                )
            modes = (LEXICAL,)
            notes.append(Message("No index yet; ranking by words only. Next: ", call("index")))
    cells.total += len(methods)
    first = str(measures[0])
    values: list[dict[str, float]] = []
    rows: list[dict[str, Cell]] = []
    scorer = _Scorer(session, options, wanted, modes, questions, measures)
    for method in methods:
        part = f"retrieval, {method or 'the index in use'}"
        measure = partial(scorer.scores, method)
        scored: dict[str, Scores] = cells.value(part, measure, *options.of_methods)
        for by, scores in scored.items():
            rows.append(_row(method, by, scores, measures))
            values.append(scores[first])
    number = counted(len(questions.queries), "judged query", "judged queries")
    title = f"Retrieval: {number}, with trec_eval measures"
    table, *pairs = with_differences(
        Table("retrieval", title, tuple(rows), tuple(notes)),
        Measured(first, "query", values),
        _name,
        options.seed,
    )
    tables = [table, *pairs, *_missing(questions)]
    figures = [compared(table, [str(measure) for measure in measures])]
    return as_report("Retrieval", None, (options, wanted), tables, figures)


@dataclass(frozen=True, slots=True)
class _Scorer:
    """Runs the queries in each ranking mode and scores the results."""

    session: Session
    options: EvaluateOptions
    wanted: RetrievalOptions
    modes: Sequence[str]
    questions: Questions
    measures: Sequence[Measure]

    def scores(self, method: str | None) -> dict[str, Scores]:
        """Score each mode with the library's index (None), or with one built by the method."""
        engine = _engine(self.session, self.options, method, whole=self.wanted.whole)
        scores = {}
        for by in self.modes:
            search = SearchOptions(
                by=by,
                k=self.wanted.depth,
                index=self.options.index,
                semantic_weight=self.wanted.semantic_weight,
            )
            queries = self.questions.queries
            run = dict(answer_batch(self.session, queries, search, engine=engine))
            scores[by] = score_run(_strict(run), self.questions.judgements, self.measures)
        return scores


def _strict(run: Mapping[str, Sequence[tuple[str, float]]]) -> dict[str, list[tuple[str, float]]]:
    """Replace scores by ranks, so that ties do not change the order."""
    return {
        query: [(document, float(-rank)) for rank, (document, _) in enumerate(ranked)]
        for query, ranked in run.items()
    }


def _engine(
    session: Session, options: EvaluateOptions, method: str | None, *, whole: bool
) -> Engine | None:
    """Return an engine that ranks as a query does, or whole documents; None without an index."""
    from lpisearch.index.build import fit_index
    from lpisearch.index.checkpoint import Stages

    if method is None:
        in_use = index_in_use(session, options.index)
        return None if in_use is None else Engine(in_use.opened, whole=whole)
    wanted = IndexOptions(
        method=method,
        dims=options.dims,
        alpha=options.alpha,
        neighbours=options.neighbours,
        graph=options.graph,
        radius=options.radius,
        edge_weights=options.edge_weights,
        settings=typed(method, options.settings),
        train="none",
        seed=options.seed,
    )
    if options.weighting:
        wanted = replace(wanted, weighting=options.weighting)
    return Engine(fit_index(session.path, wanted, Stages(lambda _name: None), whole=whole))


def _row(
    method: str | None, by: str, scores: Scores, measures: Sequence[Measure]
) -> dict[str, Cell]:
    row: dict[str, Cell] = {} if method is None else {"representation": method}
    row["by"] = by
    for measure in measures:
        row[str(measure)] = fmean(scores[str(measure)].values())
    return row | {"queries": len(scores[str(measures[0])])}


def _name(row: Mapping[str, Cell]) -> str:
    method = row.get("representation")
    return str(row["by"]) if method is None else f"{method}, {row['by']}"


def _missing(questions: Questions) -> list[Table]:
    by_table = {
        "queries_without_judgements": questions.unjudged,
        "missing_queries": questions.missing_queries,
        "missing_documents": questions.missing_documents,
    }
    return [
        Table(name, name.replace("_", " "), tuple({"id": id_} for id_ in ids))
        for name, ids in by_table.items()
        if ids
    ]


def _methods(options: EvaluateOptions) -> Sequence[str | None]:
    """Return the methods to build indexes with; None stands for the index in use."""
    if not options.methods:
        return (None,)
    methods = [name for name in chosen_methods(options, ()) if name != TERMS]
    if not methods:
        raise BadOption(
            "methods",
            Message(
                "plain terms need no index; rank them with ", Option("by", "lexical"), " instead"
            ),
        )
    return methods


def _modes(wanted: RetrievalOptions) -> tuple[str, ...]:
    unknown = [mode for mode in wanted.by if mode not in RANKING_MODES]
    if unknown:
        raise BadOption("by", f"unknown ranking mode {quoted(unknown)}", RANKING_MODES)
    if wanted.depth < 1:
        raise BadOption("depth", f"must be at least 1, not {wanted.depth}")
    return tuple(dict.fromkeys(wanted.by)) or RANKING_MODES


Run: TypeAlias = Mapping[str, Sequence[tuple[str, float]]]
Qrels: TypeAlias = Mapping[str, Mapping[str, int]]
_Grades: TypeAlias = "NDArray[np.int64]"


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure and its cut-off."""

    kind: str  # AP, nDCG, P, R or RR
    depth: int | None = None  # None: the whole list

    def __str__(self) -> str:
        return self.kind if self.depth is None else f"{self.kind}@{self.depth}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which queries can be scored; trec_eval averages over `scored`."""

    scored: tuple[str, ...]  # in the run and judged
    missing: tuple[str, ...]  # judged but not in the run; trec_eval -c counts them as 0
    unjudged: tuple[str, ...]  # in the run but not judged


def parse_measures(names: Iterable[str]) -> list[Measure]:
    """Parse names of measures, ignoring case and duplicates; unknown names raise BadOption.

    AP
        average precision; AP@K counts only relevant documents among the first K
    nDCG, nDCG@K
        discounted gain over the best possible gain; the gain of a document is its grade
    P@K
        the share of relevant documents among the first K
    R@K
        the share of the relevant documents that are among the first K
    RR
        one over the rank of the first relevant document; RR@K is 0 if that is below rank K

    Examples
    --------
    >>> from lpisearch.evaluation.retrieval import parse_measures
    >>> [str(measure) for measure in parse_measures(["AP", "ndcg@10"])]
    ['AP', 'nDCG@10']
    """
    parsed = {name: _parse(name) for name in names}
    unknown = [name for name, measure in parsed.items() if measure is None]
    if unknown or not parsed:
        reason = "no measure is called " + ", ".join(unknown) if unknown else "names no measure"
        raise BadOption("measures", reason, ["AP", "AP@K", "nDCG", "nDCG@K", "P@K", "R@K",
                                               "RR", "RR@K (K is a number)"])  # fmt: skip
    return list(dict.fromkeys(measure for measure in parsed.values() if measure is not None))


def query_coverage(run: Run, judgements: Qrels) -> Coverage:
    """Compare the queries of a run with those of the judgements.

    Examples
    --------
    >>> from lpisearch.evaluation.retrieval import query_coverage
    >>> query_coverage({"q1": [("d1", 1.0)], "q2": []}, {"q1": {"d1": 1}, "q3": {"d1": 1}})
    Coverage(scored=('q1',), missing=('q3',), unjudged=('q2',))
    """
    return Coverage(
        tuple(query for query in judgements if query in run),
        tuple(query for query in judgements if query not in run),
        tuple(query for query in run if query not in judgements),
    )


def score_run(
    run: Run, judgements: Qrels, measures: Iterable[Measure]
) -> dict[str, dict[str, float]]:
    """Return, by measure, the score of each query that is in the run and judged.

    A query without a relevant document or with an empty list scores 0. (A run file cannot contain
    an empty list; trec_eval counts the query as missing.) A list with a document twice, or with a
    score that is not a number, raises ValueError.

    Examples
    --------
    >>> from lpisearch.evaluation import parse_measures, score_run
    >>> run = {"q1": [("d1", 0.9), ("d2", 0.8), ("d3", 0.7)]}
    >>> score_run(run, {"q1": {"d1": 0, "d2": 1, "d4": 2}}, parse_measures(["AP", "P@2", "RR"]))
    {'AP': {'q1': 0.25}, 'P@2': {'q1': 0.5}, 'RR': {'q1': 0.5}}
    """
    measures = list(measures)
    scores: dict[str, dict[str, float]] = {str(measure): {} for measure in measures}
    for query in query_coverage(run, judgements).scored:
        judged = judgements[query]
        ranked = [judged.get(document, 0) for document in _ranked(query, run[query])]
        grades = np.maximum(np.array(ranked, dtype=np.int64), 0)
        best = np.sort(np.maximum(np.array(list(judged.values()), dtype=np.int64), 0))[::-1]
        for measure in measures:
            score = _KINDS[measure.kind]
            scores[str(measure)][query] = score(grades, best[best > 0], measure.depth)
    return scores


def _parse(name: str) -> Measure | None:
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


@dataclass(frozen=True, slots=True)
class Questions:
    """Queries with their judgements, and mismatches between files and library."""

    queries: list[tuple[str, str]]  # (id, text) of the judged ones
    judgements: Judgements
    unjudged: tuple[str, ...]  # queries without a relevant document
    missing_queries: tuple[str, ...]  # judged, but not in the query file
    missing_documents: tuple[str, ...]  # judged, but not in the library

    @property
    def notes(self) -> list[str]:
        """The mismatches in words."""
        notes = []
        if self.unjudged:
            number = are(len(self.unjudged), "query", "queries")
            notes.append(f"{number} without a relevant document (skipped): {some(self.unjudged)}.")
        if self.missing_queries:
            number = are(len(self.missing_queries), "judged query", "judged queries")
            notes.append(f"{number} not in the query file: {some(self.missing_queries)}.")
        if self.missing_documents:
            number = are(len(self.missing_documents), "judged document")
            listed = some(self.missing_documents)
            notes.append(f"{number} not in the library (counted as missed): {listed}.")
        return notes


def read_questions(session: Session, wanted: RetrievalOptions) -> Questions:
    """Read queries and judgements, and check them against each other and the library."""
    queries = read_queries(wanted.queries)
    with session.reading() as snapshot:
        known = set(snapshot.documents.ids().values())
    query_ids = {name for name, _ in queries}
    judgements = {
        named(query, query_ids): {named(document, known): grade for document, grade in own.items()}
        for query, own in read_judgements(wanted.qrels).items()
    }
    relevant = {query for query, own in judgements.items() if max(own.values()) > 0}
    judged = {document for own in judgements.values() for document in own}
    questions = Questions(
        queries=[query for query in queries if query[0] in relevant],
        judgements={
            query: own for query, own in judgements.items() if query in relevant & query_ids
        },
        unjudged=tuple(name for name, _ in queries if name not in relevant),
        missing_queries=tuple(sorted(relevant - query_ids)),
        missing_documents=tuple(sorted(judged - known)),
    )
    if not questions.queries:
        raise NothingToEvaluate(
            f"{wanted.qrels} lists no relevant document for any of "
            f"{counted(len(queries), 'query', 'queries')}.",
            "check that both files use the same query ids",
        )
    if judged.isdisjoint(known):
        raise NothingToEvaluate(
            f"None of {counted(len(judged), 'judged document')} is in the library.",
            Message(call("entries"), "  (lists the ids that judgements must use)"),
        )
    return questions
