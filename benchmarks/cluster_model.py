"""A cost model of a build on a cluster: memory, network, time and money up to a billion.

`python -m benchmarks.cluster_model --measure` builds small libraries with `--workers 2` and keeps
what was measured in `benchmarks/cluster_cases.json`. `python -m benchmarks.cluster_model` takes the
constants of the formulas from three of those cases, compares what the formulas say of the others
with what was measured, and prints what they say of 10 million, 100 million and a billion documents
(`--write docs/clusters.md` puts it there). Sizes of data follow from the code; seconds are fitted.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.cluster import build, make_library, write_between
from lpisearch.index.calibration import RIVALS
from lpisearch.index.partitions import MOST_TERMS
from lpisearch.index.plan import _BYTES_A_CALIBRATED_WORD, _BYTES_A_DOCUMENT, _BYTES_A_TERM
from lpisearch.index.postings import STRONGEST
from lpisearch.index.projection import DRAWN_A_LEADER, MOST_LEADERS
from lpisearch.numeric.row_blocks import BLOCK_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CASES = Path(__file__).with_name("cluster_cases.json")
_MEASURED = (4000, 12_000, 20_000, 40_000, 80_000, 200_000)
_FITTED = (4000, 20_000, 80_000)
_ROUNDS = 2
_MEASURED_WORKERS = 2
_LARGE = (10_000_000, 100_000_000, 1_000_000_000)
_BEGIN, _END = (
    "<!-- cluster model: written by benchmarks/cluster_model.py -->",
    "<!-- end of model -->",
)
_DIMS = 300
_MAP = ("finding neighbours", "projecting", "calibrating")


@dataclass(frozen=True)
class Case:
    """A library, and what its build took."""

    # documents, words, entries, terms, columns: of the library: `entries` are pairs of a document
    # and a term in it, `columns` the terms of the subspace
    documents: int
    words: int
    entries: int
    terms: int
    columns: int
    learned_from: int  # documents
    worker_seconds: dict[str, float]  # worker_seconds, driver_seconds: of the processor, by step
    driver_seconds: dict[str, float]
    received: dict[str, float]  # received, shared: bytes by step
    shared: dict[str, float]
    peak_mb: float = 0.0  # of the driver

    @property
    def parts(self) -> int:
        """Blocks of documents."""
        return -(-self.documents // BLOCK_ROWS)

    @property
    def of_rivals(self) -> float:
        """The entries of the documents that calibration ranks windows among."""
        return self.entries * min(1.0, RIVALS / self.documents)


def measure() -> None:
    """Build all cases in turn, some times; of each step the least stays: others only add to it."""
    with tempfile.TemporaryDirectory() as name:
        libraries = {}
        for documents in _MEASURED:
            folder = Path(name) / str(documents)
            folder.mkdir()
            libraries[documents] = make_library(folder, documents)
        found: dict[int, Case] = {}
        for _ in range(_ROUNDS):
            for documents, library in libraries.items():
                case = _case(library)
                found[documents] = _least(found.get(documents, case), case)
                print(found[documents], flush=True)
    CASES.write_text(json.dumps([asdict(case) for case in found.values()], indent=1) + "\n")


def _least(one: Case, other: Case) -> Case:
    def least(field: str) -> dict[str, float]:
        each = (getattr(one, field), getattr(other, field))
        return {name: min(each[0][name], each[1].get(name, each[0][name])) for name in each[0]}

    return replace(
        one,
        worker_seconds=least("worker_seconds"),
        driver_seconds=least("driver_seconds"),
        peak_mb=min(one.peak_mb, other.peak_mb),
    )


def _case(library: Path) -> Case:
    report = build(library, workers=_MEASURED_WORKERS).report
    folder, wire = Path(report["folder"]), report["wire"]
    lengths, counts, lexicon = (
        np.load(folder / f"{name}.npy", mmap_mode="r")
        for name in ("document_lengths", "posting_counts", "lexicon_columns")
    )
    workers = {name: each["processor_seconds"] for name, each in wire.items()}
    every = report["processor_seconds"]
    return Case(
        documents=report["documents"],
        words=int(lengths.sum(dtype=np.int64)),
        entries=len(counts),
        terms=len(lexicon),
        columns=report["terms"],
        learned_from=report["learned_from"],
        worker_seconds=workers,
        driver_seconds={name: each - workers.get(name, 0.0) for name, each in every.items()},
        received={name: each["received"] for name, each in wire.items()},
        shared={name: each["shared"] for name, each in wire.items()},
        peak_mb=report["peak_mb"],
    )


# What each step costs: constants times what it handles.

_WORK: dict[str, Callable[[Case], Sequence[float]]] = {
    # The second number: who works for the first time has libraries to load.
    "counting terms": lambda case: (case.words, min(case.parts, _MEASURED_WORKERS)),
    "writing postings": lambda case: (case.entries, min(case.parts, _MEASURED_WORKERS)),
    "weighting": lambda case: (case.entries, 1),
    "embedding documents": lambda case: (case.entries * _DIMS, min(case.parts, _MEASURED_WORKERS)),
}
_DRIVES: dict[str, Callable[[Case], Sequence[float]]] = {
    "counting terms": lambda case: (case.documents, 1),
    # The words are sorted.
    "writing postings": lambda case: (case.terms, 1),
    "finding neighbours": lambda case: (case.learned_from, case.learned_from**2),
    "projecting": lambda case: (case.learned_from, 1),
    # Windows are ranked among so many documents at most; these are looked for in all postings.
    "calibrating": lambda case: (case.of_rivals, case.entries, 1),
    "embedding documents": lambda case: (case.documents, 1),
    "writing": lambda case: (case.documents, 1),
}


# What the driver holds: the program; what is learned from; keys, hashes, lengths and the words
# that calibration weighs; terms with their names and numbers (planning.py has the bytes of each).
def _held(case: Case) -> tuple[float, float]:
    of_sample = 2 * (case.learned_from + case.columns) * _DIMS * 4 + case.learned_from * 50 * 65
    of_all = case.documents * _BYTES_A_DOCUMENT + min(case.terms, MOST_TERMS) * _BYTES_A_TERM
    calibrated = case.of_rivals / case.entries * case.words * _BYTES_A_CALIBRATED_WORD
    return 210.0, (of_sample + of_all + calibrated) / 1e6


@dataclass(frozen=True)
class Model:
    """Constants of all formulas."""

    # workers, driver: seconds by step, for what `_WORK` and `_DRIVES` name
    workers: dict[str, np.ndarray[Any, Any]]
    driver: dict[str, np.ndarray[Any, Any]]
    memory: np.ndarray[Any, Any]  # megabytes of the driver, for what `_held` names

    @classmethod
    def fitted(cls, cases: Sequence[Case]) -> Model:
        """Take the constants from cases."""
        workers = {name: _fit(cases, name, of, "worker_seconds") for name, of in _WORK.items()}
        driver = {name: _fit(cases, name, of, "driver_seconds") for name, of in _DRIVES.items()}
        memory = _fitted([_held(case) for case in cases], [case.peak_mb for case in cases])
        return cls(workers, driver, memory)

    def worker_seconds(self, case: Case) -> float:
        """Return the processor seconds of all workers together."""
        return float(sum(np.dot(_WORK[name](case), each) for name, each in self.workers.items()))

    def driver_seconds(self, case: Case) -> float:
        """Return the processor seconds of the driver."""
        return float(sum(np.dot(_DRIVES[name](case), each) for name, each in self.driver.items()))

    def driver_megabytes(self, case: Case) -> float:
        """Return the most memory of the driver."""
        return float(np.asarray(_held(case)) @ self.memory)


def received(case: Case) -> dict[str, float]:
    """Return the bytes of results, by step: they follow from what the code sends."""
    drawn = DRAWN_A_LEADER * MOST_LEADERS
    drawn = drawn if case.documents > drawn else 0  # of fewer, the driver reads all itself
    return {
        # Key, content hash, length.
        "counting terms": case.documents * (8 + 16 + 4),
        # The rows of the sample, as numbers of terms and weights.
        "finding neighbours": drawn * case.entries / case.documents * 8,
    }


def shared(case: Case) -> float:
    """Return the bytes of arrays that every worker needs: numbers, weights, flags of terms."""
    return case.terms * (4 + 1 + 4 + 1 + 1) + case.columns * 8


def heaps(case: Case, documents: float) -> float:
    """Return how many terms so many documents have, where these have so many."""
    return float(case.terms * (documents / case.documents) ** _heaps_exponent())


def _heaps_exponent() -> float:
    cases = read_cases()
    first, last = cases[0], cases[-1]
    return math.log(last.terms / first.terms) / math.log(last.documents / first.documents)


def _fit(
    cases: Sequence[Case], step: str, of: Callable[[Case], Sequence[float]], field: str
) -> np.ndarray[Any, Any]:
    measured = [getattr(case, field).get(step, 0.0) for case in cases]
    return _fitted([of(case) for case in cases], measured)


def _fitted(sizes: Sequence[Sequence[float]], measured: Sequence[float]) -> np.ndarray[Any, Any]:
    """Return the constants, none below zero, that come nearest to what was measured."""
    from scipy.optimize import nnls

    A, b = np.array(sizes, float), np.array(measured, float)
    weights = 1 / np.maximum(b, 1e-3)  # a share of each counts alike
    scale = np.abs(A).max(axis=0)
    return np.asarray(nnls(A / scale * weights[:, np.newaxis], b * weights)[0] / scale)


def read_cases() -> list[Case]:
    """Return what was measured, the smallest first."""
    return [Case(**each) for each in json.loads(CASES.read_text(encoding="utf-8"))]


def grown(largest: Case, documents: int) -> Case:
    """Return a library of more documents, as those are that were measured."""
    share = documents / largest.documents
    return replace(
        largest,
        documents=documents,
        words=int(largest.words * share),
        entries=int(largest.entries * share),
        terms=int(heaps(largest, documents)),
        columns=100_000,
        learned_from=min(documents, MOST_LEADERS),
    )


def compared(cases: Sequence[Case], model: Model) -> tuple[list[str], float]:
    """Compare what the formulas say with what was measured; return also the largest difference."""
    lines = ["| documents | | formula | measured | ratio |", "| ---: | :--- | ---: | ---: | ---: |"]
    worst = 0.0
    for case in cases:
        of_workers, of_driver = sum(case.worker_seconds.values()), sum(case.driver_seconds.values())
        rows = [
            ("workers, CPU s", model.worker_seconds(case), of_workers),
            ("driver, CPU s", model.driver_seconds(case), of_driver),
            ("driver, MB", model.driver_megabytes(case), case.peak_mb),
            ("results, MB", sum(received(case).values()) / 1e6, _sum(case.received) / 1e6),
        ]
        fitted = case.documents in _FITTED
        for title, said, measured in rows:
            ratio = said / measured
            is_checked = not fitted or title.startswith("results")
            worst = max(worst, abs(ratio - 1)) if is_checked else worst
            mark = "" if is_checked else " (fitted)"
            numbers = f"{said:,.2f} | {measured:,.2f} | {ratio:.2f}"
            lines.append(f"| {case.documents:,} | {title}{mark} | {numbers} |")
    return lines, worst


def _sum(by_step: dict[str, float]) -> float:
    return sum(by_step.values())


def predicted(model: Model, largest: Case, options: argparse.Namespace) -> list[str]:
    """Return a table of what large libraries take."""
    columns = [grown(largest, documents) for documents in _LARGE]
    lines = ["| | " + " | ".join(f"{case.documents:,}" for case in columns) + " |"]
    lines.append("| :--- |" + " ---: |" * len(columns))
    rate = options.gigabits * 1e9 / 8
    rows: list[tuple[str, Callable[[Case], str]]] = [
        ("words", lambda case: f"{case.words / 1e9:,.1f} G"),
        ("entries", lambda case: f"{case.entries / 1e9:,.1f} G"),
        ("vocabulary", lambda case: f"{case.terms / 1e6:,.1f} M"),
        ("– of which used", lambda case: f"{min(case.terms, MOST_TERMS) / 1e6:,.1f} M"),
        ("files of the build, GB", lambda case: f"{_files(case):,.0f}"),
        ("workers, hours of one core", lambda case: f"{model.worker_seconds(case) / 3600:,.1f}"),
        ("driver, hours of one core", lambda case: f"{model.driver_seconds(case) / 3600:,.2f}"),
        ("driver, GB of memory", lambda case: f"{model.driver_megabytes(case) / 1e3:,.1f}"),
        ("a worker, GB of memory", lambda case: f"{_worker_gigabytes(case):,.1f}"),
        ("results to the driver, GB", lambda case: f"{sum(received(case).values()) / 1e9:,.1f}"),
        ("shared arrays, MB a worker", lambda case: f"{shared(case) / 1e6:,.0f}"),
        ("wall time, hours", lambda case: f"{_hours(model, case, options.workers, rate):,.2f}"),
        ("– of which the driver", lambda case: f"{model.driver_seconds(case) / 3600:,.2f}"),
        ("cost", lambda case: f"{_cost(model, case, options):,.1f}"),
    ]
    return lines + [f"| {title} | " + " | ".join(map(say, columns)) + " |" for title, say in rows]


def _files(case: Case) -> float:
    """Return gigabytes of counts (8 bytes an entry), postings (6), places (4 and 2 a number)."""
    return (case.entries * (8 + 6) + case.documents * (_DIMS * 6 + 64 + 6 * STRONGEST)) / 1e9


def _worker_gigabytes(case: Case) -> float:
    """Return what joining vocabularies takes, or a block with the map, and the program itself."""
    joining = min(case.terms, MOST_TERMS) * 300
    block = BLOCK_ROWS * (case.words / case.documents * 70 + _DIMS * 12) + case.columns * _DIMS * 4
    return 0.2 + max(joining, block) / 1e9


def _hours(model: Model, case: Case, workers: int, rate: float) -> float:
    moved = 2 * sum(received(case).values()) / rate  # by the scheduler
    seconds = model.driver_seconds(case) + model.worker_seconds(case) / workers + moved
    return seconds / 3600


def _cost(model: Model, case: Case, options: argparse.Namespace) -> float:
    rate = options.gigabits * 1e9 / 8
    hours = _hours(model, case, options.workers, rate)
    return float(hours * (options.workers + 1) * options.price)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--workers", type=int, default=64, help="cores that work")
    parser.add_argument(
        "--gigabits", type=float, default=10.0, help="of the driver's network, a second"
    )
    parser.add_argument(
        "--price", type=float, default=0.05, help="of a core with its memory, an hour"
    )
    parser.add_argument("--write", type=Path, help="a page whose marked part is written anew")
    options = parser.parse_args()
    if options.measure:
        measure()
    cases = read_cases()
    model = Model.fitted([case for case in cases if case.documents in _FITTED])
    lines, worst = compared(cases, model)
    said = f"Largest difference of a value that was not fitted: {worst:.0%}."
    given = (
        f"{options.workers} worker cores and one for the driver, {options.gigabits:g} Gbit/s, "
        f"{options.price:g} for an hour of a core, {_DIMS} dimensions:"
    )
    text = "\n".join([*lines, "", said, "", given, "", *predicted(model, cases[-1], options)])
    print(text)
    if options.write:
        write_between(options.write, text, _BEGIN, _END)


if __name__ == "__main__":
    main()
