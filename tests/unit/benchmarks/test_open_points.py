"""What the papers leave open is measured by every reading, and compared with what they print."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from benchmarks.papers import datasets, grid, open_points, protocol
from benchmarks.papers.measures import measured
from benchmarks.papers.methods import Method
from benchmarks.papers.open_points import AS_HERE, READINGS, TERMS, baseline_found, lsi_found
from benchmarks.papers.protocol import Part
from benchmarks.papers.published import Published
from lpisearch.evaluation.collection import Collection

CLASSES, DOCUMENTS, WORDS = 12, 8, 6


@pytest.fixture
def easy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put classes with words of their own in the place of TDT2; fewer draws."""
    monkeypatch.setitem(datasets.DATASETS, "tdt2", _easy)
    monkeypatch.setattr(open_points, "DRAWS", {"short": 3})
    monkeypatch.setattr(open_points, "PAPER_DRAWS", 3)
    datasets.load.cache_clear()
    protocol.drawn.cache_clear()
    yield
    datasets.load.cache_clear()
    protocol.drawn.cache_clear()


def _easy() -> Collection:
    chance = np.random.default_rng(0)
    counts = np.zeros((CLASSES * DOCUMENTS, CLASSES * WORDS), np.float32)
    for row in range(len(counts)):
        start = row // DOCUMENTS * WORDS
        counts[row, start : start + WORDS] = chance.integers(1, 5, WORDS)
    return Collection(
        name="tdt2",
        counts=sparse.csr_array(counts),
        labels=tuple((f"{row // DOCUMENTS}",) for row in range(len(counts))),
        splits=("",) * len(counts),
        terms=(),
        keys=(),
        weighting="tf",
        limits=datasets.EVERY_TERM,
        fingerprint="easy",
    )


@pytest.mark.usefixtures("easy")
@pytest.mark.parametrize(
    "options", dict.fromkeys(reading.options for reading in READINGS.values()), ids=str
)
def test_every_way_to_cluster_finds_what_is_plain(options: tuple[str, str, str, int]) -> None:
    found = measured(Part("starts", "tdt2", TERMS, ("0", "7"), options))
    assert len(found["objective"]) == len(found["AC"]) == len(found["NMI"]) == options[-1]
    assert found["AC"][found["objective"].index(min(found["objective"]))] == 100
    assert (found["documents"], found["terms"]) == (2 * DOCUMENTS, 2 * WORDS)


@pytest.mark.usefixtures("easy")
def test_every_reading_of_lsi_has_an_accuracy() -> None:
    part = Part("lsi-readings", "tdt2", Method.of("lsi"), ("0", "3", "7"), (2, 3, 5))
    found = measured(part)["readings"]
    accuracies = {name: each["AC"] for name, each in found.items()}
    best = accuracies["the best of 2 … 5 dimensions, by the labels"]
    assert best == 100
    assert best >= accuracies["c dimensions"] >= accuracies["c − 1 dimensions"] > 30


@pytest.mark.usefixtures("easy")
def test_more_draws_begin_with_those_of_the_tables() -> None:
    for number in (2, 5):
        sets = open_points._sets(number, 30)
        assert len(set(sets)) == len(sets) == 30
        assert sets[:2] == open_points._sets(number, 2)
        assert sets[:3] == list(protocol.drawn("tdt2", number, 3))


@pytest.mark.usefixtures("easy")
def test_readings_are_set_beside_the_papers() -> None:
    """A row for each reading, with its difference from the paper and from what is done here."""
    parts = open_points.baseline_parts("short") + open_points.lsi_parts("short")
    results = {part: _measured(part, at) for at, part in enumerate(parts)}
    means, readings = baseline_found("short", results).tables
    here, *others = readings.rows
    assert here["reading"] == AS_HERE
    assert _number(here["AC − paper"]) == pytest.approx(_number(here["AC"]) - 79.9, abs=0.11)
    for row in others:
        more = _number(row["AC"]) - _number(here["AC"])
        assert _number(row["AC, more than here"]) == pytest.approx(more, abs=0.11)
    assert [row["draws"] for row in means.rows[:2]] == [3, 3]
    (lsi,) = lsi_found("short", results).tables
    (row,) = lsi.rows
    assert row["AC"] == "70.0"
    assert (row["AC − rlpi-2007"], row["AC − spg-2008"]) == ("−3.6", "−9.5")
    assert not baseline_found("short", {}).tables[0].rows


def _number(said: Any) -> float:
    """Read the first number of a cell."""
    return float(said.split()[0].replace("−", "-"))


def _measured(part: Part, at: int) -> dict[str, Any]:
    """Make up a measurement."""
    chance = np.random.default_rng(at)
    if part.measure == "lsi-readings":
        return {"readings": {"c dimensions": {"AC": 70.0, "NMI": 60.0}}}
    if part.measure == "clusters":
        return {"AC": 70 + at % 5, "NMI": 60.0, "documents": 500 + 7 * at}
    values = chance.uniform(50, 90, part.options[-1]).tolist()
    return {"objective": values[::-1], "AC": values, "NMI": values}


def test_accuracy_is_read_at_the_sizes_of_the_paper() -> None:
    paper = Published.read("spg-2008-2").cells["4", "TDT2 documents"].mean
    sizes = [200, 900, 1600, 2500]
    values = [95 - (size - paper) / 100 for size in sizes]
    value, error, theirs = open_points._at_paper_sizes(4, values, sizes)
    assert value == pytest.approx(95)
    assert max(error, theirs) < 1e-9


@pytest.mark.usefixtures("easy")
def test_the_grid_has_every_reading_of_every_method(monkeypatch: pytest.MonkeyPatch) -> None:
    methods = {"terms": Method.of("terms"), "LSI": Method.of("lsi"), "FSSL": Method.of("fsslpi")}
    monkeypatch.setattr(grid, "METHODS", methods)
    monkeypatch.setattr(grid, "CLASSES", (2, 3))
    monkeypatch.setattr(grid, "DRAWS", {"short": 2})
    results = {part: measured(part) for part in grid.grid_parts("short")}
    table = grid.grid_found("short", results).tables[0]
    assert len(table.rows) == 8
    by_reading = {(row["dimensions"], row["starts"], row["rows"]): row for row in table.rows}
    usual = by_reading["c", "k-means++", "as they are"]
    assert usual["terms"] == usual["LSI"] == "100.0"
    assert by_reading["c − 1", "k-means++", "as they are"]["terms"] is None
    # One draw is missing of one method: it counts for none.
    del results[grid.grid_parts("short")[0]]
    fewer = grid.grid_found("short", results).tables[0].rows[0]
    assert fewer["LSI"] == "100.0 (1)"
