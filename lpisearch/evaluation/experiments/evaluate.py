"""Any evaluation by its name, for those who call it from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption
from lpisearch.evaluation.experiments.cells import Cells
from lpisearch.evaluation.experiments.classify import evaluate_classify
from lpisearch.evaluation.experiments.cluster import evaluate_cluster
from lpisearch.evaluation.experiments.overview import evaluate_all
from lpisearch.evaluation.experiments.retrieval import evaluate_retrieval
from lpisearch.evaluation.experiments.similarity import evaluate_similarity
from lpisearch.evaluation.experiments.sources import Source
from lpisearch.evaluation.experiments.sweep import Parts, evaluate_sweep
from lpisearch.settings import (
    CategoriesOptions,
    ClusterOptions,
    EvaluateOptions,
    RetrievalOptions,
    SimilarityOptions,
    SweepOptions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lpisearch.evaluation.experiments.cells import OnCell
    from lpisearch.records import Report

ALL, RETRIEVAL = "all", "retrieval"
_LABELLED: dict[str, tuple[Any, type[Any]]] = {
    "similarity": (evaluate_similarity, SimilarityOptions),
    "classify": (evaluate_classify, CategoriesOptions),
    "cluster": (evaluate_cluster, ClusterOptions),
}


def evaluate(
    library: Path,
    what: str,
    *,
    options: EvaluateOptions,
    wanted: Any,
    over: tuple[str, Sequence[float]] | None,
    on_cell: OnCell,
) -> Report:
    """Evaluate a library, or a file in its place.

    Parameters
    ----------
    what
        "all", "similarity", "classify", "cluster" or "retrieval".
    wanted
        The options of that evaluation; None where they have usual values.
    over
        A parameter and the values that it takes in turn.

    Raises
    ------
    BadOption, NothingToEvaluate, LibraryError
    """
    if what not in {ALL, RETRIEVAL, *_LABELLED}:
        raise BadOption("what", f"“{what}” is not an evaluation", [ALL, *_LABELLED, RETRIEVAL])
    cells = Cells(on_cell=on_cell)
    chosen = _checked(what, wanted)
    if over is not None:
        sweep = SweepOptions(what, over[0], tuple(over[1]))
        return evaluate_sweep(library, options, sweep, _parts(what, chosen), cells)
    if what == ALL:
        return evaluate_all(library, options, chosen, cells)
    if what == RETRIEVAL:
        return evaluate_retrieval(library, options, chosen, cells)
    report: Report = _LABELLED[what][0](Source.open(library, options), options, chosen, cells)
    return report


def _checked(what: str, wanted: Any) -> Any:
    """Return the options of an evaluation, or its usual ones."""
    kind: type[Any] = _LABELLED[what][1] if what in _LABELLED else RetrievalOptions
    if wanted is None and what in _LABELLED:
        return kind()
    if isinstance(wanted, kind) or (wanted is None and what == ALL):
        return wanted
    raise BadOption("wanted", f"“{what}” takes {kind.__name__}")


def _parts(what: str, wanted: Any) -> Parts:
    """Return the options of all that can be swept, of which one is."""
    usual: dict[str, Any] = {name: kind() for name, (_, kind) in _LABELLED.items()}
    usual[RETRIEVAL] = None
    if what in usual:
        usual[what] = wanted
    return Parts(**usual)
