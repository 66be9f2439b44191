"""What lpp-analysis-2005 measures on one collection: tables 1 and 2, and its figure 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.papers.comparison import averaged
from benchmarks.papers.methods import Method
from benchmarks.papers.protocol import Part, drawn

if TYPE_CHECKING:
    from benchmarks.papers.protocol import Results
    from benchmarks.papers.published import Value

NEIGHBOURS = 15


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of the protocol a form runs."""

    classes: tuple[int, ...]  # classes, draws: numbers of classes, and draws of each
    draws: int
    dims: tuple[int, ...]  # numbers of dimensions tried for “best”, besides k - 1
    # up to so many documents LPP works in the whole space, beyond in so many directions
    exact: tuple[int, int]
    steps: int  # of NMF at most
    figure_classes: tuple[int, ...]  # figure_classes, figure_draws, neighbours: for figure 2
    figure_draws: int
    neighbours: tuple[int, ...]


# LPP as in section 4.1 of the paper, and LPP about the mean.
UNCENTRED = "LPP, not centred"
BOUNDS = {
    "short": Bounds(
        tuple(range(2, 11)), 2, (1, 2, 3, 4, 5, 7, 9, 12, 20, 30), (1500, 600), 200,
        (3, 6), 2, (3, 6, 10, 15, 25, 40),
    ),
    "full": Bounds(
        tuple(range(2, 11)), 50, (*range(1, 21), 25, 30, 40, 60, 80, 100), (3000, 1000), 500,
        tuple(range(2, 11)), 50, (3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 35, 40),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Experiment:
    """One collection in one form."""

    data: str
    bounds: Bounds

    def parts(self) -> list[Part]:
        """Return what a table takes."""
        return [
            part
            for number in self.bounds.classes
            for subset in drawn(self.data, number, self.bounds.draws)
            for part in self.of_draw(number, subset).values()
        ]

    def of_draw(self, number: int, subset: tuple[str, ...]) -> dict[str, Part]:
        """Return the parts of one draw by method."""
        dims = tuple(sorted({*self.bounds.dims, number - 1}))
        most: dict[str, Any] = {"n_components": dims[-1]}
        graph: dict[str, Any] = {"n_neighbors": NEIGHBOURS}
        exact: dict[str, Any] = {"exact_up_to": self.bounds.exact}
        by_dimension = partial(Part, "clusters_by_dimension", self.data)
        clusters = partial(Part, "clusters", self.data)
        return {
            "Kmeans": clusters(Method.of("terms"), subset),
            "PCA": by_dimension(Method.of("pca", **most), subset, dims),
            "LPP": by_dimension(Method.of("lpp", **most, **exact, **graph), subset, dims),
            UNCENTRED: clusters(
                Method.of("lpp", centred=False, n_components=number - 1, **exact, **graph), subset
            ),
            "LE": clusters(Method.of("eigenmaps", **graph), subset),
            "NMF-NCW": clusters(Method.of("nmf", max_iter=self.bounds.steps), subset),
        }

    def values(self, results: Results, what: str) -> dict[tuple[str, str], Value]:
        """Return the means by number of classes and column."""
        found: dict[tuple[str, str], Value] = {}
        for number in self.bounds.classes:
            measured: dict[str, list[float]] = {}
            for subset in drawn(self.data, number, self.bounds.draws):
                for label, part in self.of_draw(number, subset).items():
                    for column, value in _of_part(results.get(part, {}), number, what, label):
                        measured.setdefault(column, []).append(value)
            found |= {(str(number), column): averaged(own) for column, own in measured.items()}
        return found

    def best_dims(self, results: Results, label: str) -> dict[float, Value]:
        """Return the numbers of dimensions at which clusters are best."""
        found: dict[float, list[float]] = {}
        for number in self.bounds.classes:
            for subset in drawn(self.data, number, self.bounds.draws):
                by_dims = results.get(self.of_draw(number, subset)[label], {}).get("by_dims")
                if by_dims:
                    found.setdefault(number, []).append(float(_best(by_dims)))
        return {number: averaged(own) for number, own in found.items()}


def _of_part(found: dict[str, Any], number: int, what: str, label: str) -> list[tuple[str, float]]:
    by_dims = found.get("by_dims")
    if by_dims:
        usual = by_dims.get(str(number - 1))
        own = [(f"{label}(best)", by_dims[_best(by_dims)][what])]
        return [*own, (label, usual[what])] if usual else own
    return [(label, found[what])] if what in found else []


def _best(by_dims: dict[str, Any]) -> str:
    return max(by_dims, key=lambda dims: by_dims[dims]["AC"])
