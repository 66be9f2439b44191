"""Tables that follow what the papers leave open: k-means on terms, and LSI, on TDT2."""

from __future__ import annotations

from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.papers.methods import Method
from benchmarks.papers.protocol import Part, drawn
from benchmarks.papers.published import AVERAGE, Published
from benchmarks.papers.readings import COSINE, PARTITION, SINGLE, UNIT
from benchmarks.papers.tables import Findings
from lpisearch.model.reports import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from benchmarks.papers.protocol import Results
    from lpisearch.model.reports import Cell

DATA = "tdt2"
CLASSES = tuple(range(2, 11))
EUCLIDEAN = "euclidean"
MEASURES = ("AC", "NMI")
PAPERS = {"rlpi-2007": "rlpi-2007-2", "spg-2008": "spg-2008-3"}
# The papers' own number of draws, and so many that our mean is known to half a point.
PAPER_DRAWS, MANY_DRAWS = 50, 200
DRAWS = {"short": 2, "full": PAPER_DRAWS}
LSI_HERE = "c dimensions"
# Of which the best is taken, where labels choose.
LSI_DIMS = (2, 3, 4, 5, 6, 8, 10, 14, 20)


class Reading(NamedTuple):
    """A way to read the text: what is measured, and which of it counts."""

    options: tuple[Any, ...]  # of `readings.measure_starts`
    starts: int  # how many of the starts are looked at
    by: str = "objective"  # what the best start has most of; "" is the mean over all


_HERE = (UNIT, "k-means++", EUCLIDEAN, 20)
_RANDOM = (UNIT, "random", EUCLIDEAN, 20)
AS_HERE = "as here: tf, k-means++, 10 starts"
READINGS = {
    AS_HERE: Reading(_HERE, 10),
    "1 start": Reading(_HERE, 1),
    "20 starts": Reading(_HERE, 20),
    "the mean of 10 starts": Reading(_HERE, 10, ""),
    "the best of 10 by the labels": Reading(_HERE, 10, "AC"),
    "random documents as centres, 10 starts": Reading(_RANDOM, 10),
    "random documents, 1 start": Reading(_RANDOM, 1),
    "random documents, the best of 10 by the labels": Reading(_RANDOM, 10, "AC"),
    "a random partition, 10 starts": Reading((UNIT, PARTITION, EUCLIDEAN, 10), 10),
    "random documents, 10 starts, then single documents moved": Reading(
        (UNIT, "random", SINGLE, 10), 10
    ),
    "cosines, centres at unit length, 10 starts": Reading((UNIT, "random", COSINE, 10), 10),
    "tf-idf": Reading(("tfidf", "k-means++", EUCLIDEAN, 10), 10),
}
TERMS = Method.of("terms")


def baseline_parts(form: str) -> list[Part]:
    """Return k-means on terms: many draws as they are measured here, and each reading."""
    many = [Part("clusters", DATA, TERMS, subset) for _, subset in _subsets(_many(form))]
    options = dict.fromkeys(reading.options for reading in READINGS.values())
    return many + [
        Part("starts", DATA, TERMS, subset, own)
        for own in options
        for _, subset in _subsets(DRAWS[form])
    ]


def baseline_found(form: str, results: Results) -> Findings:
    """Compare the mean of many draws, and each reading, with the paper's average."""
    extent = (
        f"{_many(form)} draws of each of 2 to 10 classes for the mean, of which the first "
        f"{PAPER_DRAWS} are those of table 2; {DRAWS[form]} for what the text leaves open."
    )
    return Findings(extent, (), (_means(form, results), _readings_of_baseline(form, results)))


def lsi_parts(form: str) -> list[Part]:
    """Return every reading of LSI."""
    method = Method.of("lsi")
    return [
        Part("lsi-readings", DATA, method, subset, LSI_DIMS) for _, subset in _subsets(DRAWS[form])
    ]


