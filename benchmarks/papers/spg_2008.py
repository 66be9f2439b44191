"""Tables 3 and 4, figures 1 and 2 of spg-2008: clusters in sparse projections."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.papers.clustering import Clustering
from benchmarks.papers.comparison import Comparison, averaged, with_average
from benchmarks.papers.curves import as_series, as_table, collected
from benchmarks.papers.methods import Method
from benchmarks.papers.open_points import lsi_found, lsi_parts
from benchmarks.papers.prose import Prose
from benchmarks.papers.protocol import Part, drawn
from benchmarks.papers.published import Published
from benchmarks.papers.tables import Findings, Paper, PaperTable
from lpisearch.model.reports import Figure, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.papers.protocol import Results
    from lpisearch.model.reports import Cell

NEIGHBOURS = 7
CLASSES = tuple(range(2, 11))
TABLES = {3: "tdt2", 4: "reuters"}
NAMES = {"tdt2": "TDT2", "reuters": "Reuters"}
SPARSE = {"SPCA": "spca", "SPG": "spg"}
# Figures 1 and 2 do not say of how many classes they are.
FIGURE_CLASSES = 5


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of the protocol a form runs."""

    draws: int  # of classes, in the tables and in the figures
    figure_draws: int
    steps: int  # of NMF at most
    cardinalities: tuple[int, ...]  # terms in a dimension, for the figures


BOUNDS = {
    "short": Bounds(5, 2, 200, (10, 25, 50, 100, 200, 400)),
    "full": Bounds(50, 50, 500, (5, 10, 25, 50, 75, 100, 150, 200, 300, 400, 600)),
}


@dataclass(frozen=True, slots=True)
class SparseClustering(Clustering):
    """Clusters where a column is as sparse as the paper's is for that number of classes."""

    number: int = 3

    def settings(self, number: int, label: str) -> tuple[Method, ...]:
        """Ask for the sparsity that the paper reports."""
        methods = self.columns[label]
        if label not in SPARSE:
            return methods
        share = Published.read(f"spg-2008-{self.number}-sparsity").cells[str(number), label].mean
        return tuple(
            replace(each, arguments=tuple(sorted((*each.arguments, ("sparsity", share)))))
            for each in methods
        )


def clustering(number: int, form: str) -> SparseClustering:
    """Return the experiment of table 3 or 4."""
    bounds = BOUNDS[form]
    return SparseClustering(
        TABLES[number],
        CLASSES,
        bounds.draws,
        {
            "Baseline": (Method.of("terms"),),
            "LSI": (Method.of("lsi"),),
            "SPCA": (Method.of("spca"),),
            "SPG": (Method.of("spg", n_neighbors=NEIGHBOURS),),
            "NMF": (Method.of("nmf", max_iter=bounds.steps),),
        },
        number=number,
    )


def clustering_parts(number: int, form: str) -> list[Part]:
    """Return what one of the tables takes."""
    return clustering(number, form).parts()


def clusters_found(number: int, form: str, results: Results) -> Findings:
    """Compare table 3 or 4."""
    experiment = clustering(number, form)
    name = f"spg-2008-{number}"
    tables = [
        experiment.compared(results, Published.read(f"{name}-{what}"), what, f"{name}-{what}")
        for what in ("AC", "NMI")
    ]
    published = Published.read(f"{name}-sparsity")
    here = {
        key: value
        for key, value in experiment.values(results, "sparsity").items()
        if key[1] in SPARSE
    }
    rows = [str(number) for number in CLASSES]
    paper, here = with_average(rows, published.cells, here)
    title = "Sparsity, %: paper / measured / difference"
    shape = (published.corner, published.rows, published.columns)
    sparsity = Comparison(f"{name}-sparsity", title, *shape, paper, here)
    figure = experiment.figure(tables[0], f"Clusters of {NAMES[experiment.data]}", "SPG")
    bounds = BOUNDS[form]
    extent = f"{bounds.draws} draws of classes (paper: 50); NMF takes {bounds.steps} steps at most."
    return Findings(extent, (*tables, sparsity), (_sizes(experiment, results),), (figure,))


