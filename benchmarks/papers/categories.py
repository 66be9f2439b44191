"""Tables of classifiers: representations as columns, shares of training documents as rows."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks.papers.comparison import Comparison, averaged
from benchmarks.papers.protocol import Part
from benchmarks.papers.published import Published, Value
from lpisearch.model.reports import Figure, Series, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.papers.methods import Method
    from benchmarks.papers.protocol import Results
    from lpisearch.model.reports import Cell

ORIGINAL = "60% (Orig Split)"
SHARES = {"5%": 0.05, "10%": 0.1, "20%": 0.2, "30%": 0.3, "40%": 0.4, "50%": 0.5, ORIGINAL: 0.0}
BASELINE = "Baseline"
# Of LPI the paper says that there is not the memory for more.
LPI_SHARES = ("5%", "10%")
_TITLES = {"centroid": "Nearest centroid", "knn": "k nearest neighbours", "svm": "Linear SVM"}


@dataclass(frozen=True, slots=True)
class Categories:
    """Tables 4 and 5 of rlpi-2007."""

    data: str  # of `datasets.DATASETS`
    splits: int  # random splits of each share
    columns: Mapping[str, Method]  # methods by name
    classifiers: tuple[str, ...] = tuple(_TITLES)  # names of those that judge

    def parts(self) -> list[Part]:
        """Return all that is to be measured."""
        return [
            part for row in SHARES for label in self.columns for part in self._parts(row, label)
        ]

    def compared(self, results: Results, by: str) -> Comparison:
        """Compare the accuracy of one classifier; its k or C is the best for the baseline."""
        published = Published.read(f"rlpi-2007-4-{by}")
        here: dict[tuple[str, str], Value] = {}
        notes = []
        for row in SHARES:
            setting = self._best(results, row, by)
            if setting:
                notes.append(f"{row.split()[0]}: {setting}")
            for label in self.columns:
                own = [each[by]["accuracy"] for each in self._of(results, row, label)]
                found = [each[setting] for each in own if setting in each]
                if found:
                    here[row, label] = averaged(found)
        name = {"knn": "k", "svm": "C"}.get(by)
        said = (f"{name}, the best for the Baseline: {', '.join(notes)}.",) if name else ()
        title = f"{_TITLES[by]}, accuracy in %: paper / measured / difference"
        shape = (published.corner, tuple(SHARES), tuple(self.columns))
        return Comparison(f"rlpi-2007-4-{by}", title, *shape, published.cells, here, 1, said)

    def times(self, results: Results, by: str) -> Table:
        """Compare the times of training and testing with those of the paper."""
        published = _printed_times(by)
        rows: list[dict[str, Cell]] = []
        for row in SHARES:
            cells: dict[str, Cell] = {"train": row}
            for label in self.columns:
                own = [each[by] for each in self._of(results, row, label)]
                if own:
                    here = [fmean(each[what] for each in own) for what in ("train_s", "test_s")]
                    paper = published[row, _column(published, label)]
                    cells[label] = f"{paper} / {here[0]:.3g} , {here[1]:.3g}"
            rows.append(cells)
        title = f"{_TITLES[by]}, seconds of training, testing: paper / measured"
        return Table(f"rlpi-2007-4-{by}-times", title, tuple(rows))

    def fit_seconds(self, results: Results) -> dict[tuple[str, str], Value]:
        """Return the times of dimension reduction."""
        return {
            (row, label): averaged([each["fit_s"] for each in own])
            for row in SHARES
            for label in self.columns
            if label != BASELINE and (own := self._of(results, row, label))
        }

    def figure(self, comparison: Comparison) -> Figure:
        """Draw accuracy by the share of training documents."""
        lines = []
        for label in self.columns:
            rows = [row for row in SHARES if (row, label) in comparison.here and SHARES[row]]
            y = tuple(round(comparison.here[row, label].mean, 2) for row in rows)
            lines.append(Series(label, tuple(100 * SHARES[row] for row in rows), y))
        by = comparison.title.partition(",")[0]
        title = f"Categories of 20 Newsgroups: {by[0].lower() + by[1:]}"
        return Figure(comparison.name, title, "training documents in %", "accuracy in %",
                      tuple(lines))  # fmt: skip

    def _parts(self, row: str, label: str) -> list[Part]:
        if label == "LPI" and row not in LPI_SHARES:
            return []
        method, share = self.columns[label], SHARES[row]
        return [
            Part("categories", self.data, method, (draw,), (share,))
            for draw in range(self.splits if share else 1)
        ]

    def _of(self, results: Results, row: str, label: str) -> list[dict[str, Any]]:
        found = [results.get(part, {}) for part in self._parts(row, label)]
        return [each for each in found if "fit_s" in each]

    def _best(self, results: Results, row: str, by: str) -> str:
        own = [each[by]["accuracy"] for each in self._of(results, row, BASELINE)]
        if not own:  # not measured yet
            return ""
        settings: dict[str, float] = own[0]
        return max(settings, key=lambda setting: fmean(each[setting] for each in own))


def _printed_times(by: str) -> dict[tuple[str, str], str]:
    from benchmarks.papers.published import FOLDER

    text = (FOLDER / f"rlpi-2007-4-{by}-times.tsv").read_text(encoding="utf-8")
    head, *lines = [line.split("\t") for line in text.splitlines()]
    return {
        (line[0], column): cell
        for line in lines
        for column, cell in zip(head[1:], line[1:], strict=True)
    }


def _column(published: Mapping[tuple[str, str], str], label: str) -> str:
    """Find the column that several methods share."""
    return next(column for _, column in published if label in column.split("/"))
