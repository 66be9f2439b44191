"""Tables 1 and 2, figure 1 of lpfl-2012: feature selection and subspace learning at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from scipy.stats import ttest_rel

from benchmarks.papers.clustering import Clustering
from benchmarks.papers.methods import Method
from benchmarks.papers.prose import Prose
from benchmarks.papers.protocol import Part, drawn
from benchmarks.papers.published import Published
from benchmarks.papers.tables import Findings, Paper, PaperTable
from lpisearch.model.reports import Figure, Series, Table

if TYPE_CHECKING:
    from benchmarks.papers.protocol import Results
    from lpisearch.model.reports import Cell

NEIGHBOURS = 5
TABLES = {1: "tdt2", 2: "reuters"}
NAMES = {"tdt2": "TDT2", "reuters": "Reuters-21578"}
AUTO = "LPFL, m by itself"
EXCHANGED = "LPFL, terms exchanged"
FIGURE_CLASSES, FIGURE_TERMS = 2, 2000


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of the protocol a form runs."""

    draws: int  # of classes
    lpi_draws: int  # of classes, for LPI and LS+LPI
    # up to so many documents LPI works in the whole space, beyond in so many directions
    exact: tuple[int, int]
    selected: tuple[int, ...]  # the numbers of terms m that are tried
    betas: tuple[int, ...]  # the penalties β of SLPI that are tried


BOUNDS = {
    "short": Bounds(3, 2, (1500, 600), (1000, 3000, 5000), (10, 50, 100)),
    "full": Bounds(20, 20, (3000, 1000), tuple(range(1000, 5001, 500)), tuple(range(10, 101, 10))),
}


def clustering(number: int, form: str) -> Clustering:
    """Return the experiment of table 1 or 2."""
    bounds = BOUNDS[form]
    graph: dict[str, Any] = {"n_neighbors": NEIGHBOURS}
    lpi: dict[str, Any] = {"exact_up_to": bounds.exact, **graph}
    return Clustering(
        TABLES[number],
        tuple(range(2, 11)),
        bounds.draws,
        {
            "Baseline": (Method.of("terms"),),
            "LSI": (Method.of("lsi"),),
            "LPI": (Method.of("lpi", **lpi),),
            "LS": tuple(
                Method.of("laplacian-score", n_components=m, **graph) for m in bounds.selected
            ),
            "SLPI": tuple(Method.of("slpi", beta=float(b), **graph) for b in bounds.betas),
            "LS+LPI": tuple(Method.of("ls+lpi", n_selected=m, **lpi) for m in bounds.selected),
            "FSSL": (Method.of("fsslpi", **graph),),
            "LPFL": tuple(
                Method.of("lpfl", n_selected=m, selection="alternating", **graph)
                for m in bounds.selected
            ),
            EXCHANGED: tuple(Method.of("lpfl", n_selected=m, **graph) for m in bounds.selected),
            AUTO: (Method.of("lpfl", n_selected="auto", **graph),),
        },
        own_draws={"LPI": bounds.lpi_draws, "LS+LPI": bounds.lpi_draws},
        same_as={AUTO: "LPFL", EXCHANGED: "LPFL"},
    )


def clustering_parts(number: int, form: str) -> list[Part]:
    """Return what one of the tables takes."""
    return clustering(number, form).parts()


def clusters_found(number: int, form: str, results: Results) -> Findings:
    """Compare table 1 or 2; the mutual information is only a curve in the paper."""
    experiment = clustering(number, form)
    name = f"lpfl-2012-{number}-AC"
    table = experiment.compared(results, Published.read(name), "AC", name)
    bounds = BOUNDS[form]
    documents, directions = bounds.exact
    extent = (
        f"{bounds.draws} draws of classes (paper: 20); m of {', '.join(map(str, bounds.selected))} "
        f"and β of SLPI of {', '.join(map(str, bounds.betas))} (paper: 1000, "
        "1500, … 5000 and 10, 20, … 100); LPI, also after LS, is exact up to "
        f"{documents:,} documents and works in the {directions:,} leading directions of the SVD "
        "beyond."
    )
    title = f"Clusters of {NAMES[experiment.data]}"
    nmi = _information(experiment, results, number)
    tests = _paired_tests(experiment, results, number)
    return Findings(extent, (table,), (nmi, tests), (experiment.figure(table, title, "LPFL"),))


