"""`lpisearch evaluate sweep`: any of the measures against a parameter, as the papers' figures."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.evaluation.experiments.classify import MEASURES as CATEGORY_MEASURES
from lpisearch.evaluation.experiments.classify import SHARE, evaluate_classify
from lpisearch.evaluation.experiments.cluster import evaluate_cluster
from lpisearch.evaluation.experiments.figures import curves
from lpisearch.evaluation.experiments.reporting import as_report
from lpisearch.evaluation.experiments.representations import (
    PAPERS,
    TERMS,
    chosen_methods,
    depends_on,
)
from lpisearch.evaluation.experiments.retrieval import evaluate_retrieval
from lpisearch.evaluation.experiments.similarity import evaluate_similarity
from lpisearch.evaluation.experiments.sources import EvaluationInput
from lpisearch.messages import Message, Option
from lpisearch.records import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lpisearch.evaluation.experiments.cells import Cells
    from lpisearch.indexes.session import Session
    from lpisearch.records import Cell, Report
    from lpisearch.settings import (
        CategoriesOptions,
        ClusterOptions,
        EvaluateOptions,
        RetrievalOptions,
        SimilarityOptions,
        SweepOptions,
    )

    Rows = Sequence[Mapping[str, Cell]]

MEASURES = {
    "similarity": ("AP", "accuracy"),
    "classify": CATEGORY_MEASURES,
    "cluster": ("AC", "NMI"),
    "retrieval": ("AP",),
}
# What is varied, the estimators' name for it, and its name on an axis.
PARAMETERS = {
    "dims": ("n_components", "dimensions"),
    "neighbours": ("n_neighbors", "neighbours"),
    "alpha": ("alpha", "α"),
    "train": ("", SHARE),
}
_RANGES: dict[str, tuple[Callable[[float], bool], str]] = {
    "dims": (lambda value: value >= 1 and value.is_integer(), "whole numbers above 0"),
    "neighbours": (lambda value: value >= 1 and value.is_integer(), "whole numbers above 0"),
    "alpha": (lambda value: 0 <= value < math.inf, "numbers of at least 0"),
    "train": (lambda value: 0 < value < 1, "shares between 0 and 1, as 5% or .05"),
}
_WHOLE = ("dims", "neighbours")


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """The options of each measure, of which a sweep uses one."""

    similarity: SimilarityOptions
    classify: CategoriesOptions
    cluster: ClusterOptions
    retrieval: RetrievalOptions | None


def evaluate_sweep(
    session: Session,
    options: EvaluateOptions,
    wanted: SweepOptions,
    parts: MeasureOptions,
    cells: Cells,
) -> Report:
    """Measure several methods at several values of a parameter.

    Raises
    ------
    BadOption, NothingToEvaluate, LibraryError
    """
    _check(wanted, parts)
    if wanted.measure == "retrieval" and options.matrix is not None:
        raise BadOption("matrix", "a matrix has no texts for queries to find")
    names = chosen_methods(options, PAPERS)
    if wanted.measure == "retrieval":
        names = tuple(name for name in names if name != TERMS)  # they make no index
    run = _Runner(session, replace(options, methods=names), wanted, parts, cells)
    rows = run.rows()
    title = f"{wanted.measure.capitalize()} by {PARAMETERS[wanted.over][1]}"
    table = Table("sweep", title, tuple(rows), tuple(run.notes))
    drawn = replace(table, name=wanted.measure)
    label = PARAMETERS[wanted.over][1]
    measures = [each for each in MEASURES[wanted.measure] if each in table.columns]
    figures = [curves(drawn, wanted.over, each, label) for each in measures]
    used = getattr(parts, wanted.measure)
    return as_report(title, run.collection, (options, used, wanted), [table], figures)


class _Runner:
    """Runs one measure at each value; methods that do not have the parameter run once."""

    def __init__(
        self,
        session: Session,
        options: EvaluateOptions,
        wanted: SweepOptions,
        parts: MeasureOptions,
        cells: Cells,
    ) -> None:
        self._session = session
        self._options = options
        self._wanted = wanted
        self._parts = parts
        self._cells = cells
        self._source = (
            None if wanted.measure == "retrieval" else EvaluationInput.open(session, options)
        )
        self.collection = self._source.collection if self._source is not None else None
        self.notes: list[str] = []

    def rows(self) -> list[dict[str, Cell]]:
        parameter = PARAMETERS[self._wanted.over][0]
        names = self._options.methods
        fixed = tuple(name for name in names if parameter and not depends_on(name, parameter))
        varied = tuple(name for name in names if name not in fixed)
        rows: list[dict[str, Cell]] = []
        if fixed:
            rows += [self._named(row, None) for row in self._run(self._options, fixed)]
        if not varied:
            return rows
        if self._wanted.over == "dims" and self._wanted.measure == "similarity":
            dims = [int(value) for value in self._wanted.values]
            found = self._similarity(replace(self._options, methods=varied), dims)
            return rows + [self._named(row, row["dims"]) for row in found]
        for value in self._wanted.values:
            options = self._with(value)
            said = int(value) if self._wanted.over in _WHOLE else value
            rows += [self._named(row, said) for row in self._run(options, varied, value)]
        return rows

    def _with(self, value: float) -> EvaluateOptions:
        if self._wanted.over == "train":
            return self._options
        if self._wanted.over == "alpha":
            return replace(self._options, alpha=value)
        if self._wanted.over == "neighbours":
            return replace(self._options, neighbours=int(value))
        return replace(self._options, dims=int(value))

    def _named(self, row: Mapping[str, Cell], value: Cell) -> dict[str, Cell]:
        """Put the parameter beside the method; a row that holds at every value has none."""
        name = row["representation"]
        rest = {
            key: cell
            for key, cell in row.items()
            if key not in {"representation", self._wanted.over}
        }
        return {"representation": name, self._wanted.over: value} | rest

    def _run(
        self, options: EvaluateOptions, names: tuple[str, ...], value: float | None = None
    ) -> Rows:
        own = replace(options, methods=names)
        kinds: dict[str, Callable[[], Rows]] = {
            "similarity": lambda: self._similarity(own, (None,)),
            "classify": lambda: self._classify(own, value),
            "cluster": lambda: self._cluster(own),
            "retrieval": lambda: self._retrieval(own),
        }
        return kinds[self._wanted.measure]()

    def _similarity(self, options: EvaluateOptions, dims: Sequence[int | None]) -> Rows:
        assert self._source is not None  # noqa: S101 (only retrieval goes without)
        report = evaluate_similarity(
            self._source, options, self._parts.similarity, self._cells, dims
        )
        return self._taken(report)

    def _classify(self, options: EvaluateOptions, value: float | None) -> Rows:
        assert self._source is not None  # noqa: S101 (only retrieval goes without)
        wanted = self._parts.classify
        if self._wanted.over == "train" and value is not None:
            wanted = replace(wanted, split="auto", train=(value,))
        return self._taken(evaluate_classify(self._source, options, wanted, self._cells))

    def _cluster(self, options: EvaluateOptions) -> Rows:
        assert self._source is not None  # noqa: S101 (only retrieval goes without)
        return self._taken(
            evaluate_cluster(self._source, options, self._parts.cluster, self._cells)
        )

    def _retrieval(self, options: EvaluateOptions) -> Rows:
        assert self._parts.retrieval is not None  # noqa: S101 (it was checked)
        wanted = self._parts.retrieval
        return self._taken(evaluate_retrieval(self._session, options, wanted, self._cells))

    def _taken(self, report: Report) -> Rows:
        table = report.tables[0]
        self.notes += [note for note in table.notes if note not in self.notes]
        return table.rows


def _check(wanted: SweepOptions, parts: MeasureOptions) -> None:
    if wanted.measure not in MEASURES:
        raise BadOption("measure", f"“{wanted.measure}” cannot be swept", MEASURES)
    if wanted.over not in PARAMETERS:
        raise BadOption("over", f"“{wanted.over}” cannot be varied", PARAMETERS)
    if wanted.over == "train" and wanted.measure != "classify":
        raise BadOption("over", f"{wanted.measure} learns from no share of the documents")
    if wanted.measure == "retrieval" and parts.retrieval is None:
        raise BadOption(
            "queries",
            Message(
                "retrieval takes ", Option("queries", "FILE"), " and ", Option("qrels", "FILE")
            ),
        )
    if not wanted.values:
        raise BadOption("values", "no value is given")
    allowed, said = _RANGES[wanted.over]
    refused = [f"{value:g}" for value in wanted.values if not allowed(float(value))]
    if refused:
        raise BadOption("values", f"{', '.join(refused)}: {wanted.over} takes {said}")
