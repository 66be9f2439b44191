"""Tables 2 to 5 of rlpi-2007: clusters of TDT2, categories of 20 Newsgroups, and their cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.papers.categories import Categories
from benchmarks.papers.clustering import WHOLE, Clustering
from benchmarks.papers.comparison import Comparison
from benchmarks.papers.grid import grid_found, grid_parts
from benchmarks.papers.methods import Method
from benchmarks.papers.open_points import baseline_found, baseline_parts
from benchmarks.papers.prose import Prose
from benchmarks.papers.published import AVERAGE, Published, Value
from benchmarks.papers.tables import Findings, Paper, PaperTable

if TYPE_CHECKING:
    from benchmarks.papers.protocol import Results
    from benchmarks.papers.tables import Found, Parts

NEIGHBOURS, ALPHA = 7, 0.1
CLASSES = (2, 3, 4, 5, 6, 7, 8, 9, 10, WHOLE)
RANDOM = "RLPI, random starts"
# The paper's own method is quick enough for all of the paper's draws in every form.
DRAWS = 50
MANY = f"RLPI, {DRAWS} draws"
PRINTED = ("Baseline", "LSI", "PLSI", "LPI", "RLPI", "NMF-NCW")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of the protocol a form runs."""

    draws: int  # of classes
    lpi_draws: int  # of classes, for LPI
    steps: int  # of PLSI and NMF at most
    splits: int  # random splits of each share


BOUNDS = {
    "short": Bounds(draws=5, lpi_draws=2, steps=200, splits=1),
    "full": Bounds(draws=50, lpi_draws=50, steps=500, splits=10),
}


def clustering(form: str) -> Clustering:
    """Return the experiment of tables 2 and 3."""
    bounds = BOUNDS[form]
    graph: dict[str, Any] = {"n_neighbors": NEIGHBOURS}
    rlpi: dict[str, Any] = {"alpha": ALPHA, **graph}
    return Clustering(
        "tdt2",
        CLASSES,
        bounds.draws,
        {
            "Baseline": (Method.of("terms"),),
            "LSI": (Method.of("lsi"),),
            "PLSI": (Method.of("plsi", max_iter=bounds.steps),),
            "LPI": (Method.of("lpi", svd_components=None, **graph),),
            "RLPI": (Method.of("rlpi", **rlpi),),
            "NMF-NCW": (Method.of("nmf", max_iter=bounds.steps),),
            RANDOM: (Method.of("rlpi", init="random", **rlpi),),
            **({MANY: (Method.of("rlpi", **rlpi),)} if bounds.draws < DRAWS else {}),
        },
        left_out=(("LPI", WHOLE),),
        own_draws={"LPI": bounds.lpi_draws} | ({MANY: DRAWS} if bounds.draws < DRAWS else {}),
        same_as={RANDOM: "RLPI", MANY: "RLPI"},
    )


def clusters_found(form: str, results: Results) -> Findings:
    """Compare table 2."""
    experiment = clustering(form)
    tables = [
        experiment.compared(
            results, Published.read(f"rlpi-2007-2-{what}"), what, f"rlpi-2007-2-{what}"
        )
        for what in ("AC", "NMI")
    ]
    figures = tuple(experiment.figure(table, "Clusters of TDT2", "RLPI") for table in tables)
    return Findings(_extent(form), tuple(tables), (), figures)


def times_found(form: str, results: Results) -> Findings:
    """Compare table 3: seconds, and their ratio to LSI in the same run."""
    experiment = clustering(form)
    fits, clusters = (experiment.values(results, what) for what in ("fit_s", "cluster_s"))
    overall = {
        key: Value(fits[key].mean + clusters[key].mean, None, fits[key].draws)
        for key in fits
        if key[1] in PRINTED
    }
    reduction = {
        key: value for key, value in fits.items() if key[1] in {"LSI", "PLSI", "LPI", "RLPI"}
    }
    clustered = {
        (row, {"RLPI": "LPI/RLPI"}.get(label, label)): value
        for (row, label), value in clusters.items()
        if label in {"Baseline", "LSI", "RLPI", "NMF-NCW"}
    }
    comparisons = []
    for what, said, here in (
        ("reduction", "Dimension reduction", reduction),
        ("clustering", "Clustering", clustered),
        ("overall", "Overall", overall),
    ):
        published = Published.read(f"rlpi-2007-3-{what}")
        comparisons += compared_times(f"rlpi-2007-3-{what}", said, published, here)
    return Findings(_extent(form), tuple(comparisons))


