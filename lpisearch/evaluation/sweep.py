"""A measure along a parameter."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption
from lpisearch.evaluation.categorisation import MEASURES as CATEGORY_MEASURES
from lpisearch.evaluation.categorisation import SHARE, evaluate_classify
from lpisearch.evaluation.clustering import evaluate_cluster
from lpisearch.evaluation.collection import EvaluationInput
from lpisearch.evaluation.figures import as_report, compared_by, curves
from lpisearch.evaluation.representations import (
    PAPERS,
    TERMS,
    chosen_methods,
    depends_on,
    takes_labels,
)
from lpisearch.evaluation.retrieval import evaluate_retrieval
from lpisearch.evaluation.similarity import evaluate_similarity
from lpisearch.index.projection import check_settings
from lpisearch.messages import Message, Option, nearest
from lpisearch.methods.parameters import settable_by_any
from lpisearch.model.reports import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lpisearch.evaluation.cache import Cells
    from lpisearch.model.reports import Cell, Figure, Report
    from lpisearch.options import (
        CategoriesOptions,
        ClusterOptions,
        EvaluateOptions,
        RetrievalOptions,
        Setting,
        SimilarityOptions,
        SweepOptions,
    )
    from lpisearch.search.session import Session

    Rows = Sequence[Mapping[str, Cell]]


_OF_P = (
    "p: p-value of the difference from the best row with the same value, separately for methods "
    "with and without the parameter; paired randomisation test, Holm's correction for all pairs."
)


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
    names = chosen_methods(options, PAPERS)
    wanted = checked(wanted, names, has_queries=parts.retrieval is not None)
    if wanted.measure == "retrieval" and options.matrix is not None:
        raise BadOption("matrix", "a matrix contains no text to search")
    if wanted.measure == "retrieval":
        names = tuple(name for name in names if name != TERMS)  # they make no index
    run = _Runner(session, replace(options, methods=names), wanted, parts, cells)
    rows = run.rows()
    if any(row.get("p") is not None for row in rows):
        run.notes.append(_OF_P)
    title = f"{wanted.measure.capitalize()} by {axis(wanted.over)}"
    table = Table("sweep", title, tuple(rows), tuple(run.notes))
    drawn = replace(table, name=wanted.measure)
    measures = [each for each in MEASURES[wanted.measure] if each in table.columns]
    figures = [_figure(drawn, wanted, each) for each in measures]
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
        parameter = PARAMETERS.get(self._wanted.over, (self._wanted.over,))[0]
        names = self._options.methods
        fixed = tuple(name for name in names if parameter and not depends_on(name, parameter))
        varied = tuple(name for name in names if name not in fixed)
        rows: list[dict[str, Cell]] = []
        if fixed:
            rows += [self._named(row, None) for row in self._run(self._options, fixed)]
        if not varied:
            return rows
        if self._wanted.over == "dims" and self._wanted.measure == "similarity":
            dims = [int(_float(value)) for value in self._wanted.values]
            found = self._similarity(replace(self._options, methods=varied), dims)
            return rows + [self._named(row, row["dims"]) for row in found]
        for value in self._wanted.values:
            options = self._with(value)
            said = int(_float(value)) if self._wanted.over in WHOLE else value
            rows += [self._named(row, said) for row in self._run(options, varied, value)]
        return rows

    def _with(self, value: Setting) -> EvaluateOptions:
        over = self._wanted.over
        if over == "train":
            return self._options
        if over not in PARAMETERS:
            return replace(self._options, settings={**self._options.settings, over: value})
        number = _float(value)
        changed: dict[str, Any] = {over: int(number) if over in WHOLE else number}
        return replace(self._options, **changed)

    def _named(self, row: Mapping[str, Cell], value: Cell) -> dict[str, Cell]:
        """Put the parameter beside the method; a row that holds at every value has none."""
        name = row["representation"]
        rest = {
            key: cell
            for key, cell in row.items()
            if key not in {"representation", self._wanted.over}
        }
        return {"representation": name, self._wanted.over: value} | rest

    def _run(self, options: EvaluateOptions, names: tuple[str, ...], value: Setting = None) -> Rows:
        own = _only_for(options, names)
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

    def _classify(self, options: EvaluateOptions, value: Setting) -> Rows:
        assert self._source is not None  # noqa: S101 (only retrieval goes without)
        wanted = self._parts.classify
        if self._wanted.over == "train" and value is not None:
            wanted = replace(wanted, split="auto", train=(_float(value),))
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


def _figure(table: Table, wanted: SweepOptions, measure: str) -> Figure:
    """Draw lines over numbers, and bars for each word."""
    if all(is_number(value) for value in wanted.values):
        return curves(table, wanted.over, measure, axis(wanted.over))
    rows = tuple(row for row in table.rows if row[wanted.over] is not None)
    return compared_by(replace(table, rows=rows), wanted.over, measure)


def _float(cell: Cell) -> float:
    return float(cell or 0)


def _only_for(options: EvaluateOptions, names: tuple[str, ...]) -> EvaluateOptions:
    """Leave out what was asked for other methods of the sweep."""
    known = settable_by_any(name for name in names if name != TERMS)
    settings = {name: value for name, value in options.settings.items() if name in known}
    own = replace(options, methods=names, settings=settings)
    if any(takes_labels(name) for name in names):
        return own
    return replace(own, graph="auto", radius=None, edge_weights="cosine")


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
WHOLE = ("dims", "neighbours")
_RANGES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "dims": (lambda value: value >= 1 and value % 1 == 0, "whole numbers above 0"),
    "neighbours": (lambda value: value >= 1 and value % 1 == 0, "whole numbers above 0"),
    "alpha": (lambda value: 0 <= value < math.inf, "numbers of 0 or more"),
    "train": (lambda value: 0 < value < 1, "fractions between 0 and 1, such as 5% or .05"),
}


def checked(wanted: SweepOptions, methods: Sequence[str], *, has_queries: bool) -> SweepOptions:
    """Refuse a sweep that cannot work; return it with each value of its kind.

    Parameters
    ----------
    methods
        That are compared.
    has_queries
        Whether there are queries and judgements.

    Raises
    ------
    BadOption
    """
    if wanted.measure not in MEASURES:
        raise BadOption("measure", f"“{wanted.measure}” cannot be swept", MEASURES)
    if wanted.over == "train" and wanted.measure != "classify":
        raise BadOption("over", f"{wanted.measure} does not use training documents")
    if wanted.measure == "retrieval" and not has_queries:
        raise BadOption(
            "queries",
            Message(
                "retrieval needs ", Option("queries", "FILE"), " and ", Option("qrels", "FILE")
            ),
        )
    if not wanted.values:
        raise BadOption("values", "give at least one value")
    if wanted.over not in PARAMETERS:
        return _of_own_kind(wanted, methods)
    allowed, said = _RANGES[wanted.over]
    refused = [
        _named(value) for value in wanted.values if not (is_number(value) and allowed(value))
    ]
    if refused:
        raise BadOption("values", f"{', '.join(refused)}: {wanted.over} must be {said}")
    return wanted


def _of_own_kind(wanted: SweepOptions, methods: Sequence[str]) -> SweepOptions:
    """Read the values of a parameter that only some methods have."""
    own = settable_by_any(name for name in methods if name != TERMS)
    if wanted.over not in own:
        hint = nearest(wanted.over, [*PARAMETERS, *own])
        known = [*PARAMETERS, *own]
        raise BadOption("over", f"“{wanted.over}” cannot be varied{hint}", known)
    for value in wanted.values:
        check_settings({wanted.over: value}, methods)
    return replace(wanted, values=tuple(own[wanted.over].read(value) for value in wanted.values))


def is_number(value: Setting) -> bool:
    """Tell a number from yes, no and words."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def axis(over: str) -> str:
    """Name a parameter as an axis does."""
    return PARAMETERS[over][1] if over in PARAMETERS else over


def _named(value: Setting) -> str:
    return f"{value:g}" if is_number(value) else str(value)
