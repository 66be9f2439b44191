"""Whether queries find what people judged relevant: `lpisearch evaluate retrieval`.

Every query is answered as `lpisearch query --queries` answers it, and the measures are those of
trec_eval. With `--methods`, an index of each method is worked out in memory and asked in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any

from lpisearch.database.corpus import external_ids
from lpisearch.database.schema import open_library
from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.records import Table
from lpisearch.search.engine import WAYS, Engine
from lpisearch.settings import IndexOptions, SearchOptions
from lpisearch.workflows.batch import run_batch
from lpisearch.workflows.evaluating.reporting import as_report
from lpisearch.workflows.evaluating.representations import TERMS, check_options, chosen_methods
from lpisearch.workflows.judgement_files import Judgements, read_judgements
from lpisearch.workflows.opening import entry_named
from lpisearch.workflows.query_files import read_queries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lpisearch.evaluation import Measure
    from lpisearch.records import Cell, Report
    from lpisearch.settings import EvaluateOptions, RetrievalOptions
    from lpisearch.workflows.evaluating.cells import Cells

LEXICAL = "lexical"
_NAMED = 5

# The score of each query, by measure.
Scores = dict[str, dict[str, float]]


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
        said = (
            (self.unjudged, "queries without a relevant document are left out"),
            (self.missing_queries, "judged queries are not in the file of queries"),
            (
                self.missing_documents,
                "judged documents are not in the library: they count as missed",
            ),
        )
        return [f"{len(names):,} {what}: {_listed(names)}." for names, what in said if names]


def evaluate_retrieval(
    library: Path, options: EvaluateOptions, wanted: RetrievalOptions, cells: Cells
) -> Report:
    """Measure the ways to rank on judged queries, and compare them in pairs.

    Raises
    ------
    BadOption, NothingToEvaluate, QueriesUnreadable, JudgementsUnreadable, LibraryError
    """
    from lpisearch.evaluation import parse_measures

    check_options(options)
    measures = parse_measures(wanted.measures)
    ways = _ways(wanted)
    questions = read_questions(library, wanted)
    notes = questions.notes
    methods: Sequence[str | None] = (None,)
    if options.methods:
        methods = [name for name in chosen_methods(options, ()) if name != TERMS]
    elif not _has_index(library, options.index):
        if wanted.by and set(ways) != {LEXICAL}:
            raise NothingToEvaluate("Only lexical can rank without an index.", "lpisearch index")
        ways = (LEXICAL,)
        notes.append("No index yet, so by words alone. Next: lpisearch index")
    cells.total += len(methods)
    settings: dict[str, Scores] = {}
    rows: list[dict[str, Cell]] = []
    judge = _Judge(library, options, wanted, ways, questions, measures)
    for method in methods:
        varied = (options.dims, options.alpha, options.neighbours)
        said = f"retrieval, {method or 'the index in use'}"
        scored: dict[str, Scores] = cells.value(said, partial(judge.scores, method), *varied)
        for by, scores in scored.items():
            rows.append(_row(method, by, scores, measures))
            settings[by if method is None else f"{method}, {by}"] = scores
    tables = [Table("retrieval", _title(questions), tuple(rows), tuple(notes))]
    if len(settings) > 1:
        tables.append(_comparisons(settings, str(measures[0]), options.seed))
    tables += _missing(questions)
    return as_report("Retrieval", None, (options, wanted), tables)


def read_questions(library: Path, wanted: RetrievalOptions) -> Questions:
    """Read queries and judgements, and find what does not fit.

    Raises
    ------
    QueriesUnreadable, JudgementsUnreadable, NothingToEvaluate, LibraryError
    """
    queries = read_queries(wanted.queries)
    judgements = read_judgements(wanted.qrels)
    with open_library(library) as database, database.reading() as connection:
        known = set(external_ids(connection).values())
    relevant = {query for query, own in judgements.items() if max(own.values()) > 0}
    asked = {name for name, _ in queries}
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
            f"None of the {len(queries):,} queries has a relevant document in {wanted.qrels}.",
            "check that both files name queries alike",
        )
    if judged.isdisjoint(known):
        raise NothingToEvaluate(
            f"None of the {len(judged):,} judged documents is in the library.",
            "lpisearch docs list  (shows the ids that judgements must name)",
        )
    return questions


@dataclass(frozen=True, slots=True)
class _Judge:
    """Answers the questions in each way, and scores the answers."""

    library: Path
    options: EvaluateOptions
    wanted: RetrievalOptions
    ways: Sequence[str]
    questions: Questions
    measures: Sequence[Measure]

    def scores(self, method: str | None) -> dict[str, Scores]:
        """Score the ways to rank by the index of the library, or by one made for the method."""
        from lpisearch.evaluation import score_run

        engine = None if method is None else _engine(self.library, self.options, method)
        found = {}
        for by in self.ways:
            search = SearchOptions(by=by, k=self.wanted.depth, index=self.options.index)
            run = dict(run_batch(self.library, self.questions.queries, search, engine=engine))
            found[by] = score_run(_strict(run), self.questions.judgements, self.measures)
        return found


def _strict(run: Mapping[str, Sequence[tuple[str, float]]]) -> dict[str, list[tuple[str, float]]]:
    """Give each place of a ranking a score of its own, so that its order is what is judged."""
    return {
        query: [(document, float(-rank)) for rank, (document, _) in enumerate(ranked)]
        for query, ranked in run.items()
    }


def _engine(library: Path, options: EvaluateOptions, method: str) -> Engine:
    from lpisearch.workflows.indexing import fit_index
    from lpisearch.workflows.stages import Stages

    wanted = IndexOptions(
        method=method,
        dims=options.dims,
        alpha=options.alpha,
        neighbours=options.neighbours,
        train="none",
        seed=options.seed,
    )
    if options.weighting:
        from dataclasses import replace

        wanted = replace(wanted, weighting=options.weighting)
    return Engine(fit_index(library, wanted, Stages(lambda _name: None)))


def _row(
    method: str | None, by: str, scores: Scores, measures: Sequence[Measure]
) -> dict[str, Cell]:
    row: dict[str, Cell] = {} if method is None else {"method": method}
    row["by"] = by
    for measure in measures:
        row[str(measure)] = fmean(scores[str(measure)].values())
    return row | {"queries": len(scores[str(measures[0])])}


def _comparisons(settings: Mapping[str, Scores], measure: str, seed: int) -> Table:
    from lpisearch.evaluation import paired_test

    rows: list[dict[str, Cell]] = []
    for first, second in combinations(settings, 2):
        own, other = settings[first][measure], settings[second][measure]
        test = paired_test(
            [own[query] for query in own], [other[query] for query in own], random_state=seed
        )
        rows.append(
            {
                "first": first,
                "second": second,
                "difference": test.difference,
                "low": test.low,
                "high": test.high,
                "p": test.p_value,
            }
        )
    title = f"{measure} of the first minus the second, query by query (paired randomisation test)"
    return Table("significance", title, tuple(rows))


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


def _ways(wanted: RetrievalOptions) -> tuple[str, ...]:
    unknown = [way for way in wanted.by if way not in WAYS]
    if unknown:
        raise BadOption("--by", f"“{', '.join(unknown)}” is not a way to rank", WAYS)
    if wanted.depth < 1:
        raise BadOption("--depth", f"{wanted.depth} is not a number of documents")
    return tuple(dict.fromkeys(wanted.by)) or WAYS


def _has_index(library: Path, name: str) -> bool:
    with open_library(library) as database, database.reading() as connection:
        return entry_named(connection, name) is not None


def _title(questions: Questions) -> str:
    return f"Retrieval: {len(questions.queries):,} judged queries, measured as trec_eval does"


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")
