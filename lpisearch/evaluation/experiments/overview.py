"""`lpisearch evaluate` without a subcommand: run every possible evaluation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.evaluation.experiments.classify import evaluate_classify
from lpisearch.evaluation.experiments.cluster import evaluate_cluster
from lpisearch.evaluation.experiments.differences import SIGNIFICANCE
from lpisearch.evaluation.experiments.questions import read_questions
from lpisearch.evaluation.experiments.reporting import as_report
from lpisearch.evaluation.experiments.representations import BASELINES
from lpisearch.evaluation.experiments.retrieval import evaluate_retrieval
from lpisearch.evaluation.experiments.similarity import evaluate_similarity
from lpisearch.evaluation.experiments.sources import EvaluationInput, index_options
from lpisearch.messages import Message
from lpisearch.records import Table
from lpisearch.settings import CategoriesOptions, ClusterOptions, SimilarityOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lpisearch.evaluation.experiments.cells import Cells
    from lpisearch.indexes.session import Session
    from lpisearch.records import Cell, Report
    from lpisearch.settings import EvaluateOptions, RetrievalOptions


_SIMILARITY = {"AP": "pairs_AP", "accuracy": "pairs_accuracy"}
_CLUSTER = {"AC": "cluster_AC", "NMI": "cluster_NMI"}


def evaluate_all(
    session: Session, options: EvaluateOptions, retrieval: RetrievalOptions | None, cells: Cells
) -> Report:
    """Compare the index of a library with plain terms and LSI in every way there is.

    Raises
    ------
    BadOption, NothingToEvaluate, LibraryError
    """
    if retrieval is not None and options.matrix is not None:
        raise BadOption("queries", "a matrix contains no text to search")
    if retrieval is not None:
        read_questions(session, retrieval)  # what is wrong with them is said before the long part
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
    found: dict[str, Report] = {}
    reasons: dict[str, NothingToEvaluate] = {}
    for name, run in parts.items():
        try:
            found[name] = run()
        except NothingToEvaluate as error:
            reasons[name] = error
    if retrieval is not None:
        found["retrieval"] = evaluate_retrieval(session, options, retrieval, cells)
    if not found:
        raise next(iter(reasons.values()))
    notes: list[str] = [Message(name, ": ", error.what) for name, error in reasons.items()]
    for report in found.values():
        notes += [note for note in report.tables[0].notes if note not in notes]
    title = "Labels: how well each method separates them"
    tables = [Table("overview", title, tuple(_merged(found)), tuple(notes))]
    every = [_named(table, part) for part, report in found.items() for table in report.tables]
    tables += sorted(every, key=lambda table: table.name.endswith(SIGNIFICANCE))
    figures = [figure for report in found.values() for figure in report.figures]
    return as_report("Evaluation", source.collection, (named,), tables, figures)


def _named(table: Table, part: str) -> Table:
    """Tell the pairs of one part from those of another."""
    is_first = table.name != SIGNIFICANCE or part == "retrieval"
    return table if is_first else replace(table, name=f"{part}_{SIGNIFICANCE}")


def _merged(found: Mapping[str, Report]) -> list[dict[str, Cell]]:
    """Bring the figures of a representation into one row."""
    rows: dict[Cell, dict[str, Cell]] = {}
    for name in ("similarity", "classify", "cluster"):
        for row in found[name].tables[0].rows if name in found else ():
            own = rows.setdefault(row["representation"], {"representation": row["representation"]})
            if name == "classify":
                first = next(measure for measure in ("accuracy", "P@1") if measure in row)
                own[f"{row['classifier']}_{first}"] = row[first]
                continue
            columns = _SIMILARITY if name == "similarity" else _CLUSTER
            own |= {columns[what]: row[what] for what in columns}
    return list(rows.values())