def lsi_found(form: str, results: Results) -> Findings:
    """Compare each reading of LSI with the averages of both papers."""
    found: dict[str, dict[tuple[int, Any], dict[str, float]]] = {}
    for (number, subset), part in zip(_subsets(DRAWS[form]), lsi_parts(form), strict=True):
        for name, agreed in results.get(part, {}).get("readings", {}).items():
            found.setdefault(name, {})[number, subset] = agreed
    printed = {paper: _printed(table, "LSI") for paper, table in PAPERS.items()}
    title = "LSI on TDT2, mean over 2 to 10 classes, %, by what “LSI” is taken for"
    rows = tuple(
        _row(name, own, printed, found[LSI_HERE] if name != LSI_HERE else {})
        for name, own in found.items()
    )
    note = "“More than here” is over the same draws, with the standard error of that."
    table = Table("spg-2008-lsi", title, rows, (note,))
    return Findings(f"{DRAWS[form]} draws of classes.", (), (table,))


def _many(form: str) -> int:
    return MANY_DRAWS if form == "full" else PAPER_DRAWS


def _subsets(draws: int) -> list[tuple[int, tuple[str, ...]]]:
    return [(number, subset) for number in CLASSES for subset in _sets(number, draws)]


def _sets(number: int, draws: int) -> list[tuple[str, ...]]:
    """Draw sets of classes, first those of the tables: of few classes more draws are others."""
    first = drawn(DATA, number, PAPER_DRAWS)
    return list(dict.fromkeys([*first, *drawn(DATA, number, max(draws, PAPER_DRAWS))]))[:draws]


def _printed(table: str, column: str) -> dict[str, float]:
    return {
        what: Published.read(f"{table}-{what}").cells[AVERAGE, column].mean
        if (AVERAGE, column) in Published.read(f"{table}-{what}").cells
        else fmean(
            Published.read(f"{table}-{what}").cells[str(number), column].mean for number in CLASSES
        )
        for what in MEASURES
    }


def _readings_of_baseline(form: str, results: Results) -> Table:
    found = {name: _of_reading(reading, form, results) for name, reading in READINGS.items()}
    printed = {"paper": _printed(PAPERS["rlpi-2007"], "Baseline")}
    rows = tuple(
        _row(name, own, printed, found[AS_HERE] if name != AS_HERE else {})
        for name, own in found.items()
        if own
    )
    title = "K-means on the terms of TDT2, mean over 2 to 10 classes, %, by reading"
    note = (
        "“More than here” is over the draws that both have, with the standard error of that; the "
        "best of several starts is the one with the best objective, unless it says otherwise."
    )
    return Table("rlpi-2007-baseline-readings", title, rows, (note,))


def _of_reading(
    reading: Reading, form: str, results: Results
) -> dict[tuple[int, Any], dict[str, float]]:
    found = {}
    for number, subset in _subsets(DRAWS[form]):
        own = results.get(Part("starts", DATA, TERMS, subset, reading.options))
        if own is not None and "AC" in own:
            found[number, subset] = {what: _chosen(own, what, reading) for what in MEASURES}
    return found


def _chosen(own: Mapping[str, Sequence[float]], what: str, reading: Reading) -> float:
    values = own[what][: reading.starts]
    if not reading.by:
        return fmean(values)
    judged = own[reading.by][: reading.starts]
    at = judged.index(min(judged) if reading.by == "objective" else max(judged))
    return values[at]


def _row(
    name: str,
    own: Mapping[tuple[int, Any], Mapping[str, float]],
    printed: Mapping[str, Mapping[str, float]],
    here: Mapping[tuple[int, Any], Mapping[str, float]],
) -> dict[str, Cell]:
    row: dict[str, Cell] = {"reading": name}
    for what in MEASURES:
        mean, _ = _averaged((key[0], agreed[what]) for key, agreed in own.items())
        row[what] = f"{mean:.1f}"
        for paper, values in printed.items():
            row[f"{what} − {paper}"] = f"{mean - values[what]:+.1f}".replace("-", "−")
    for what in MEASURES if here else ():
        both = ((key[0], own[key][what] - here[key][what]) for key in own if key in here)
        more, error = _averaged(both)
        row[f"{what}, more than here"] = f"{more:+.1f} ± {error:.1f}".replace("-", "−")
    counts = [sum(key[0] == number for key in own) for number in CLASSES]
    return row | {"draws": min(counts)}