def compared_times(
    name: str, said: str, published: Published, here: dict[tuple[str, str], Value]
) -> list[Comparison]:
    """Compare seconds and, since machines differ, how many times those of LSI they are."""
    shape = (published.corner, published.rows, published.columns)
    times = "paper / measured / difference"
    seconds = Comparison(name, f"{said}, seconds: {times}", *shape, published.cells, here, 2)
    ratios = [
        {
            key: Value(value.mean / lsi.mean, None, min(value.draws, lsi.draws))
            for key, value in values.items()
            if key[0] != AVERAGE and (lsi := values.get((key[0], "LSI")))
        }
        for values in (published.cells, here)
    ]
    title = f"{said}, times LSI: {times}"
    return [seconds, Comparison(f"{name}-ratio", title, *shape, ratios[0], ratios[1], 1)]


def categories(form: str) -> Categories:
    """Return the experiment of tables 4 and 5."""
    bounds = BOUNDS[form]
    return Categories(
        "newsgroups",
        splits=bounds.splits,
        columns={
            "Baseline": Method.of("terms"),
            "LSI": Method.of("lsi"),
            "PLSI": Method.of("plsi", max_iter=min(bounds.steps, PLSI_STEPS[form])),
            "LPI": Method.of("lpi", svd_components=None),
            "RLPI": Method.of("rlpi", alpha=ALPHA),
        },
    )


PLSI_STEPS = {"short": 50, "full": 500}


def categories_found(form: str, results: Results) -> Findings:
    """Compare table 4."""
    experiment = categories(form)
    comparisons = [experiment.compared(results, by) for by in experiment.classifiers]
    times = [experiment.times(results, by) for by in experiment.classifiers]
    extent = (
        f"{experiment.splits} random split(s) of each share (paper: 10); "
        f"PLSI takes {PLSI_STEPS[form]} steps at most."
    )
    figures = tuple(map(experiment.figure, comparisons))
    return Findings(extent, tuple(comparisons), tuple(times), figures)


def reduction_found(form: str, results: Results) -> Findings:
    """Compare table 5."""
    experiment = categories(form)
    published = Published.read("rlpi-2007-5")
    here = experiment.fit_seconds(results)
    comparisons = compared_times("rlpi-2007-5", "Dimension reduction", published, here)
    return Findings(categories_found(form, results).extent, tuple(comparisons))


def _extent(form: str) -> str:
    bounds = BOUNDS[form]
    return (
        f"{bounds.draws} draws of classes (paper: 50); PLSI and NMF take {bounds.steps} steps at "
        f"most; {bounds.lpi_draws} draws for LPI, which is exact."
    )


_PROSE = Prose.read("rlpi-2007")


def _table(name: str, title: str, parts: Parts, found: Found) -> PaperTable:
    return PaperTable(name, title, parts, found, _PROSE.of(name))


PAPER = Paper(
    "rlpi-2007",
    "Regularized Locality Preserving Indexing via Spectral Regression",
    "D. Cai, X. He, W. V. Zhang, J. Han, CIKM 2007",
    _PROSE.protocol,
    (
        _table(
            "rlpi-2007-2",
            "Table 2: clustering performance on TDT2",
            lambda form: clustering(form).parts(),
            clusters_found,
        ),
        _table(
            "rlpi-2007-3",
            "Table 3: processing time on TDT2",
            lambda form: clustering(form).parts(),
            times_found,
        ),
        _table(
            "rlpi-2007-baseline",
            "Table 2, Baseline: what the text leaves open",
            baseline_parts,
            baseline_found,
        ),
        _table(
            "rlpi-2007-readings",
            "Table 2, all methods: what the text leaves open",
            grid_parts,
            grid_found,
        ),
        _table(
            "rlpi-2007-4",
            "Table 4: categorisation of 20 Newsgroups",
            lambda form: categories(form).parts(),
            categories_found,
        ),
        _table(
            "rlpi-2007-5",
            "Table 5: time of dimension reduction on 20 Newsgroups",
            lambda form: categories(form).parts(),
            reduction_found,
        ),
    ),
)
