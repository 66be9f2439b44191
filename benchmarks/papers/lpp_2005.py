"""Tables 1 and 2, figures 1 and 2 of lpp-analysis-2005: principal components against LPP."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.papers.comparison import Comparison, with_average
from benchmarks.papers.curves import as_series, as_table, collected
from benchmarks.papers.lpp_experiment import BOUNDS, UNCENTRED, Bounds, Experiment
from benchmarks.papers.methods import Method
from benchmarks.papers.prose import Prose
from benchmarks.papers.protocol import Part, drawn
from benchmarks.papers.published import AVERAGE, Published, Value
from benchmarks.papers.tables import Findings, Paper, PaperTable
from lpisearch.model.reports import Figure, Series

if TYPE_CHECKING:
    from benchmarks.papers.curves import Curves
    from benchmarks.papers.protocol import Results

TABLES = {1: "reuters", 2: "tdt2"}
NAMES = {"tdt2": "TDT2", "reuters": "Reuters-21578"}
COLUMNS = ("Kmeans", "PCA(best)", "PCA", "LPP(best)", "LPP", UNCENTRED, "LE", "NMF-NCW")
PER_CENT = 100
# Of figure 2: up to so many documents LPP is exact, beyond it works in so many directions.
EXACT = (1000, 300)


def clusters_found(number: int, form: str, results: Results) -> Findings:
    """Compare table 1 or 2; figure 1 comes from the same measurements."""
    experiment = Experiment(TABLES[number], BOUNDS[form])
    bounds = experiment.bounds
    comparisons = []
    rows = [str(classes) for classes in bounds.classes]
    for what in ("AC", "NMI"):
        name = f"lpp-2005-{number}-{what}"
        published = Published.read(name, scale=PER_CENT)
        paper = {key: own for key, own in published.cells.items() if key[0] in (*rows, AVERAGE)}
        if len(rows) < len(published.rows) - 1:
            paper = {key: own for key, own in paper.items() if key[0] != AVERAGE}
        paper, here = with_average(rows, paper, experiment.values(results, what))
        title = f"{what}, %: paper / measured / difference"
        shape = (published.corner, (*rows, AVERAGE), COLUMNS)
        comparisons.append(Comparison(name, title, *shape, paper, here))
    documents, directions = bounds.exact
    extent = (
        f"{bounds.draws} draws of {', '.join(rows)} classes (paper: 50 of 2 to 10); the best of "
        f"{', '.join(map(str, bounds.dims))} dimensions; LPP is exact up to {documents:,} "
        f"documents and works in the {directions:,} leading principal components beyond; NMF "
        f"takes {bounds.steps} steps at most."
    )
    return Findings(extent, tuple(comparisons))


def figures_parts(form: str) -> list[Part]:
    """Measure what figures 1 and 2 take."""
    bounds = BOUNDS[form]
    tables = [part for data in NAMES for part in Experiment(data, bounds).parts()]
    return [*tables, *(part for data in NAMES for part in _locality_parts(data, bounds).values())]


def figures_found(form: str, results: Results) -> Findings:
    """Draw figures 1 and 2."""
    bounds = BOUNDS[form]
    figures, tables = [], []
    for data, name in NAMES.items():
        experiment = Experiment(data, bounds)
        best = {label: experiment.best_dims(results, label) for label in ("PCA", "LPP")}
        lines = [_dims_line(label, own) for label, own in best.items()]
        title = f"Figure 1: the best number of dimensions, {name}"
        figure = Figure(f"lpp-2005-figure1-{data}", title, "classes", "dimensions", tuple(lines))
        figures.append(figure)
        tables.append(as_table(figure.name, title, "k", best))
        title, file = (
            f"Figure 2: AC by the number of neighbours, {name}",
            f"lpp-2005-figure2-{data}",
        )
        curves = _by_neighbours(data, bounds, results)
        figures.append(Figure(file, title, "p", "AC in %", as_series(curves)))
        tables.append(as_table(file, title, "p", curves))
    classes = ", ".join(map(str, bounds.figure_classes))
    extent = (
        f"figure 1 from the draws of tables 1 and 2; figure 2 from {bounds.figure_draws} draws of "
        f"{classes} classes (paper: 2 to 10), LPP in the {EXACT[1]} leading principal components "
        f"where there are more than {EXACT[0]:,} documents. The paper prints curves without "
        "values; it says: the best dimension of LPP is close to k − 1 and steadier than that of "
        "PCA; LPP is best at p = 6 on TDT2, at p = 15 on Reuters, falls beyond, and is worse "
        "with a complete graph."
    )
    return Findings(extent, (), tuple(tables), tuple(figures))


def _dims_line(label: str, values: dict[float, Value]) -> Series:
    spread = [round(value.spread or 0.0, 2) for value in values.values()]
    means = [round(value.mean, 2) for value in values.values()]
    return Series(label, tuple(values), tuple(means), tuple(spread))


def _locality_parts(data: str, bounds: Bounds) -> dict[tuple[str, Any, Any], Part]:
    """Return the parts of figure 2, by method, neighbours (0 without) and draw."""
    found: dict[tuple[str, Any, Any], Part] = {}
    for number in bounds.figure_classes:
        for subset in drawn(data, number, bounds.figure_draws):
            clusters = partial(Part, "clusters", data)
            own: dict[str, Any] = {"n_components": number - 1}
            lpp = own | {"exact_up_to": EXACT}
            for p in bounds.neighbours:
                found["LPP", p, subset] = clusters(Method.of("lpp", n_neighbors=p, **lpp), subset)
            complete = Method.of("lpp", graph="complete", **lpp)
            found["LPP, complete graph", 0, subset] = clusters(complete, subset)
            found["PCA", 0, subset] = clusters(Method.of("pca", **own), subset)
            found["Kmeans", 0, subset] = clusters(Method.of("terms"), subset)
    return found


def _by_neighbours(data: str, bounds: Bounds, results: Results) -> Curves:
    first = bounds.neighbours[0]  # where what has no neighbours is put
    return collected(
        (label, float(p or first), results[part]["AC"])
        for (label, p, _), part in _locality_parts(data, bounds).items()
        if "AC" in results.get(part, {})
    )


def _table_parts(number: int, form: str) -> list[Part]:
    return Experiment(TABLES[number], BOUNDS[form]).parts()


_PROSE = Prose.read("lpp-analysis-2005")

PAPER = Paper(
    "lpp-analysis-2005",
    "Statistical and Computational Analysis of Locality Preserving Projection",
    "X. He, D. Cai, W. Min, ICML 2005",
    _PROSE.protocol,
    (
        *(
            PaperTable(
                f"lpp-2005-{number}",
                f"Table {number}: performance comparisons on {NAMES[data]}",
                partial(_table_parts, number),
                partial(clusters_found, number),
                _PROSE.of(f"lpp-2005-{number}"),
            )
            for number, data in TABLES.items()
        ),
        PaperTable(
            "lpp-2005-figures",
            "Figures 1 and 2: the best dimension, and the number of neighbours",
            figures_parts,
            figures_found,
            _PROSE.of("lpp-2005-figures"),
        ),
    ),
)
