"""`lpisearch evaluate spectrum`: compare graph eigenvalues; needs no labels.

The eigenvalues of methods side by side, as figure 1 of olpi-2005 has them: f(a) = 1 - λ is the
locality preserving function, 0 where neighbours have the same place. And the bounds of theorem 3
of lpfl-2012: what the best m terms can reach, before they are chosen.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.evaluation.experiments.reporting import as_report
from lpisearch.evaluation.experiments.representations import (
    TERMS,
    TermWeights,
    check_options,
    chosen_methods,
    represent,
)
from lpisearch.graphs.registry import GRAPHS
from lpisearch.messages import Message, call
from lpisearch.projections.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.records import Figure, Series, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.evaluation.experiments.cells import Cells
    from lpisearch.evaluation.experiments.collection import Collection
    from lpisearch.evaluation.experiments.sources import EvaluationInput
    from lpisearch.records import Cell, Report
    from lpisearch.settings import EvaluateOptions

METHODS = ("lpi", "olpi")
# The bounds take all the space of the documents, in time cubic in their number.
MOST_DOCUMENTS = 3000
_STEPS = 12


def evaluate_spectrum(source: EvaluationInput, options: EvaluateOptions, cells: Cells) -> Report:
    """Give the eigenvalues of methods side by side, and the bounds on what m terms can reach.

    Raises
    ------
    BadOption, NothingToEvaluate, LibraryError
    """
    names = _methods(options)
    check_options(options, names)
    collection = _with_words(source.collection)
    cells.total += len(names) + 1
    X = TermWeights.learn(collection, options.weighting).apply(collection.counts)
    found = {
        name: cells.value(f"spectrum, {name}", partial(_values, name, X, options))
        for name in names
    }  # fmt: skip
    rows = _side_by_side(found)
    title = "Eigenvalues: f = 1 - λ of each dimension (0: neighbours stay together)"
    table = Table("spectrum", title, tuple(rows), (*collection.notes, *cells.notes))
    lines = tuple(_line(name, values) for name, values in found.items())
    figure = Figure("spectrum", "The eigenvalues of the methods", "dimension", "f", lines)
    bounds = cells.value("spectrum, bounds", partial(_bounds, X, options))
    return as_report("Spectrum", collection, (options,), [table, _as_table(bounds)], [figure])


def _methods(options: EvaluateOptions) -> tuple[str, ...]:
    names = chosen_methods(options, METHODS)
    without = [name for name in names if name == TERMS or not CATALOGUE[name].has_graph]
    if without and options.methods != ("all",):
        graphs = [name for name in CATALOGUE if CATALOGUE[name].has_graph]
        raise BadOption("methods", f"{without[0]} has no graph, so it has no eigenvalues", graphs)
    return tuple(name for name in names if name not in without)


def _with_words(collection: Collection) -> Collection:
    rows = np.flatnonzero(np.diff(collection.counts.indptr))
    if len(rows) < 2:  # noqa: PLR2004 (the least to compare)
        raise NothingToEvaluate(
            "Fewer than two documents have words.", Message(call("ingest", "PATH"))
        )
    return collection.of(rows)


def _values(name: str, X: Any, options: EvaluateOptions) -> list[float]:
    dims = min(DIMENSIONS, X.shape[0] - 1)
    learned = represent(name, X, options, dims=dims)
    values = None if learned.estimator is None else learned.estimator.eigenvalues_
    return [] if values is None else np.round(1 - np.asarray(values, float), 6).tolist()


def _side_by_side(found: dict[str, list[float]]) -> list[dict[str, Cell]]:
    longest = max(map(len, found.values()), default=0)
    return [
        {"dimension": at + 1}
        | {name: values[at] if at < len(values) else None for name, values in found.items()}
        for at in range(longest)
    ]


def _line(name: str, values: Sequence[float]) -> Series:
    return Series(name, tuple(map(float, range(1, len(values) + 1))), tuple(values))


def _bounds(X: Any, options: EvaluateOptions) -> dict[str, Any]:
    """Bound J, the least sum of f over the dimensions that are kept, with m terms."""
    from lpisearch.graphs import GraphOptions
    from lpisearch.graphs.options import RADIUS
    from lpisearch.projections.selection import sufficient_count, term_bounds

    n_documents = X.shape[0]
    if n_documents > MOST_DOCUMENTS:
        rng = np.random.default_rng(options.seed)
        X = X[np.sort(rng.permutation(n_documents)[:MOST_DOCUMENTS])]
    kept = GraphOptions(options.neighbours, options.radius or RADIUS, options.edge_weights)
    graph = GRAPHS["nearest" if options.graph == "auto" else options.graph]
    W = graph.build(X, None, kept)
    enough = sufficient_count(X.shape[0] - W.n_isolated, X.shape[1])
    count = min(options.dims or DIMENSIONS, enough - 1)
    if count < 1:
        return {"rows": [], "count": 0, "sampled": None}
    terms = np.unique(np.geomspace(count, enough, _STEPS).round().astype(int)).tolist()
    try:
        sums = term_bounds(X, W, count, terms)
    except ValueError:  # so many dimensions take more documents that do not depend on each other
        return {"rows": [], "count": 0, "sampled": None}
    rows = [[m, *each] for m, each in zip(terms, np.round(sums, 4).tolist(), strict=True)]
    return {
        "rows": rows,
        "count": count,
        "sampled": n_documents if n_documents > MOST_DOCUMENTS else None,
    }


def _as_table(found: dict[str, Any]) -> Table:
    rows = tuple(
        {
            "terms": m,
            "lower": lower,
            "upper": upper,
            "mean_f_at_most": round(upper / found["count"], 6),
        }
        for m, lower, upper in found["rows"]
    )
    title = f"Bounds on the sum of f over {found['count']} dimensions, with the best m terms"
    notes = []
    if not found["count"]:
        notes.append("No bounds: too few linearly independent documents.")
    if found["sampled"]:
        notes.append(f"Bounds computed on {MOST_DOCUMENTS:,} of {found['sampled']:,} documents.")
    return Table("term_bounds", title, rows, tuple(notes))
