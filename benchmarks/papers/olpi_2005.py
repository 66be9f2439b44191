"""Figures 1 to 4 of olpi-2005: orthogonal directions against LPI, LSI and plain terms."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.papers.curves import as_series, as_table, collected
from benchmarks.papers.datasets import load
from benchmarks.papers.methods import Method
from benchmarks.papers.prose import Prose
from benchmarks.papers.protocol import Part, drawn
from benchmarks.papers.tables import Findings, Paper, PaperTable
from lpisearch.model.reports import Figure, Series, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.papers.protocol import Results
    from lpisearch.model.reports import Cell

DATA = "tdt2-20"
NEIGHBOURS = 7
SMALLEST, LARGEST = 256, 805
METHODS = {"OLPI": "olpi", "LPI": "lpi", "LSI": "lsi"}


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of the protocol a form runs."""

    subsets: int  # documents with one term
    rates: tuple[int, ...]  # shares of all dimensions, in per mille
    directions: int  # how many eigenvalues figure 1 shows
    classes: tuple[int, ...]  # classes, draws, dims: for figure 4
    draws: int
    dims: tuple[int, ...]


BOUNDS = {
    "short": Bounds(
        6, (3, 6, 10, 15, 20, 30, 40, 60, 80, 100, 200, 300), 100,
        (2, 5, 10), 2, (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50),
    ),
    "full": Bounds(
        30, (3, 6, 10, 15, 20, 30, 40, 60, 80, 100, 200, 300, 500, 700, 1000), 250,
        tuple(range(2, 11)), 50, (*range(1, 21), 25, 30, 40, 50, 75, 100),
    ),
}  # fmt: skip


def subset_columns(count: int) -> list[int]:
    """Draw terms that as many documents have as the paper's 30 keywords."""
    frequencies = np.diff(load(DATA).counts.tocsc().indptr)
    fitting = np.flatnonzero((frequencies >= SMALLEST) & (frequencies <= LARGEST))
    drawn_columns: list[int] = np.random.default_rng(0).permutation(fitting)[:count].tolist()
    return drawn_columns


def eigenvalue_parts(form: str) -> dict[str, Part]:
    """Return the parts of figure 1: one subset, about as large as “air” with its 658."""
    counts = load(DATA).counts.tocsc()
    columns = subset_columns(30)
    near = min(columns, key=lambda column: abs(int(np.diff(counts.indptr)[column]) - 658))
    directions = BOUNDS[form].directions
    return {
        label: Part("eigenvalues", DATA, _method(METHODS[label], directions), (near,))
        for label in ("LPI", "OLPI")
    }


def similarity_parts(form: str) -> dict[tuple[str, int], Part]:
    """Return the parts of figures 2 and 3."""
    bounds = BOUNDS[form]
    return {
        (label, column): Part(
            "similarity", DATA, _method(name), (column,), bounds.rates if name != "terms" else ()
        )
        for label, name in {"Baseline": "terms", **METHODS}.items()
        for column in subset_columns(bounds.subsets)
    }


def cluster_parts(form: str) -> dict[tuple[str, int, Any], Part]:
    """Return the parts of figure 4."""
    bounds = BOUNDS[form]
    found: dict[tuple[str, int, Any], Part] = {}
    for number in bounds.classes:
        for subset in drawn(DATA, number, bounds.draws):
            found["Baseline", number, subset] = Part("clusters", DATA, _method("terms"), subset)
            for label, name in METHODS.items():
                found[label, number, subset] = Part(
                    "clusters_by_dimension",
                    DATA,
                    _method(name, bounds.dims[-1]),
                    subset,
                    bounds.dims,
                )
    return found


def all_parts(form: str) -> list[Part]:
    """Return what the four figures take."""
    parts = (eigenvalue_parts(form), similarity_parts(form), cluster_parts(form))
    return [part for own in parts for part in own.values()]


