"""The entry point of all evaluations, and the overview of a library."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.evaluation.cache import Cells, resumable_cells
from lpisearch.evaluation.categorisation import evaluate_classify
from lpisearch.evaluation.clustering import evaluate_cluster
from lpisearch.evaluation.collection import EvaluationInput, index_options, library_state
from lpisearch.evaluation.dimensions import evaluate_spectrum
from lpisearch.evaluation.figures import as_report
from lpisearch.evaluation.representations import BASELINES
from lpisearch.evaluation.retrieval import evaluate_retrieval, read_questions
from lpisearch.evaluation.significance import SIGNIFICANCE
from lpisearch.evaluation.similarity import evaluate_similarity
from lpisearch.evaluation.sweep import evaluate_sweep
from lpisearch.index.pipeline import library_versions
from lpisearch.messages import Message
from lpisearch.model.reports import Cell, Report, Table
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

    from lpisearch.evaluation.cache import OnCell
    from lpisearch.options import Setting
    from lpisearch.search.session import Session


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