def _averaged(values: Iterable[tuple[int, float]]) -> tuple[float, float]:
    """Return the mean over numbers of classes, each a mean over draws, and its standard error."""
    by_number: dict[int, list[float]] = {}
    for number, value in values:
        by_number.setdefault(number, []).append(value)
    if not by_number:
        return 0.0, 0.0
    squares = [stdev(own) ** 2 / len(own) if len(own) > 1 else 0.0 for own in by_number.values()]
    return fmean(map(fmean, by_number.values())), sum(squares) ** 0.5 / len(by_number)


def _means(form: str, results: Results) -> Table:
    """Say how far our mean is from the paper's, and what the sizes of the draws explain of it."""
    ways: dict[str, tuple[int, Callable[..., tuple[float, float, float]]]] = {
        "of the draws of table 2": (PAPER_DRAWS, _plain),
        "all draws": (_many(form), _plain),
        "all draws, at the paper's numbers of documents": (_many(form), _at_paper_sizes),
    }
    rows: list[dict[str, Cell]] = []
    for name, (draws, way) in ways.items():
        for what in MEASURES:
            found, fewest = _of_numbers(results, draws, what, way)
            if not found:
                continue
            printed = _printed(PAPERS["rlpi-2007"], "Baseline")[what]
            mean = fmean(each[0] for each in found)
            ours, theirs = (
                sum(each[at] ** 2 for each in found) ** 0.5 / len(found) for at in (1, 2)
            )
            error = (ours**2 + theirs**2) ** 0.5
            rows.append(
                {
                    "": name,
                    "measure": what,
                    "paper": round(printed, 1),
                    "measured": round(mean, 1),
                    "error": round(ours, 1),
                    "measured − paper": round(mean - printed, 1),
                    "error of that": round(error, 1),
                    "in such errors": round((mean - printed) / error, 1) if error else None,
                    "draws": fewest,
                }
            )
    note = (
        "The paper's own average is taken to have the error that its 50 draws give it. Numbers of "
        "documents are those of table 2 of spg-2008, which has the same values of k-means on terms "
        "and of NMF in every row, and so the same draws: accuracy is regressed on the number of "
        "documents of a draw."
    )
    title = "K-means on the terms of TDT2: more draws"
    return Table("rlpi-2007-baseline-draws", title, tuple(rows), (note,))


def _of_numbers(
    results: Results, draws: int, what: str, way: Callable[..., tuple[float, float, float]]
) -> tuple[list[tuple[float, float, float]], int]:
    """Return mean, its error and that of the paper's 50 draws for each number of classes."""
    found, counts = [], []
    for number in CLASSES:
        parts = [Part("clusters", DATA, TERMS, subset) for subset in _sets(number, draws)]
        own = [results[part] for part in parts if what in results.get(part, {})]
        if len(own) > 2:
            found.append(way(number, [each[what] for each in own],
                             [each["documents"] for each in own]))  # fmt: skip
            counts.append(len(own))
    return (found, min(counts)) if len(found) == len(CLASSES) else ([], 0)


def _plain(_number: int, values: list[float], _sizes: list[int]) -> tuple[float, float, float]:
    spread = stdev(values)
    return fmean(values), spread / len(values) ** 0.5, spread / PAPER_DRAWS**0.5


def _at_paper_sizes(
    number: int, values: list[float], sizes: list[int]
) -> tuple[float, float, float]:
    """Regress on the number of documents, and read the line at the paper's mean."""
    paper = Published.read("spg-2008-2").cells[str(number), "TDT2 documents"].mean
    x = np.array(sizes) - paper
    lines = np.column_stack([np.ones(len(x)), x])
    coefficients, *_ = np.linalg.lstsq(lines, np.array(values), rcond=None)
    left = np.array(values) - lines @ coefficients
    variance = float(left @ left) / (len(values) - 2)
    error = (variance * float(np.linalg.inv(lines.T @ lines)[0, 0])) ** 0.5
    return float(coefficients[0]), error, (variance / PAPER_DRAWS) ** 0.5
