"""Tables of clusters: methods as columns, numbers of classes as rows, means over draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks.papers.comparison import Comparison, averaged, with_average
from benchmarks.papers.protocol import Part, drawn
from benchmarks.papers.published import AVERAGE, Published, Value
from lpisearch.model.reports import Figure, Series

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.papers.methods import Method
    from benchmarks.papers.protocol import Results

WHOLE = 30


@dataclass(frozen=True, slots=True)
class Clustering:
    """One table of a paper."""

    data: str  # of `datasets.DATASETS`
    classes: tuple[int, ...]  # numbers of classes that are drawn; 30 is the whole collection
    draws: int  # of each number
    # the methods by the names that the paper gives them. Of several the one with the best mean
    # accuracy is taken for each number of classes, where a paper tunes its parameter so.
    columns: Mapping[str, tuple[Method, ...]]
    # columns and numbers of classes that the paper could not measure either
    left_out: tuple[tuple[str, int], ...] = ()
    # of the columns that take more, or fewer, draws than the others
    own_draws: Mapping[str, int] = field(default_factory=dict)
    # columns that are compared with another column of the paper
    same_as: Mapping[str, str] = field(default_factory=dict)

    def parts(self) -> list[Part]:
        """Return all that is to be measured."""
        return [
            part
            for number in self.classes
            for label in self.columns
            if (label, number) not in self.left_out
            for method in self.settings(number, label)
            for part in self._parts(number, label, method)
        ]

    def settings(self, number: int, label: str) -> tuple[Method, ...]:
        """Return the settings that are tried of a column."""
        del number  # here they are the same for all
        return self.columns[label]

    def values(self, results: Results, what: str) -> dict[tuple[str, str], Value]:
        """Return the mean of one figure by number of classes and column."""
        found = {}
        for number in self.classes:
            for label in self.columns:
                own = [each[what] for each in self.chosen(results, number, label) if what in each]
                if own:
                    found[str(number), label] = averaged(own)
        return found

    def chosen(self, results: Results, number: int, label: str) -> list[dict[str, Any]]:
        """Return the measurements of a column: of several settings those of the best."""
        return self._of(results, number, label, self.best(results, number, label))

    def best(self, results: Results, number: int, label: str) -> Method:
        """Return the setting that has the best mean accuracy, of those with most draws.

        A run that was cut short leaves some with one draw less: what all of these have counts.
        """
        settings = self.settings(number, label)
        made = {each: self._made(results, number, label, each) for each in settings}
        most = max(made.values())
        known = {
            each: own
            for each in settings
            if made[each] >= most - 1 and (own := self._accuracies(results, number, label, each))
        }
        if not known:
            return settings[0]
        shared = set.intersection(*map(set, known.values()))

        def mean(method: Method) -> float:
            return fmean(known[method][draw] for draw in shared or known[method])

        return max(known, key=mean)

    def by_draw(self, results: Results, number: int, label: str) -> dict[tuple[Any, ...], float]:
        """Return the accuracy of a column in each draw."""
        return self._accuracies(results, number, label, self.best(results, number, label))

    def compared(self, results: Results, published: Published, what: str, name: str) -> Comparison:
        """Compare the values of the paper with those measured here."""
        rows = [str(number) for number in self.classes]
        drawn_rows = [row for row in rows if row != str(WHOLE)]
        paper = {
            (row, label): published.cells[row, self.same_as.get(label, label)]
            for row in (*rows, AVERAGE)
            for label in self.columns
            if (row, self.same_as.get(label, label)) in published.cells
        }
        paper, here = with_average(drawn_rows, paper, self.values(results, what))
        title = f"{what}, %: paper / measured / difference"
        shown = (*drawn_rows, AVERAGE, *(row for row in rows if row == str(WHOLE)))
        notes = tuple(self.notes(results)) if what == "AC" else ()
        columns = tuple(self.columns)
        return Comparison(name, title, published.corner, shown, columns, paper, here, 1, notes)

    def notes(self, results: Results) -> list[str]:
        """Say which settings were the best, and what could not be measured."""
        notes = []
        for label, draws in self.own_draws.items():
            if draws != self.draws:
                notes.append(f"{label}: {draws} draws, the other columns {self.draws}.")
        for label, methods in self.columns.items():
            if not methods[0].is_known:
                notes.append(f"{label}: the method is missing here.")
            elif len(methods) > 1 and any(self._all(results, label)):
                said = self._best(results, label)
                notes.append(f"{label}, best setting by number of classes: {said}.")
                notes += self._few(results, label)
            failed = [each["error"] for each in self._all(results, label) if "error" in each]
            if failed:
                notes.append(f"{label}: {len(failed)} measurements were impossible ({failed[0]})")
            stopped = sum("not_converged" in each for each in self._all(results, label))
            if stopped:
                notes.append(f"{label}: {stopped} fits ended at their limit of steps.")
        return notes

    def figure(self, table: Comparison, title: str, own: str) -> Figure:
        """Draw what was measured, and the paper's values of its own method."""
        lines = [self._line(table.here, label, label) for label in self.columns]
        lines.append(self._line(table.paper, own, f"{own} (paper)"))
        measure = table.title.partition(":")[0]
        shown = tuple(line for line in lines if line is not None)
        return Figure(table.name, title, "classes", measure, shown)

    def _line(
        self, values: Mapping[tuple[str, str], Value], label: str, said: str
    ) -> Series | None:
        numbers = [n for n in self.classes if n != WHOLE and (str(n), label) in values]
        if not numbers:
            return None
        y = tuple(round(values[str(number), label].mean, 2) for number in numbers)
        return Series(said, tuple(map(float, numbers)), y)

    def _parts(self, number: int, label: str, method: Method) -> list[Part]:
        sets = drawn(self.data, number, self.own_draws.get(label, self.draws))
        return [Part("clusters", self.data, method, subset) for subset in sets]

    def _accuracies(
        self, results: Results, number: int, label: str, method: Method
    ) -> dict[tuple[Any, ...], float]:
        parts = self._parts(number, label, method)
        known = ((part.subset, results.get(part, {})) for part in parts)
        return {subset: found["AC"] for subset, found in known if "AC" in found}

    def _made(self, results: Results, number: int, label: str, method: Method) -> int:
        return sum(part in results for part in self._parts(number, label, method))

    def _few(self, results: Results, label: str) -> list[str]:
        """Say that some settings were measured in hardly any draws, so that others were chosen."""
        made = {
            method: sum(self._made(results, number, label, method) for number in self.classes)
            for method in self.columns[label]
        }
        many = [method for method in made if 2 * made[method] >= max(made.values())]
        if len(many) == len(made):
            return []
        said = ", ".join(self._setting(label, method) for method in many)
        return [f"{label}: of {len(made)} settings, those measured so far are {said}."]

    def _setting(self, label: str, method: Method) -> str:
        """Say what tells a setting from the others of a column."""
        return " ".join(
            str(value)
            for name, value in method.arguments
            if len({dict(each.arguments)[name] for each in self.columns[label]}) > 1
        )

    def _of(
        self, results: Results, number: int, label: str, method: Method
    ) -> list[dict[str, Any]]:
        found = [results.get(part, {}) for part in self._parts(number, label, method)]
        return [each for each in found if "AC" in each]

    def _all(self, results: Results, label: str) -> list[dict[str, Any]]:
        numbers = self.classes
        parts = (
            p for n in numbers for m in self.settings(n, label) for p in self._parts(n, label, m)
        )
        return [results[part] for part in parts if part in results]

    def _best(self, results: Results, label: str) -> str:
        return ", ".join(
            f"{number}: {self._setting(label, self.best(results, number, label))}"
            for number in self.classes
        )
