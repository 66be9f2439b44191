from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

from benchmarks.papers import __main__ as program
from benchmarks.papers import datasets, measures, protocol, rlpi_2007
from benchmarks.papers.catalogue import PAPERS
from benchmarks.papers.clustering import Clustering
from benchmarks.papers.comparison import Comparison, averaged, with_average
from benchmarks.papers.curves import as_series, as_table, collected
from benchmarks.papers.draws import kept_draws, read_draws, write_draws
from benchmarks.papers.freshness import (
    changed,
    commit_of_code,
    commits,
    definitions,
    recomputed,
    stale,
)
from benchmarks.papers.measures import Measure
from benchmarks.papers.methods import Method
from benchmarks.papers.overview import overview
from benchmarks.papers.pages import write_overview, write_table
from benchmarks.papers.protocol import Extent
from benchmarks.papers.published import AVERAGE, FOLDER, Published, Value
from benchmarks.papers.tables import FORMS, Findings, Paper, PaperTable
from lpisearch.evaluation.cells import Cells
from lpisearch.evaluation.collection import Collection
from lpisearch.model.reports import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.papers.freshness import Code
    from benchmarks.papers.protocol import Part, Results

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "papers"
CLASSES, DOCUMENTS, WORDS = 5, 12, 8
PUBLISHED = Published(
    "c",
    ("2", "3", AVERAGE),
    ("Baseline", "RLPI"),
    {
        ("2", "Baseline"): Value(50.0),
        ("3", "Baseline"): Value(40.0),
        ("2", "RLPI"): Value(90.0, 1.5),
        (AVERAGE, "RLPI"): Value(80.0),
    },
)
EXPERIMENT = Clustering(
    "tiny",
    (2, 3),
    2,
    {
        "Baseline": (Method.of("terms"),),
        "RLPI": (Method.of("rlpi", n_neighbors=3, alpha=0.1),),
        "Unheard": (Method.of("unheard-of"),),
    },
)