def _sizes(experiment: SparseClustering, results: Results) -> Table:
    """Compare the sizes of the drawn collections with those of table 2."""
    published = Published.read("spg-2008-2")
    name = NAMES[experiment.data]
    rows: list[dict[str, Cell]] = []
    for number in CLASSES:
        row: dict[str, Cell] = {"c": number}
        for what in ("documents", "terms"):
            own = [each[what] for each in experiment.chosen(results, number, "Baseline")]
            row[f"{what} (paper)"] = int(published.cells[str(number), f"{name} {what}"].mean)
            row[f"{what} (here)"] = round(averaged(own).mean) if own else None
        rows.append(row)
    title = f"Mean size of the drawn collections ({name} part of table 2)"
    return Table(f"spg-2008-{experiment.number}-sizes", title, tuple(rows))


def figure_parts(form: str) -> list[Part]:
    """Measure clusters by the number of terms in a dimension."""
    bounds = BOUNDS[form]
    return [
        Part("clusters", data, _sparse(name, terms), subset)
        for data in TABLES.values()
        for subset in drawn(data, FIGURE_CLASSES, bounds.figure_draws)
        for name in SPARSE.values()
        for terms in bounds.cardinalities
    ]


def figures_found(form: str, results: Results) -> Findings:
    """Draw figures 1 and 2, and give their values."""
    bounds = BOUNDS[form]
    corner = "terms in a dimension"
    figures, tables = [], []
    for at, (data, name) in enumerate(NAMES.items(), start=1):
        curves = collected(_by_terms(data, form, results))
        title = f"Figure {at}: {name}, {FIGURE_CLASSES} classes, % by terms in a dimension"
        tables.append(as_table(f"spg-2008-figure{at}", title, corner, curves))
        lines = as_series(curves)
        figures.append(Figure(f"spg-2008-figure{at}", title, corner, "%", lines, log_x=True))
    extent = (
        f"{bounds.figure_draws} draws of {FIGURE_CLASSES} classes; the paper does not say of which "
        "numbers of classes its curves are, and prints no values."
    )
    return Findings(extent, (), tuple(tables), tuple(figures))


def _by_terms(data: str, form: str, results: Results) -> Iterator[tuple[str, float, float]]:
    bounds = BOUNDS[form]
    for label, name in SPARSE.items():
        for what in ("AC", "NMI"):
            for terms in bounds.cardinalities:
                for subset in drawn(data, FIGURE_CLASSES, bounds.figure_draws):
                    found = results.get(Part("clusters", data, _sparse(name, terms), subset), {})
                    if what in found:
                        yield f"{label} {what}", float(terms), found[what]


def _sparse(name: str, terms: int) -> Method:
    graph: dict[str, Any] = {"n_neighbors": NEIGHBOURS} if name == "spg" else {}
    return Method.of(name, cardinality=terms, **graph)


_PROSE = Prose.read("spg-2008")

PAPER = Paper(
    "spg-2008",
    "Sparse Projections over Graph",
    "D. Cai, X. He, J. Han, AAAI 2008",
    _PROSE.protocol,
    (
        *(
            PaperTable(
                f"spg-2008-{number}",
                f"Table {number}: clustering performance on {NAMES[data]}",
                partial(clustering_parts, number),
                partial(clusters_found, number),
                _PROSE.of(f"spg-2008-{number}"),
            )
            for number, data in TABLES.items()
        ),
        PaperTable(
            "spg-2008-lsi",
            "Table 3, LSI: what the text leaves open",
            lsi_parts,
            lsi_found,
            _PROSE.of("spg-2008-lsi"),
        ),
        PaperTable(
            "spg-2008-figures",
            "Figures 1 and 2: clusters by cardinality",
            figure_parts,
            figures_found,
            _PROSE.of("spg-2008-figures"),
        ),
    ),
)
