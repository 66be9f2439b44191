"""Readings of the papers x methods: c or c - 1 dimensions, starts of k-means, and its distance."""

from __future__ import annotations

from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks.papers.methods import Method
from benchmarks.papers.protocol import Part, drawn
from benchmarks.papers.readings import DIMS, INITS, ROWS
from benchmarks.papers.tables import Findings
from lpisearch.evaluation.cells import TERMS
from lpisearch.model.reports import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.papers.protocol import Results
    from lpisearch.model.reports import Cell

DATA = "tdt2"
CLASSES = tuple(range(2, 11))
DRAWS = {"short": 2, "full": 20}
MEASURES = ("AC", "NMI")
_GRAPH: Mapping[str, Any] = {"n_neighbors": 7}
METHODS = {
    "terms": Method.of(TERMS),
    "LSI": Method.of("lsi"),
    "LPI": Method.of("lpi", **_GRAPH),
    "RLPI": Method.of("rlpi", alpha=0.1, **_GRAPH),
    "SPG": Method.of("spg", **_GRAPH),
    "SLPI": Method.of("slpi", **_GRAPH),
    "FSSL": Method.of("fsslpi", **_GRAPH),
    "LPFL": Method.of("lpfl", **_GRAPH),
}


def grid_parts(form: str) -> list[Part]:
    """Return every method on every draw."""
    return [
        Part("grid", DATA, method, subset)
        for number in CLASSES
        for subset in drawn(DATA, number, DRAWS[form])
        for method in METHODS.values()
    ]


def grid_found(form: str, results: Results) -> Findings:
    """Return a table for each measure: readings as rows, methods as columns."""
    return Findings(
        f"{DRAWS[form]} draws of each of 2 to 10 classes.",
        (),
        tuple(_table(form, results, what) for what in MEASURES),
    )


def _table(form: str, results: Results, what: str) -> Table:
    rows: list[dict[str, Cell]] = []
    for dims, init, places in product(DIMS, INITS, ROWS):
        key = f"{dims}; {init}; {places}"
        cells: dict[str, Cell] = {
            name: _mean(form, results, method, key, what) for name, method in METHODS.items()
        }
        rows.append({"dimensions": dims, "starts": init, "rows": places, **cells})
    note = (
        "Means of the means of each number of classes, over the draws that were measured of all "
        "methods, the smallest number in brackets. Without a bracket, all of them. The constant "
        "dimension is left out: with c dimensions, LPI and the methods after it have c others."
    )
    title = f"{what} on TDT2, mean over 2 to 10 classes, %, by reading and method"
    return Table(f"rlpi-2007-readings-{what}", title, tuple(rows), (note,))


def _mean(form: str, results: Results, method: Method, key: str, what: str) -> str | None:
    means, counts = [], []
    for number in CLASSES:
        sets = drawn(DATA, number, DRAWS[form])
        complete = [
            subset
            for subset in sets
            if all("readings" in results.get(Part("grid", DATA, each, subset), {})
                   for each in METHODS.values())
        ]  # fmt: skip
        found = [results[Part("grid", DATA, method, each)]["readings"] for each in complete]
        own = [each[key][what] for each in found if key in each]
        if not own:
            return None
        means.append(fmean(own))
        counts.append((len(own), len(sets)))
    some = any(own < every for own, every in counts)
    return f"{fmean(means):.1f}" + (f" ({min(own for own, _ in counts)})" if some else "")
