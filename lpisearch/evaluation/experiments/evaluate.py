"""Run an evaluation by name."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption
from lpisearch.evaluation.experiments.cells import Cells, kept_cells
from lpisearch.evaluation.experiments.classify import evaluate_classify
from lpisearch.evaluation.experiments.cluster import evaluate_cluster
from lpisearch.evaluation.experiments.overview import evaluate_all
from lpisearch.evaluation.experiments.retrieval import evaluate_retrieval
from lpisearch.evaluation.experiments.similarity import evaluate_similarity
from lpisearch.evaluation.experiments.sources import EvaluationInput, library_state
from lpisearch.evaluation.experiments.spectrum import evaluate_spectrum
from lpisearch.evaluation.experiments.sweep import MeasureOptions, evaluate_sweep
from lpisearch.indexes.learn import library_versions
from lpisearch.settings import (
    CategoriesOptions,
    ClusterOptions,
    EvaluateOptions,
    RetrievalOptions,
    SimilarityOptions,
    SweepOptions,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lpisearch.evaluation.experiments.cells import OnCell
    from lpisearch.indexes.session import Session
    from lpisearch.records import Report
    from lpisearch.settings.indexes import Setting

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
    options: EvaluateOptions,
    wanted: Any,
    over: tuple[str, Sequence[Setting]] | None,
    on_cell: OnCell,
    keep: bool,
) -> Iterator[Report]:
    """Evaluate a library, or a file in its place.

    Parameters
    ----------
    session
        The library.
    what
        "all", "similarity", "classify", "cluster", "retrieval" or "spectrum".
    options
        What is compared.
    wanted
        The options of that evaluation; None where they have usual values.
    over
        A parameter and the values that it takes in turn.
    on_cell
        See `Cells`.
    keep
        Whether finished parts are kept on disk until the block ends without an error.

    Raises
    ------
    BadOption, NothingToEvaluate, LibraryError
    """
    swept = None if over is None else SweepOptions(what, over[0], tuple(over[1]))
    known = [ALL, *_LABELLED, RETRIEVAL, SPECTRUM]
    if swept is None and what not in known:
        raise BadOption("what", f"unknown evaluation “{what}”", known)
    chosen = _checked(what, wanted)
    signed = _signature(what, session, options, swept, chosen) if keep else {}
    with kept_cells(signed, on_cell) if keep else nullcontext(Cells(on_cell=on_cell)) as cells:
        report = _report(session, what, options=options, swept=swept, wanted=chosen, cells=cells)
        yield replace(report, resumed=cells.found)


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
        return evaluate_sweep(session, options, swept, _measure_options(what, wanted), cells)
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
    """Return what tells one run from another, so that only the same one is gone on with."""
    return {
        "kind": what,
        "library": None if options.matrix else library_state(session),
        "options": [None if each is None else asdict(each) for each in (options, swept, wanted)],
        "versions": library_versions(),
    }


def _checked(what: str, wanted: Any) -> Any:
    """Return the options of an evaluation, or its usual ones."""
    kind: type[Any] = _LABELLED[what][1] if what in _LABELLED else RetrievalOptions
    if wanted is None and what in _LABELLED:
        return kind()
    if isinstance(wanted, kind) or (wanted is None and what != RETRIEVAL):
        return wanted
    raise BadOption("wanted", f"“{what}” needs {kind.__name__}")


def _measure_options(what: str, wanted: Any) -> MeasureOptions:
    """Return the options of all that can be swept, of which one is."""
    usual: dict[str, Any] = {name: kind() for name, (_, kind) in _LABELLED.items()}
    usual[RETRIEVAL] = None
    if what in usual:
        usual[what] = wanted
    return MeasureOptions(**usual)
