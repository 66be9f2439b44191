"""`lpisearch evaluate retrieval`: measure ranking with relevance judgements.

Every query is answered as `lpisearch query --queries` answers it, and the measures are those of
trec_eval. With `--methods`, an index of each method is worked out in memory and asked in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.evaluation.experiments.differences import Measured, with_differences
from lpisearch.evaluation.experiments.figures import compared
from lpisearch.evaluation.experiments.questions import Questions, read_questions
from lpisearch.evaluation.experiments.reporting import as_report
from lpisearch.evaluation.experiments.representations import TERMS, check_options, chosen_methods
from lpisearch.evaluation.experiments.sources import index_in_use
from lpisearch.indexes.scoring.engine import WAYS, Engine
from lpisearch.messages import Message, Option, call
from lpisearch.projections.parameters import typed
from lpisearch.records import Table
from lpisearch.search.searcher import Searcher
from lpisearch.settings import IndexOptions, SearchOptions
from lpisearch.wording import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.evaluation import Measure
    from lpisearch.evaluation.experiments.cells import Cells
    from lpisearch.indexes.session import Session
    from lpisearch.records import Cell, Report
    from lpisearch.settings import EvaluateOptions, RetrievalOptions

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
    from lpisearch.evaluation import parse_measures

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
        from lpisearch.evaluation import score_run

        engine = _engine(self.session, self.options, method)
        found = {}
        searcher = Searcher(self.session)
        for by in self.ways:
            search = SearchOptions(
                by=by,
                k=self.wanted.depth,
                index=self.options.index,
                semantic_weight=self.wanted.semantic_weight,
            )
            run = dict(searcher.batch(self.questions.queries, search, engine=engine))
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
    from lpisearch.indexes.build import fit_index
    from lpisearch.indexes.stages import Stages

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
    unknown = [way for way in wanted.by if way not in WAYS]
    if unknown:
        raise BadOption("by", f"unknown ranking mode {quoted(unknown)}", WAYS)
    if wanted.depth < 1:
        raise BadOption("depth", f"must be at least 1, not {wanted.depth}")
    return tuple(dict.fromkeys(wanted.by)) or WAYS


def _title(questions: Questions) -> str:
    number = counted(len(questions.queries), "judged query", "judged queries")
    return f"Retrieval: {number}, with trec_eval measures"
