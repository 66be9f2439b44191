"""Judged queries: experiment and trec_eval measures.

Every query is answered as `lpisearch query --queries` answers it, and the measures are those of
trec_eval. With `--methods`, an index of each method is worked out in memory and asked in turn.

A run gives, for each query, documents with scores; judgements give, for each query, documents with
grades: above 0 is relevant, 0 and below is not. Documents are ranked as trec_eval ranks them: by
score in single precision, largest first, and those with the same score by id, last in the alphabet
first. The order in which a run lists them does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.evaluation.collection import index_in_use
from lpisearch.evaluation.figures import as_report, compared
from lpisearch.evaluation.representations import TERMS, check_options, chosen_methods
from lpisearch.evaluation.significance import Measured, with_differences
from lpisearch.messages import Message, Option, are, call, counted, quoted, some
from lpisearch.methods.parameters import typed
from lpisearch.model.reports import Table, named
from lpisearch.options import RANKING_MODES, IndexOptions, SearchOptions
from lpisearch.readers.judgements import Judgements, read_judgements, read_queries
from lpisearch.search.batch import answer_batch
from lpisearch.search.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from lpisearch.evaluation.cache import Cells
    from lpisearch.model.reports import Cell, Report
    from lpisearch.options import EvaluateOptions, RetrievalOptions
    from lpisearch.search.session import Session


LEXICAL = "lexical"

# The score of each query, by measure.
Scores = dict[str, dict[str, float]]


def evaluate_retrieval(
    session: Session, options: EvaluateOptions, wanted: RetrievalOptions, cells: Cells
) -> Report:
    """Measure the ways to rank on judged queries, and compare them in pairs.

    Raises
    ------
    BadOption, NothingToEvaluate, QueriesUnreadable, JudgementsUnreadable, LibraryError
    """
    methods = _methods(options)
    check_options(options, [name for name in methods if name is not None])
    measures = parse_measures(wanted.measures)
    ways = _ways(wanted)
    questions = read_questions(session, wanted)
    notes = questions.notes
    if not options.methods:
        in_use = index_in_use(session, options.index)
        notes += in_use.notes if in_use is not None else ()
        if in_use is None:
            if wanted.by and set(ways) != {LEXICAL}:
                raise NothingToEvaluate(
                    "Without an index, only lexical ranking works.", call("index")
                )
            ways = (LEXICAL,)
            notes.append(Message("No index yet; ranking by words only. Next: ", call("index")))
    cells.total += len(methods)
    first = str(measures[0])
    values: list[dict[str, float]] = []
    rows: list[dict[str, Cell]] = []
    judge = _Scorer(session, options, wanted, ways, questions, measures)
    for method in methods:
        said = f"retrieval, {method or 'the index in use'}"
        measure = partial(judge.scores, method)
        scored: dict[str, Scores] = cells.value(said, measure, *options.of_methods)
        for by, scores in scored.items():
            rows.append(_row(method, by, scores, measures))
            values.append(scores[first])
    found = Table("retrieval", _title(questions), tuple(rows), tuple(notes))
    measured = Measured(first, "query", values)
    table, *pairs = with_differences(found, measured, _name, options.seed)
    tables = [table, *pairs, *_missing(questions)]
    figures = [compared(table, [str(measure) for measure in measures])]
    return as_report("Retrieval", None, (options, wanted), tables, figures)


@dataclass(frozen=True, slots=True)
class _Scorer:
    """Answers the questions in each way, and scores the answers."""

    session: Session
    options: EvaluateOptions
    wanted: RetrievalOptions
    ways: Sequence[str]
    questions: Questions
    measures: Sequence[Measure]

    def scores(self, method: str | None) -> dict[str, Scores]:
        """Score the ways to rank by the index of the library, or by one made for the method."""
        engine = _engine(self.session, self.options, method)
        found = {}
        for by in self.ways:
            search = SearchOptions(
                by=by,
                k=self.wanted.depth,
                index=self.options.index,
                semantic_weight=self.wanted.semantic_weight,
            )
            queries = self.questions.queries
            run = dict(answer_batch(self.session, queries, search, engine=engine))
            found[by] = score_run(_strict(run), self.questions.judgements, self.measures)
        return found


def _strict(run: Mapping[str, Sequence[tuple[str, float]]]) -> dict[str, list[tuple[str, float]]]:
    """Give each place of a ranking a score of its own, so that its order is what is judged."""
    return {
        query: [(document, float(-rank)) for rank, (document, _) in enumerate(ranked)]
        for query, ranked in run.items()
    }


def _engine(session: Session, options: EvaluateOptions, method: str | None) -> Engine | None:
    """Return what ranks whole documents, as judgements are of these; None without an index."""
    from lpisearch.index.build import fit_index
    from lpisearch.index.checkpoint import Stages

    if method is None:
        in_use = index_in_use(session, options.index)
        return None if in_use is None else Engine(in_use.opened, whole=True)
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
        from dataclasses import replace

        wanted = replace(wanted, weighting=options.weighting)
    return Engine(fit_index(session.path, wanted, Stages(lambda _name: None), whole=True))


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
    named = {
        "queries_without_judgements": questions.unjudged,
        "missing_queries": questions.missing_queries,
        "missing_documents": questions.missing_documents,
    }
    return [
        Table(name, name.replace("_", " "), tuple({"id": each} for each in names))
        for name, names in named.items()
        if names
    ]


def _methods(options: EvaluateOptions) -> Sequence[str | None]:
    """Return the methods to build an index of; None stands for the index in use."""
    if not options.methods:
        return (None,)
    found = [name for name in chosen_methods(options, ()) if name != TERMS]
    if not found:
        raise BadOption(
            "methods",
            Message(
                "plain terms need no index; rank them with ", Option("by", "lexical"), " instead"
            ),
        )
    return found


def _ways(wanted: RetrievalOptions) -> tuple[str, ...]:
    unknown = [way for way in wanted.by if way not in RANKING_MODES]
    if unknown:
        raise BadOption("by", f"unknown ranking mode {quoted(unknown)}", RANKING_MODES)
    if wanted.depth < 1:
        raise BadOption("depth", f"must be at least 1, not {wanted.depth}")
    return tuple(dict.fromkeys(wanted.by)) or RANKING_MODES


def _title(questions: Questions) -> str:
    number = counted(len(questions.queries), "judged query", "judged queries")
    return f"Retrieval: {number}, with trec_eval measures"


Run: TypeAlias = Mapping[str, Sequence[tuple[str, float]]]
Qrels: TypeAlias = Mapping[str, Mapping[str, int]]
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
    >>> from lpisearch.evaluation.retrieval import parse_measures
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


def query_coverage(run: Run, judgements: Qrels) -> Coverage:
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


@dataclass(frozen=True, slots=True)
class Questions:
    """Queries with their judgements, and what does not fit together.

    Attributes
    ----------
    queries
        The judged ones, as (id, text).
    judgements
        By query.
    unjudged
        Queries of the file without a relevant document.
    missing_queries
        Judged queries that the file lacks.
    missing_documents
        Judged documents that the library lacks.
    """

    queries: list[tuple[str, str]]
    judgements: Judgements
    unjudged: tuple[str, ...]
    missing_queries: tuple[str, ...]
    missing_documents: tuple[str, ...]

    @property
    def notes(self) -> list[str]:
        """Say it for people."""
        found = []
        if self.unjudged:
            number = are(len(self.unjudged), "query", "queries")
            found.append(f"{number} without a relevant document (skipped): {some(self.unjudged)}.")
        if self.missing_queries:
            number = are(len(self.missing_queries), "judged query", "judged queries")
            found.append(f"{number} not in the query file: {some(self.missing_queries)}.")
        if self.missing_documents:
            number = are(len(self.missing_documents), "judged document")
            listed = some(self.missing_documents)
            found.append(f"{number} not in the library (counted as missed): {listed}.")
        return found


def read_questions(session: Session, wanted: RetrievalOptions) -> Questions:
    """Read queries and judgements, and find what does not fit.

    Raises
    ------
    QueriesUnreadable, JudgementsUnreadable, NothingToEvaluate, LibraryError
    """
    queries = read_queries(wanted.queries)
    with session.reading() as snapshot:
        known = set(snapshot.documents.ids().values())
    asked = {name for name, _ in queries}
    judgements = {
        named(query, asked): {named(document, known): grade for document, grade in own.items()}
        for query, own in read_judgements(wanted.qrels).items()
    }
    relevant = {query for query, own in judgements.items() if max(own.values()) > 0}
    judged = {document for own in judgements.values() for document in own}
    questions = Questions(
        queries=[query for query in queries if query[0] in relevant],
        judgements={query: own for query, own in judgements.items() if query in relevant & asked},
        unjudged=tuple(name for name, _ in queries if name not in relevant),
        missing_queries=tuple(sorted(relevant - asked)),
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
