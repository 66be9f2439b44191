"""Sweeps: a measure at several values of a parameter."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption
from lpisearch.evaluation.categorisation import MEASURES as CATEGORY_MEASURES
from lpisearch.evaluation.categorisation import SHARE, evaluate_classify
from lpisearch.evaluation.clustering import evaluate_cluster
from lpisearch.evaluation.collection import Collection, EvaluationInput
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
from lpisearch.model.reports import Cell, Figure, Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lpisearch.evaluation.cache import Cells
    from lpisearch.options import EvaluateOptions, Setting, SweepOptions
    from lpisearch.search.session import Session

    Rows = Sequence[Mapping[str, Cell]]


_P_NOTE = (
    "p: p-value of the difference from the best row with the same value, separately for methods "
    "with and without the parameter; paired randomisation test, Holm's correction for all pairs."
)


def evaluate_sweep(
    session: Session, options: EvaluateOptions, sweep: SweepOptions, wanted: Any, cells: Cells
) -> Report:
    """Run a measure, with its options, on several methods at several values of a parameter."""
    names = chosen_methods(options, PAPERS)
    sweep = checked(sweep, names, has_queries=wanted is not None)
    if sweep.measure == "retrieval" and options.matrix is not None:
        raise BadOption("matrix", "a matrix contains no text to search")
    if sweep.measure == "retrieval":
        names = tuple(name for name in names if name != TERMS)  # terms make no index
    runner = _Runner(session, replace(options, methods=names), sweep, wanted, cells)
    rows = runner.rows()
    if any(row.get("p") is not None for row in rows):
        runner.notes.append(_P_NOTE)
    title = f"{sweep.measure.capitalize()} by {axis(sweep.over)}"
    table = Table("sweep", title, tuple(rows), tuple(runner.notes))
    plotted = replace(table, name=sweep.measure)
    measures = [measure for measure in MEASURES[sweep.measure] if measure in table.columns]
    figures = [_figure(plotted, sweep, measure) for measure in measures]
    return as_report(title, runner.collection, (options, wanted, sweep), [table], figures)


class _Runner:
    """Runs one measure at each value; methods without the parameter run once."""

    def __init__(
        self,
        session: Session,
        options: EvaluateOptions,
        sweep: SweepOptions,
        wanted: Any,
        cells: Cells,
    ) -> None:
        self._session = session
        self._options = options
        self._sweep = sweep
        self._wanted = wanted
        self._cells = cells
        self._source: Any = (
            None if sweep.measure == "retrieval" else EvaluationInput.open(session, options)
        )
        self.collection: Collection | None = getattr(self._source, "collection", None)
        self.notes: list[str] = []

    def rows(self) -> list[dict[str, Cell]]:
        sweep, names = self._sweep, self._options.methods
        parameter = PARAMETERS.get(sweep.over, (sweep.over,))[0]
        fixed = tuple(name for name in names if parameter and not depends_on(name, parameter))
        varied = tuple(name for name in names if name not in fixed)
        rows: list[dict[str, Cell]] = []
        if fixed:
            rows += [self._labelled(row, None) for row in self._run(self._options, fixed)]
        if not varied:
            return rows
        if sweep.over == "dims" and sweep.measure == "similarity":
            dims = [int(_float(value)) for value in sweep.values]
            options = replace(self._options, methods=varied)
            report = evaluate_similarity(self._source, options, self._wanted, self._cells, dims)
            return rows + [self._labelled(row, row["dims"]) for row in self._rows_of(report)]
        for value in sweep.values:
            x = int(_float(value)) if sweep.over in WHOLE else value
            swept = self._run(self._with(value), varied, value)
            rows += [self._labelled(row, x) for row in swept]
        return rows

    def _with(self, value: Setting) -> EvaluateOptions:
        over = self._sweep.over
        if over == "train":
            return self._options
        if over not in PARAMETERS:
            return replace(self._options, settings={**self._options.settings, over: value})
        number = _float(value)
        changed: dict[str, Any] = {over: int(number) if over in WHOLE else number}
        return replace(self._options, **changed)

    def _labelled(self, row: Mapping[str, Cell], value: Cell) -> dict[str, Cell]:
        """Insert the parameter after the method; None if the row applies to every value."""
        over = self._sweep.over
        rest = {key: cell for key, cell in row.items() if key not in {"representation", over}}
        return {"representation": row["representation"], over: value} | rest

    def _run(self, options: EvaluateOptions, names: tuple[str, ...], value: Setting = None) -> Rows:
        own = _only_for(options, names)
        source, wanted, cells = self._source, self._wanted, self._cells
        match self._sweep.measure:
            case "similarity":
                report = evaluate_similarity(source, own, wanted, cells)
            case "classify":
                if self._sweep.over == "train" and value is not None:
                    wanted = replace(wanted, split="auto", train=(_float(value),))
                report = evaluate_classify(source, own, wanted, cells)
            case "cluster":
                report = evaluate_cluster(source, own, wanted, cells)
            case _:
                report = evaluate_retrieval(self._session, own, wanted, cells)
        return self._rows_of(report)

    def _rows_of(self, report: Report) -> Rows:
        table = report.tables[0]
        self.notes += [note for note in table.notes if note not in self.notes]
        return table.rows


def _figure(table: Table, sweep: SweepOptions, measure: str) -> Figure:
    """Plot lines over numbers, and bars over words."""
    if all(is_number(value) for value in sweep.values):
        return curves(table, sweep.over, measure, axis(sweep.over))
    rows = tuple(row for row in table.rows if row[sweep.over] is not None)
    return compared_by(replace(table, rows=rows), sweep.over, measure)


def _float(cell: Cell) -> float:
    return float(cell or 0)


def _only_for(options: EvaluateOptions, names: tuple[str, ...]) -> EvaluateOptions:
    """Drop options that only apply to other methods of the sweep."""
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
# The parameter, its name in the estimators, and its name on an axis.
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


def checked(sweep: SweepOptions, methods: Sequence[str], *, has_queries: bool) -> SweepOptions:
    """Return the sweep with typed values; raise BadOption if it cannot work."""
    if sweep.measure not in MEASURES:
        raise BadOption("measure", f"“{sweep.measure}” cannot be swept", MEASURES)
    if sweep.over == "train" and sweep.measure != "classify":
        raise BadOption("over", f"{sweep.measure} does not use training documents")
    if sweep.measure == "retrieval" and not has_queries:
        raise BadOption(
            "queries",
            Message(
                "retrieval needs ", Option("queries", "FILE"), " and ", Option("qrels", "FILE")
            ),
        )
    if not sweep.values:
        raise BadOption("values", "give at least one value")
    if sweep.over not in PARAMETERS:
        return _of_own_kind(sweep, methods)
    is_allowed, kind = _RANGES[sweep.over]
    refused = [
        _named(value) for value in sweep.values if not (is_number(value) and is_allowed(value))
    ]
    if refused:
        raise BadOption("values", f"{', '.join(refused)}: {sweep.over} must be {kind}")
    return sweep


def _of_own_kind(sweep: SweepOptions, methods: Sequence[str]) -> SweepOptions:
    """Parse the values of a parameter that only some methods have."""
    own = settable_by_any(name for name in methods if name != TERMS)
    if sweep.over not in own:
        hint = nearest(sweep.over, [*PARAMETERS, *own])
        known = [*PARAMETERS, *own]
        raise BadOption("over", f"“{sweep.over}” cannot be varied{hint}", known)
    for value in sweep.values:
        check_settings({sweep.over: value}, methods)
    return replace(sweep, values=tuple(own[sweep.over].read(value) for value in sweep.values))


def is_number(value: Setting) -> bool:
    """Return whether a value is a number, not a flag or a word."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def axis(over: str) -> str:
    """Return the name of a parameter on an axis."""
    return PARAMETERS[over][1] if over in PARAMETERS else over


def _named(value: Setting) -> str:
    return f"{value:g}" if is_number(value) else str(value)
