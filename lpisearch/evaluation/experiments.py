"""The entry point of all evaluations: each by its name, the overview of a library, and sweeps."""

from __future__ import annotations

import math
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.evaluation.categorisation import MEASURES as CATEGORY_MEASURES
from lpisearch.evaluation.categorisation import SHARE, evaluate_classify
from lpisearch.evaluation.cells import (
    BASELINES,
    PAPERS,
    TERMS,
    Cells,
    as_report,
    chosen_methods,
    compared_by,
    curves,
    depends_on,
    resumable_cells,
    takes_labels,
)
from lpisearch.evaluation.clustering import evaluate_cluster
from lpisearch.evaluation.collection import EvaluationInput, index_options, library_state
from lpisearch.evaluation.dimensions import evaluate_spectrum
from lpisearch.evaluation.measures import SIGNIFICANCE
from lpisearch.evaluation.retrieval import evaluate_retrieval, read_questions
from lpisearch.evaluation.similarity import evaluate_similarity
from lpisearch.index.pipeline import library_versions
from lpisearch.index.projection import check_settings
from lpisearch.messages import Message, Option, nearest
from lpisearch.methods.parameters import settable_by_any
from lpisearch.model.reports import Cell, Figure, Report, Table
from lpisearch.options import (
    CategoriesOptions,
    ClusterOptions,
    EvaluateOptions,
    RetrievalOptions,
    SimilarityOptions,
    SweepOptions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lpisearch.evaluation.cells import OnCell
    from lpisearch.options import Setting
    from lpisearch.search.session import Session

    Rows = Sequence[Mapping[str, Cell]]


ALL, RETRIEVAL, SPECTRUM = "all", "retrieval", "spectrum"
_LABELLED: dict[str, tuple[Any, type[Any]]] = {
    "similarity": (evaluate_similarity, SimilarityOptions),
    "classify": (evaluate_classify, CategoriesOptions),
    "cluster": (evaluate_cluster, ClusterOptions),
}


@contextmanager
def evaluating(
    session: Session,
    what: str,
    *,
    options: EvaluateOptions | None = None,
    wanted: Any = None,
    over: tuple[str, Sequence[Setting]] | None = None,
    on_cell: OnCell = lambda _name, _done, _total: None,
    keep: bool = True,
) -> Iterator[Report]:
    """Evaluate a library or a matrix file.

    `wanted` are the options of the evaluation (None: defaults), `over` is a parameter to sweep
    with its values. With `keep`, finished parts stay on disk until the block ends without error.
    """
    options = options or EvaluateOptions()
    swept = None if over is None else SweepOptions(what, over[0], tuple(over[1]))
    known = [ALL, *_LABELLED, RETRIEVAL, SPECTRUM]
    if swept is None and what not in known:
        raise BadOption("what", f"unknown evaluation “{what}”", known)
    chosen = _checked(what, wanted)
    signed = _signature(what, session, options, swept, chosen) if keep else {}
    with resumable_cells(signed, on_cell) if keep else nullcontext(Cells(on_cell=on_cell)) as cells:
        report = _report(session, what, options=options, swept=swept, wanted=chosen, cells=cells)
        yield replace(report, resumed=cells.resumed)


def _report(
    session: Session,
    what: str,
    *,
    options: EvaluateOptions,
    swept: SweepOptions | None,
    wanted: Any,
    cells: Cells,
) -> Report:
    if swept is not None:
        return evaluate_sweep(session, options, swept, wanted, cells)
    if what == ALL:
        return evaluate_all(session, options, wanted, cells)
    if what == RETRIEVAL:
        return evaluate_retrieval(session, options, wanted, cells)
    source = EvaluationInput.open(session, options)
    if what == SPECTRUM:
        return evaluate_spectrum(source, options, cells)
    report: Report = _LABELLED[what][0](source, options, wanted, cells)
    return report


def _signature(
    what: str, session: Session, options: EvaluateOptions, swept: SweepOptions | None, wanted: Any
) -> dict[str, Any]:
    """Return what identifies a run, so that only the same run is resumed."""
    return {
        "kind": what,
        "library": None if options.matrix else library_state(session),
        "options": [None if part is None else asdict(part) for part in (options, swept, wanted)],
        "versions": library_versions(),
    }


def _checked(what: str, wanted: Any) -> Any:
    """Return the options of an evaluation or its defaults; raise BadOption for those of another."""
    kind: type[Any] = _LABELLED[what][1] if what in _LABELLED else RetrievalOptions
    if wanted is None and what in _LABELLED:
        return kind()
    if isinstance(wanted, kind) or (wanted is None and what != RETRIEVAL):
        return wanted
    raise BadOption("wanted", f"“{what}” needs {kind.__name__}")


_SIMILARITY = {"AP": "pairs_AP", "accuracy": "pairs_accuracy"}
_CLUSTER = {"AC": "cluster_AC", "NMI": "cluster_NMI"}


def evaluate_all(
    session: Session, options: EvaluateOptions, retrieval: RetrievalOptions | None, cells: Cells
) -> Report:
    """Compare the index of a library with plain terms and LSI by every measure."""
    if retrieval is not None and options.matrix is not None:
        raise BadOption("queries", "a matrix contains no text to search")
    if retrieval is not None:
        read_questions(session, retrieval)  # report mistakes before the long part
    source = EvaluationInput.open(session, options)
    options, method = index_options(source, options)
    named = replace(
        options, methods=options.methods or (*BASELINES[: 1 + (method != "lsi")], method)
    )
    parts: dict[str, Callable[[], Report]] = {
        "similarity": lambda: evaluate_similarity(source, options, SimilarityOptions(), cells),
        "classify": lambda: evaluate_classify(source, named, CategoriesOptions(), cells),
        "cluster": lambda: evaluate_cluster(source, named, ClusterOptions(), cells),
    }
    reports: dict[str, Report] = {}
    reasons: dict[str, NothingToEvaluate] = {}
    for name, run in parts.items():
        try:
            reports[name] = run()
        except NothingToEvaluate as error:
            reasons[name] = error
    if retrieval is not None:
        reports["retrieval"] = evaluate_retrieval(session, options, retrieval, cells)
    if not reports:
        raise next(iter(reasons.values()))
    notes: list[str] = [Message(name, ": ", error.what) for name, error in reasons.items()]
    for report in reports.values():
        notes += [note for note in report.tables[0].notes if note not in notes]
    title = "Labels: how well each method separates them"
    tables = [Table("overview", title, tuple(_merged(reports)), tuple(notes))]
    every = [_named(table, part) for part, report in reports.items() for table in report.tables]
    tables += sorted(every, key=lambda table: table.name.endswith(SIGNIFICANCE))
    figures = [figure for report in reports.values() for figure in report.figures]
    return as_report("Evaluation", source.collection, (named,), tables, figures)


def _named(table: Table, part: str) -> Table:
    """Rename the table of pairs after its part."""
    is_first = table.name != SIGNIFICANCE or part == "retrieval"
    return table if is_first else replace(table, name=f"{part}_{SIGNIFICANCE}")


def _merged(reports: Mapping[str, Report]) -> list[dict[str, Cell]]:
    """Merge the figures of each representation into one row."""
    rows: dict[Cell, dict[str, Cell]] = {}
    for name in ("similarity", "classify", "cluster"):
        for row in reports[name].tables[0].rows if name in reports else ():
            own = rows.setdefault(row["representation"], {"representation": row["representation"]})
            if name == "classify":
                first = next(measure for measure in ("accuracy", "P@1") if measure in row)
                own[f"{row['classifier']}_{first}"] = row[first]
                continue
            columns = _SIMILARITY if name == "similarity" else _CLUSTER
            own |= {columns[what]: row[what] for what in columns}
    return list(rows.values())


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
        self.collection = getattr(self._source, "collection", None)
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
        f"{value:g}" if is_number(value) else str(value)
        for value in sweep.values
        if not (is_number(value) and is_allowed(value))
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
