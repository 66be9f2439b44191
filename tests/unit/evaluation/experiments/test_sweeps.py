from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.errors import BadOption
from lpisearch.evaluation.categorisation import evaluate_classify
from lpisearch.evaluation.cells import Cells
from lpisearch.evaluation.clustering import evaluate_cluster
from lpisearch.evaluation.collection import EvaluationInput
from lpisearch.evaluation.experiments import evaluate_sweep
from lpisearch.evaluation.similarity import evaluate_similarity
from lpisearch.location import shipped_folder
from lpisearch.options import (
    CategoriesOptions,
    ClusterOptions,
    EvaluateOptions,
    RetrievalOptions,
    SimilarityOptions,
    SweepOptions,
)
from lpisearch.search.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from lpisearch.model.reports import Cell, Report

_OPTIONS = EvaluateOptions(methods=("terms", "lsi", "rlpi"))
_CATEGORIES = CategoriesOptions("field", classifiers=("centroid",))
_WANTED = {
    "similarity": SimilarityOptions(),
    "classify": _CATEGORIES,
    "cluster": ClusterOptions(),
}


def _sweep(
    library: Path, measure: str, over: str, values: tuple[float, ...], **options: Any
) -> Report:
    sweep = SweepOptions(measure, over, values)
    wanted = _WANTED.get(measure)
    return evaluate_sweep(Session(library), replace(_OPTIONS, **options), sweep, wanted, Cells())


def _points(rows: Sequence[Mapping[str, Cell]], over: str) -> list[tuple[Cell, Cell]]:
    return [(row["representation"], row[over]) for row in rows]


@pytest.mark.parametrize("measure", ["similarity", "classify", "cluster"])
@pytest.mark.parametrize(
    ("over", "values", "fixed"),
    [
        ("dims", (2.0, 3.0), ["terms"]),
        ("neighbours", (2.0, 3.0), ["terms", "lsi"]),
        ("alpha", (0.0, 2.0), ["terms", "lsi"]),
    ],
)
def test_methods_without_the_parameter_run_once(
    shelf: Path, measure: str, over: str, values: tuple[float, ...], fixed: list[str]
) -> None:
    report = _sweep(shelf, measure, over, values)
    varied = [name for name in _OPTIONS.methods if name not in fixed]
    expected: set[tuple[Cell, Cell]] = {(name, None) for name in fixed}
    expected |= {(name, value) for name in varied for value in values}
    found = _points(report.tables[0].rows, over)
    assert (len(found), set(found)) == (len(expected), expected)
    for figure in report.figures:
        lines = {line.name.split()[0]: line for line in figure.series}
        assert {name for name, line in lines.items() if len(line.x) == 1} == set(fixed)
        assert all(lines[name].x == values for name in varied)
    kind = float if over == "alpha" else int
    assert all(value is None or type(value) is kind for _, value in found)


def test_a_point_is_what_the_measure_gives_there(shelf: Path) -> None:
    source = EvaluationInput.open(Session(shelf), EvaluateOptions())
    options = replace(_OPTIONS, methods=("lsi",))
    kinds: dict[str, tuple[Callable[..., Report], Any, str]] = {
        "similarity": (evaluate_similarity, SimilarityOptions(), "AP"),
        "classify": (evaluate_classify, _CATEGORIES, "accuracy"),
        "cluster": (evaluate_cluster, ClusterOptions(), "AC"),
    }
    for measure, (evaluate, wanted, figure) in kinds.items():
        rows = _sweep(shelf, measure, "dims", (2, 4), methods=("lsi",)).tables[0].rows
        for row, dims in zip(rows, (2, 4), strict=True):
            alone = evaluate(source, replace(options, dims=dims), wanted, Cells()).tables[0].rows
            assert row[figure] == pytest.approx(alone[0][figure], abs=1e-3)