def _paired_tests(experiment: Clustering, results: Results, number: int) -> Table:
    """Test whether LPFL is more accurate than each other column on the same draws."""
    rows: list[dict[str, Cell]] = []
    for classes in experiment.classes:
        own = experiment.by_draw(results, classes, "LPFL")
        row: dict[str, Cell] = {"c": classes}
        for label in experiment.columns:
            other = experiment.by_draw(results, classes, label)
            both = [draw for draw in own if draw in other]
            left, right = ([values[draw] for draw in both] for values in (own, other))
            if label not in {"LPFL", AUTO, EXCHANGED} and len(both) > 1 and left != right:
                p = ttest_rel(left, right, alternative="greater").pvalue
                row[label] = round(float(p), 4)
        rows.append(row)
    title = f"p of paired t-tests: LPFL above each column, {NAMES[experiment.data]}"
    note = "One-sided, over the draws that both columns have; the paper tests at 0.05."
    return Table(f"lpfl-2012-{number}-tests", title, tuple(rows), (note,))


def _information(experiment: Clustering, results: Results, number: int) -> Table:
    """Return the values behind the paper's figure 2."""
    here = experiment.values(results, "NMI")
    rows: list[dict[str, Cell]] = [
        {"c": classes}
        | {
            label: round(here[str(classes), label].mean, 1)
            for label in experiment.columns
            if (str(classes), label) in here
        }
        for classes in experiment.classes
    ]
    title = "NMI, %, measured (figure 2 of the paper, without values)"
    return Table(f"lpfl-2012-{number}-NMI", title, tuple(rows))


def convergence_parts(form: str) -> list[Part]:
    """Follow alternating directions on one draw of two classes."""
    del form
    method = Method.of(
        "lpfl",
        n_selected=FIGURE_TERMS,
        selection="alternating",
        n_neighbors=NEIGHBOURS,
        tol=0.0,
        max_iter=150,
    )
    return [Part("convergence", "tdt2", method, subset) for subset in drawn("tdt2", 2, 1)]


def convergence_found(form: str, results: Results) -> Findings:
    """Draw figure 1."""
    found = [results[part] for part in convergence_parts(form) if part in results]
    if not found or "objective" not in found[0]:
        return Findings("The method is missing here.")
    objective, residual = found[0]["objective"], found[0]["residual"]
    rows: list[dict[str, Cell]] = [
        {"step": step, "½|E|²": objective[step - 1], "|XA + E − Y| / |Y|": residual[step - 1]}
        for step in (1, 10, 20, 30, 40, 50, 60, 80, 100, 130, len(objective))
        if step <= len(objective)
    ]
    steps = tuple(float(step) for step in range(1, len(objective) + 1))
    values = tuple(round(value, 5) for value in objective)
    title = f"Objective of LPFL, TDT2, c = {FIGURE_CLASSES}, m = {FIGURE_TERMS}"
    lines = (Series("½|E|²", steps, values),)
    figure = Figure("lpfl-2012-figure1", title, "iteration", "objective", lines)
    note = "The paper: the objective rises, and has converged within roughly 130 iterations."
    table = Table("lpfl-2012-figure1", title, tuple(rows), (note,))
    return Findings("one draw, as in the paper.", (), (table,), (figure,))


_PROSE = Prose.read("lpfl-2012")

PAPER = Paper(
    "lpfl-2012",
    "Locality Preserving Feature Learning",
    "Q. Gu, M. Danilevsky, Z. Li, J. Han, AISTATS 2012",
    _PROSE.protocol,
    (
        *(
            PaperTable(
                f"lpfl-2012-{number}",
                f"Table {number}: clustering accuracy on {NAMES[data]}",
                partial(clustering_parts, number),
                partial(clusters_found, number),
                _PROSE.of(f"lpfl-2012-{number}"),
            )
            for number, data in TABLES.items()
        ),
        PaperTable(
            "lpfl-2012-figure1",
            "Figure 1: convergence of alternating directions",
            convergence_parts,
            convergence_found,
            _PROSE.of("lpfl-2012-figure1"),
        ),
    ),
)