def _tiny() -> Collection:
    """Five classes, each with words of its own."""
    chance = np.random.default_rng(0)
    counts = np.zeros((CLASSES * DOCUMENTS, CLASSES * WORDS), np.float32)
    for row in range(len(counts)):
        start = row // DOCUMENTS * WORDS
        counts[row, start : start + WORDS] = chance.integers(1, 5, WORDS)
    labels = [str(row // DOCUMENTS) for row in range(len(counts))]
    return Collection(
        name="tiny",
        counts=sparse.csr_array(counts),
        labels=tuple((label,) for label in labels),
        splits=("",) * len(labels),
        terms=(),
        keys=(),
        weighting="tf",
        limits=datasets.EVERY_TERM,
        fingerprint="tiny",
    )


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clustering]:
    """Return an experiment on a small collection that has fixed classes."""
    monkeypatch.setitem(datasets.DATASETS, "tiny", _tiny)
    yield EXPERIMENT
    datasets.load.cache_clear()
    protocol.drawn.cache_clear()


def _found(form: str, results: Results) -> Findings:
    compared = EXPERIMENT.compared(results, PUBLISHED, "AC", f"tiny-{form}")
    return Findings("2 draws", (compared,), (), (EXPERIMENT.figure(compared, "Tiny", "RLPI"),))


def test_every_table_is_listed() -> None:
    command = [sys.executable, "-m", "benchmarks.papers", "--list"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [line.split()[0] for line in listed.splitlines()]
    assert names == [table.name for paper in PAPERS for table in paper.tables]
    assert {"rlpi-2007-2", "lpp-2005-figures", "olpi-2005-figures", "spg-2008-4"} <= set(names)


def test_a_page_puts_paper_and_measurement_side_by_side(tiny: Clustering, tmp_path: Path) -> None:
    results = protocol.run(tiny.parts(), Cells(), Extent(1))
    table = PaperTable("tiny-1", "Table 1", lambda _form: tiny.parts(), _found, "- Small.")
    paper = Paper("tiny", "A paper", "Nobody, nowhere", "As it comes.", (table,))
    write_table(tmp_path, paper, table, "short", _found("short", results))
    write_overview(tmp_path, (paper,))
    page = (tmp_path / "tiny.md").read_text("utf-8")
    assert "90.0 / 100.0 ± 0.0 (2) / +10.0" in page
    assert "Unheard: the method is missing here." in page
    assert "- Small." in page
    assert "[tiny](tiny.md)" in (tmp_path / "README.md").read_text("utf-8")
    report = json.loads((tmp_path / "tiny-1.json").read_text("utf-8"))
    first = next(row for row in report["tables"][0]["rows"] if row["method"] == "RLPI")
    assert (first["paper"], first["measured"], first["difference"]) == (90, 100, 10)
    assert (tmp_path / "tiny-short.svg").read_bytes().startswith(b"<?xml")


def test_a_page_keeps_the_tables_of_earlier_runs(tiny: Clustering, tmp_path: Path) -> None:
    results = protocol.run(tiny.parts(), Cells(), Extent(1))
    tables = tuple(
        PaperTable(name, f"Table {name}", lambda _form: tiny.parts(), _found)
        for name in ("one", "two")
    )
    paper = Paper("tiny", "A paper", "Nobody, nowhere", "As it comes.", tables)
    for table in (tables[1], tables[0], tables[1]):
        write_table(tmp_path, paper, table, "short", _found("short", results))
    page = (tmp_path / "tiny.md").read_text("utf-8")
    assert [page.count(f"## Table {name}\n") for name in ("one", "two")] == [1, 1]
    assert page.index("Table one") < page.index("Table two")


def test_an_interrupted_run_goes_on(
    tiny: Clustering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: Counter[str] = Counter()
    known = [part for part in tiny.parts() if part.method.is_known]

    def interrupted(part: Part) -> dict[str, Any]:
        measured[str(part)] += 1
        if len(measured) == 3 and measured.total() == 3:
            raise KeyboardInterrupt
        return {"AC": 50.0, "fit_s": 0.0}

    monkeypatch.setitem(measures.MEASURES, "clusters", Measure(interrupted))
    path = tmp_path / "cells.jsonl"
    with pytest.raises(KeyboardInterrupt):
        protocol.run(tiny.parts(), Cells(path), Extent(1))
    results = protocol.run(tiny.parts(), Cells(path), Extent(1))
    assert set(results) == set(known)
    assert sorted(measured.values()) == [1] * (len(known) - 1) + [2]


def test_a_run_of_some_methods_says_what_is_left(tiny: Clustering) -> None:
    cells = Cells()
    results = protocol.run(tiny.parts(), cells, Extent(1, ["terms"]))
    assert {part.method.name for part in results} == {"terms"}
    assert protocol.run(tiny.parts(), cells, Extent(0)) == results
    said = Findings("Two draws.").with_left(4, 8).extent
    assert "4 of 8 measurements" in said
    assert Findings("Two draws.").with_left(0, 8).extent == "Two draws."


def test_methods_are_named_with_some_of_their_settings() -> None:
    method = Method.of("lpfl", n_selected=3000, n_neighbors=5)
    assert method.is_one_of([])
    assert method.is_one_of(["terms", "lpfl"])
    assert method.is_one_of(["lpfl n_selected=3000"])
    assert not method.is_one_of(["lpfl n_selected=300", "lpfl init=random", "lpf"])


def test_what_was_measured_on_other_code_is_listed(tmp_path: Path) -> None:
    """A table names the commits of each method; one whose code has changed since is stale."""
    measured = [("lsi", {"commit": "b"}), ("lsi", {"commit": "a"}), ("olpi", {})]
    assert commits(measured) == {"lsi": ["a", "b"], "olpi": [""]}
    now = commit_of_code()
    own = {"parameters": {"commits": f"lsi: {now}, olpi: "}}
    (tmp_path / "one.json").write_text(json.dumps(own))
    assert list(stale(tmp_path)) == ["one: olpi measured before commits were kept."]


def test_a_method_changes_with_what_it_computes_alone() -> None:
    """Texts, types, imports, errors and what it does not use may change, and modules may move."""
    old = """
from one import STEPS
def fit(X: int) -> int:
    "Fit."
    steps = {}
    if X < 0:
        raise ValueError("less than 0")
    return X * STEPS
def steps():
    return 1
"""
    new = """
def fit(X):
    "Solve."
    from two import STEPS
    steps = {}
    if X < 0:
        raise ValueError("negative")
    return X * STEPS
def steps():
    return 2
"""

    def code(text: str, steps: int) -> Code:
        return {name: {each} for name, each in definitions(f"{text}STEPS: int = {steps}")}

    assert changed(code(old, 3), code(new, 3), ["fit"]) == []
    assert changed(code(old, 3), code(new, 4), ["fit"]) == ["STEPS"]
    assert changed(code(old, 3), code(new.replace("X *", "1 *"), 3), ["fit"]) == ["fit"]
    assert changed(code(old, 3), code(new, 3), ["steps"]) == ["steps"]


def test_printed_means_are_compared_with_those_of_draws(tmp_path: Path) -> None:
    """A mean is recomputed, different, or without all of its draws."""
    value = {
        ("2", "LSI"): Value(70.0, 1.0, 3),
        ("3", "LSI"): Value(60.0, 1.0, 3),
        ("5", "LSI"): Value(9.0),  # of an unknown number of draws
    }
    table = Comparison("one", "One", "classes", ("2", "3", "4", "5"), ("LSI",), {}, value)
    rows = [
        {"classes": "2", "method": "LSI", "measured": 70.0, "draws": 3},
        {"classes": "3", "method": "LSI", "measured": 61.0, "draws": 3},
        {"classes": "4", "method": "LSI", "measured": 50.0, "draws": 3},
        {"classes": "5", "method": "LSI", "measured": 9.0, "draws": 0},
    ]
    grid = Table("grid", "Grid", ({"rows": "as they are", "LSI": "70.0"}, {"rows": "", "LSI": "1"}))
    printed = [{"rows": "as they are", "LSI": "70.0"}, {"rows": "", "LSI": "2"}]
    tables = [{"name": "one", "rows": rows}, {"name": "grid", "rows": printed}]
    page = tmp_path / "one.json"
    page.write_text(json.dumps({"parameters": {"measured": 7}, "tables": tables}))
    found = Findings("", (table,), (grid,), measured=7)
    same, different, lost = recomputed(page, found)
    assert (same, [line.partition(":")[0] for line in different], lost) == (
        2, ["one 3 LSI", "grid  2"], 2)  # fmt: skip
    assert recomputed(page, replace(found, measured=8)).lost == 4
    # Pages of before draws were kept do not say how many measurements they rest on.
    page.write_text(json.dumps({"parameters": {}, "tables": tables}))
    assert recomputed(page, found) == (0, [], 6)


def test_the_overview_finds_the_nearest_reading_and_drops_no_average(tmp_path: Path) -> None:
    reading = {"starts": "k-means++", "rows": "as they are", "terms": None}
    others = dict.fromkeys(("LSI", "LPI", "SPG", "SLPI", "FSSL", "LPFL"), "50.0 (3)")
    grid: list[dict[str, Any]] = [
        reading | others | {"dimensions": "c", "terms": "78.0", "RLPI": "98.0"},
        reading | others | {"dimensions": "c − 1", "RLPI": "90.0"},
    ]
    one: dict[str, Any] = {
        "method": "SPCA",
        "paper": 60.0,
        "measured": 47.0,
        "difference": -13.0,
        "draws": 1,
    }
    few = [{"c": "2"} | one, {"c": "average"} | one]
    for name, table, rows in (
        ("rlpi-2007-readings", "rlpi-2007-readings-AC", grid),
        ("spg-2008-4", "spg-2008-4-AC", few),
    ):
        tables = [{"name": table, "title": "AC, %: paper / measured", "rows": rows}]
        extent = Findings("50 draws.").with_left(4, 8).extent
        report = {"parameters": {"form": "full", "extent": extent}, "tables": tables}
        (tmp_path / f"{name}.json").write_text(json.dumps(report))
    shown = [[cell.strip() for cell in line.split("|")[1:-1]]
             for line in overview(tmp_path, PAPERS).splitlines()]  # fmt: skip
    nearest = "c, k-means++, as they are"
    assert ["rlpi-2007-2", "RLPI", "98.4", "90", nearest, "98", "yes"] in shown
    assert ["lpp-2005-2", "Kmeans", "91.8", "78", nearest, "78", "no"] in shown
    assert ["spg-2008-4", "SPCA", "60", "47", "", "-13", "1", "1"] in shown
    assert ["spg-2008-4", "AC, %", "1", "SPCA 1"] in shown
    assert next(row[2:5] for row in shown if row[:1] == ["spg-2008-4"]) == [
        "full",
        "4 of 8",
        "not kept",
    ]


def test_the_overview_is_that_of_its_tables() -> None:
    assert (PAGES / "README.md").read_text("utf-8") == overview(PAGES, PAPERS)


@pytest.mark.data
def test_every_printed_mean_comes_from_the_kept_draws(data: Path) -> None:
    del data
    assert program.check([table.name for paper in PAPERS for table in paper.tables], PAGES) == 0


@pytest.mark.data
def test_every_time_says_of_how_many_draws_it_is(data: Path) -> None:
    del data
    one = {"AC": 1.0, "fit_s": 2.0, "cluster_s": 1.0}
    parts = rlpi_2007.clustering("short").parts()
    found = rlpi_2007.times_found("short", dict.fromkeys(parts, one))
    rows = [row for each in found.comparisons for row in each.details().rows]
    assert all(row["draws"] for row in rows if row["measured"] is not None)
    seconds, ratios = (found.comparisons[at].side_by_side().rows[0] for at in (0, 1))
    assert seconds["LSI"] == "0.36 / 2.00 ± 0.00 (5) / +1.64"
    assert ratios["LPI"] == "31.8 / 1.0 (2) / −30.8"


def test_draws_lie_beside_the_pages(tiny: Clustering, tmp_path: Path) -> None:
    first = protocol.run(tiny.parts(), Cells(), Extent(1, ["terms"]))
    write_draws(tmp_path, first)
    known = read_draws(tmp_path, ["tiny", "tiny"])
    assert protocol.run(tiny.parts(), Cells(), Extent(0), known).keys() == first.keys()
    second = protocol.run(tiny.parts(), Cells(), Extent(1, ["rlpi"]), known)
    write_draws(tmp_path, {part: second[part] for part in second if part not in first})
    kept = (tmp_path / "draws" / "tiny.jsonl.gz").read_bytes()
    write_draws(tmp_path, second)
    assert (tmp_path / "draws" / "tiny.jsonl.gz").read_bytes() == kept
    assert len(read_draws(tmp_path, ["tiny"])) == 8


def test_draws_are_written_while_a_run_goes_on(tiny: Clustering, tmp_path: Path) -> None:
    known: list[int] = []

    def count(_part: Part, _value: dict[str, Any]) -> None:
        known.append(len(read_draws(tmp_path, ["tiny"])))

    parts = [part for part in tiny.parts() if part.method.name == "terms"]
    with kept_draws(tmp_path, every=0.0) as keeper:
        for part in parts:
            keeper.add(part, {"AC": 1.0})
            count(part, {})
    assert known == [1, 2, 3, 4]
    with kept_draws(tmp_path) as keeper:
        keeper.add(parts[0], {"AC": 2.0})
        count(parts[0], {})
    assert read_draws(tmp_path, ["tiny"])[str(parts[0])] == {"AC": 2}
    assert list((tmp_path / "draws").iterdir()) == [tmp_path / "draws" / "tiny.jsonl.gz"]


@pytest.mark.parametrize("ends", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_ended_leaves_its_draws(
    tiny: Clustering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: signal.Signals
) -> None:
    measured: list[str] = []

    def ended(part: Part) -> dict[str, Any]:
        measured.append(str(part))
        if len(measured) == 3:
            os.kill(os.getpid(), ends)
        return {"AC": 50.0, "fit_s": 0.0}

    table = PaperTable("tiny-full", "Table 1", lambda _form: tiny.parts(), _found)
    paper = Paper("tiny", "A paper", "Nobody, nowhere", "As it comes.", (table,))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(measures.MEASURES, "clusters", Measure(ended))
    monkeypatch.setattr(program, "PAPERS", (paper,))
    monkeypatch.setattr(program, "chosen", list)
    monkeypatch.setattr(program, "DATA", tmp_path)
    words = ["tiny-full", "--full", "--keep", "--jobs", "1", "--into", str(tmp_path)]
    assert program.main(words) == 130
    assert len(read_draws(tmp_path, ["tiny"])) == 2
    assert program.main(words) == 0
    assert len(measured) == len(set(measured)) + 1 == 9
    assert len(read_draws(tmp_path, ["tiny"])) == 8
    # Pages rest on all of them, and stay when fewer are known.
    page = (tmp_path / "tiny.md").read_text("utf-8")
    (tmp_path / "draws" / "tiny.jsonl.gz").unlink()
    assert program.main([*words, "--known"]) == 0
    assert (tmp_path / "tiny.md").read_text("utf-8") == page


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_may_have_so_much_time(tiny: Clustering, jobs: int) -> None:
    found = protocol.run(tiny.parts(), Cells(), Extent(jobs, until=time.monotonic()))
    assert len(found) == 1


def test_the_first_draw_of_everything_comes_before_the_second(tiny: Clustering) -> None:
    parts = protocol.in_order(part for part in tiny.parts() if part.method.is_known)
    half = Counter((part.method, len(part.subset)) for part in parts[: len(parts) // 2])
    assert set(half.values()) == {1}
    assert len(half) == 4


def test_settings_are_compared_on_the_draws_that_they_share(tiny: Clustering) -> None:
    del tiny  # the collection alone
    methods = tuple(Method.of("lpfl", n_selected=m) for m in (10, 20, 30))
    experiment = Clustering("tiny", (2,), 4, {"LPFL": methods})
    parts = experiment.parts()
    found = dict(zip(parts[:4], ({"AC": value} for value in (60.0, 60.0, 60.0, 99.0)), strict=True))
    found |= dict(zip(parts[4:7], ({"AC": value} for value in (70.0, 60.0, 60.0)), strict=True))
    found[parts[8]] = {"AC": 100.0}
    assert experiment.best(found, 2, "LPFL") == methods[1]
    assert experiment.by_draw(found, 2, "LPFL").keys() == {part.subset for part in parts[4:7]}
    said = experiment.notes(found)
    assert "LPFL: of 3 settings, those measured so far are 10, 20." in said
    assert "LPFL, best setting by number of classes: 2: 20." in said
    assert experiment.best({}, 2, "LPFL") == methods[0]


def test_curves_say_how_far_draws_spread_and_how_many_there_are() -> None:
    curves = collected([("A", 1.0, 90.0), ("A", 1.0, 94.0), ("A", 2.0, 80.0), ("B", 1.0, 50.0)])
    table = as_table("curves", "Curves", "p", curves)
    assert table.rows[0] == {"p": "1", "A": 92, "A ±": 2.83, "draws": 2}
    assert table.rows[1] == {"p": "2", "A": 80, "A ±": None, "draws": 1}
    assert table.notes == ("B: 50.00 (1 draws)",)
    assert [series.y for series in as_series(curves)] == [(92, 80), (50,)]
    assert as_table("curves", "Curves", "p", curves | {"C": {}}) == table


@pytest.mark.data
@pytest.mark.parametrize("table", [table for paper in PAPERS for table in paper.tables])
def test_every_page_can_be_written_without_a_measurement(data: Path, table: PaperTable) -> None:
    del data
    assert table.findings("full", {}).with_left(5, 5).extent


@pytest.mark.parametrize("name", [path.stem for path in sorted(FOLDER.glob("*.tsv"))])
def test_what_the_papers_print_is_in_range(name: str) -> None:
    if name.endswith("-times"):
        return  # pairs of seconds, shown as they are printed
    published = Published.read(name)
    most = 1 if name.startswith("lpp") else 100
    if ("-3-" in name and name.startswith("rlpi")) or name in {"rlpi-2007-5", "spg-2008-2"}:
        most = 200_000  # seconds, documents or terms
    assert all(0 < value.mean <= most for value in published.cells.values())
    for column in published.columns:
        keys = [(row, column) for row in published.rows if row not in {AVERAGE, "30"}]
        if (AVERAGE, column) in published.cells and published.cells.keys() >= set(keys):
            mean = sum(published.cells[key].mean for key in keys) / len(keys)
            assert published.cells[AVERAGE, column].mean == pytest.approx(mean, abs=0.011 * most)


def test_averages_are_over_what_was_measured() -> None:
    """The average of a part of the rows is not set beside the one that the paper prints."""
    paper, here = with_average(
        ("2", "3"), PUBLISHED.cells, {("2", "RLPI"): averaged([98.0, 100.0])}
    )
    assert paper[AVERAGE, "RLPI"].mean == 90
    assert here[AVERAGE, "RLPI"].mean == 99
    assert (AVERAGE, "Baseline") not in here


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.data
def test_every_table_can_be_planned(data: Path, form: str) -> None:
    del data
    for paper in PAPERS:
        for table in paper.tables:
            parts = set(table.parts(form))
            assert parts
            assert len({str(part) for part in parts}) == len(parts)