@pytest.mark.parametrize(
    ("over", "values"), [("alpha", (0.5, 8.0)), ("neighbours", (2, 9)), ("dims", (2, 3))]
)
def test_a_parameter_reaches_the_method(
    shelf: Path, over: str, values: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def watch(source: EvaluationInput, options: EvaluateOptions, *rest: Any) -> Report:
        seen.append(getattr(options, over))
        return evaluate_cluster(source, options, *rest)

    monkeypatch.setattr("lpisearch.evaluation.experiments.evaluate_cluster", watch)
    _sweep(shelf, "cluster", over, values, methods=("rlpi",))
    assert seen == list(values)


def test_the_share_to_learn_from(shelf: Path) -> None:
    wanted = replace(_CATEGORIES, split="auto", repeats=2)
    sweep = SweepOptions("classify", "train", (0.2, 0.5))
    report = evaluate_sweep(Session(shelf), _OPTIONS, sweep, wanted, Cells())
    found = _points(report.tables[0].rows, "train")
    assert found == [(name, share) for share in (0.2, 0.5) for name in _OPTIONS.methods]
    assert all(line.spread is not None for line in report.figures[0].series)


def test_retrieval_is_swept_over_indexes_in_memory(sample: Path) -> None:
    corpus = shipped_folder("sample_corpus")
    files = RetrievalOptions(corpus / "queries.jsonl", corpus / "qrels.tsv", by=("semantic",))
    sweep = SweepOptions("retrieval", "dims", (5, 30))
    options = replace(_OPTIONS, methods=("terms", "lsi"))
    rows = evaluate_sweep(Session(sample), options, sweep, files, Cells()).tables[0].rows
    assert _points(rows, "dims") == [("lsi", 5), ("lsi", 30)]
    assert float(rows[0]["AP"] or 0) < float(rows[1]["AP"] or 0)


@pytest.mark.parametrize(
    ("measure", "over", "values", "message"),
    [
        ("speed", "dims", (1.0,), "measure"),
        ("cluster", "colour", (1.0,), "over"),
        ("cluster", "train", (0.5,), "over"),
        ("retrieval", "dims", (5.0,), "queries"),
        ("cluster", "dims", (), "values"),
        ("cluster", "dims", (0.0, 2.0, 1.5), "0, 1.5: dims must be whole numbers above 0"),
        ("cluster", "dims", (float("nan"),), "values"),
        ("cluster", "dims", (float("inf"),), "values"),
        ("cluster", "neighbours", (-1.0,), "values"),
        ("cluster", "alpha", (-1.0,), "values"),
        ("cluster", "alpha", (float("inf"),), "values"),
        ("classify", "train", (0.0, 1.0), "0, 1: train must be fractions"),
    ],
)
def test_a_sweep_refuses(
    library: Path, measure: str, over: str, values: tuple[float, ...], message: str
) -> None:
    with pytest.raises(BadOption, match=message):
        _sweep(library, measure, over, values)


def test_queries_are_not_looked_for_in_a_matrix(library: Path, tmp_path: Path) -> None:
    files = RetrievalOptions(tmp_path / "queries", tmp_path / "qrels")
    sweep = SweepOptions("retrieval", "dims", (5.0,))
    options = replace(_OPTIONS, matrix=tmp_path / "counts.npz")
    with pytest.raises(BadOption, match="matrix"):
        evaluate_sweep(Session(library), options, sweep, files, Cells())


def test_a_report_says_what_it_depends_on(shelf: Path) -> None:
    report = _sweep(shelf, "cluster", "dims", (2, 3))
    expected = {
        "documents": 40,
        "source": shelf.name,
        "weighting": "log-tfidf",
        "language": "auto",
        "methods": "terms, lsi, rlpi",
        "classes": "all",
        "over": "dims",
        "values": "2, 3",
        "seed": 0,
    }
    assert expected.items() <= report.parameters.items()
    assert {"lpisearch", "numpy", "scipy"} <= set(report.versions)


def test_lines_are_named_by_what_tells_them_apart(shelf: Path) -> None:
    one = _sweep(shelf, "cluster", "dims", (2,)).figures[0]
    assert [line.name for line in one.series] == ["terms", "lsi", "rlpi"]
    wanted = ClusterOptions((2, 3), draws=1)
    sweep = SweepOptions("cluster", "dims", (2,))
    options = replace(_OPTIONS, methods=("lsi",))
    two = evaluate_sweep(Session(shelf), options, sweep, wanted, Cells()).figures[0]
    assert [line.name for line in two.series] == ["lsi 2 classes", "lsi 3 classes"]