def figures_found(form: str, results: Results) -> Findings:
    """Draw the four figures and give their values."""
    bounds = BOUNDS[form]
    eigenvalues = _eigenvalues(form, results)
    curves = [_similarity(form, results, *named) for named in _MEASURES]
    curves += [
        _clusters(form, results, number, what)
        for number in bounds.classes
        for what in ("AC", "NMI")
    ]
    figures = [eigenvalues, *(figure for figure, _ in curves)]
    tables = [_eigenvalue_table(eigenvalues), *(table for _, table in curves)]
    sizes = [results[part]["documents"] for (label, _), part in similarity_parts(form).items()
             if label == "Baseline" and "documents" in results.get(part, {})]  # fmt: skip
    extent = (
        f"{bounds.subsets} subsets (paper: 30) of {min(sizes, default=0)} to "
        f"{max(sizes, default=0)} documents, on average {fmean(sizes or [0]):.0f} (paper: 256 to "
        f"805, 507), up to {bounds.rates[-1] / 10:g} % of the dimensions; {bounds.draws} draws of "
        f"{', '.join(map(str, bounds.classes))} classes (paper: 50 of 2 to 10). The paper prints "
        "curves without values."
    )
    return Findings(extent, (), tuple(tables), tuple(figures))


_MEASURES = (
    ("figure2", "AP", "Figure 2: average precision of pairs of one topic"),
    ("figure3", "accuracy", "Figure 3: average accuracy of the nearest"),
)


def _eigenvalues(form: str, results: Results) -> Figure:
    lines = []
    for label, part in eigenvalue_parts(form).items():
        values = [round(value, 6) for value in results.get(part, {}).get("values", [])]
        lines.append(Series(label, tuple(map(float, range(1, len(values) + 1))), tuple(values)))
    title = "Figure 1: the eigenvalues of LPI and OLPI"
    return Figure("olpi-2005-figure1", title, "direction", "f(a)", tuple(lines))


def _similarity(
    form: str, results: Results, name: str, what: str, title: str
) -> tuple[Figure, Table]:
    curves = collected(
        (label, int(rate) / 10, found[what])
        for (label, _), part in similarity_parts(form).items()
        for rate, found in results.get(part, {}).get("by_rate", {}).items()
    )
    corner, name = "dimensions in % of all", f"olpi-2005-{name}"
    table = as_table(name, title, corner, curves, 4)
    return Figure(name, title, corner, what, as_series(curves, 4), log_x=True), table


def _clusters(form: str, results: Results, number: int, what: str) -> tuple[Figure, Table]:
    curves = collected(_by_dimension(form, results, number, what))
    said = {"AC": "accuracy", "NMI": "normalised mutual information"}[what]
    title = f"Figure 4: {said} of clusters, {number} classes"
    name = f"olpi-2005-figure4-{number}" + ("" if what == "AC" else f"-{what}")
    table = as_table(name, title, "dimensions", curves)
    return Figure(name, title, "dimensions", f"{what} in %", as_series(curves)), table


def _by_dimension(
    form: str, results: Results, number: int, what: str
) -> Iterator[tuple[str, float, float]]:
    for (label, classes, _), part in cluster_parts(form).items():
        found = results.get(part, {}) if classes == number else {}
        if what in found:
            yield label, 1.0, found[what]
        for dims, own in found.get("by_dims", {}).items():
            yield label, float(dims), own[what]


def _eigenvalue_table(figure: Figure) -> Table:
    """Give some of the values."""
    rows: list[dict[str, Cell]] = [
        {figure.x_label: str(direction)}
        | {each.name: each.y[direction - 1] for each in figure.series if direction <= len(each.y)}
        for direction in (1, 2, 3, 5, 10, 20, 50, 100, 150, 200, 250)
    ]
    return Table(figure.name, figure.title, tuple(rows))


def _method(name: str, n_components: int | None = None) -> Method:
    arguments: dict[str, Any] = {}
    if name in {"olpi", "lpi"}:
        arguments["n_neighbors"] = NEIGHBOURS
    if n_components is not None:
        arguments["n_components"] = n_components
    return Method.of(name, **arguments)


_PROSE = Prose.read("olpi-2005")

PAPER = Paper(
    "olpi-2005",
    "Orthogonal Locality Preserving Indexing",
    "D. Cai, X. He, SIGIR 2005",
    _PROSE.protocol,
    (
        PaperTable(
            "olpi-2005-figures",
            "Figures 1 to 4",
            all_parts,
            figures_found,
            _PROSE.of("olpi-2005-figures"),
        ),
    ),
)
