"""Which rows of a table differ by more than chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.evaluation.categorisation import evaluate_classify
from lpisearch.evaluation.cells import Cells
from lpisearch.evaluation.clustering import evaluate_cluster
from lpisearch.evaluation.measures import Measured, paired_test, with_differences
from lpisearch.evaluation.similarity import evaluate_similarity
from lpisearch.model.reports import Table
from lpisearch.options import CategoriesOptions, ClusterOptions, EvaluateOptions, SimilarityOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.evaluation.collection import EvaluationInput
    from lpisearch.model.reports import Report

    Make = Callable[..., EvaluationInput]

_METHODS = EvaluateOptions(methods=("terms", "lsi", "rlpi"), dims=3)


def _name(row: Any) -> str:
    return str(row["name"])


def test_each_row_is_compared_with_the_best() -> None:
    scores = {"low": [0.0] * 10, "high": [1.0] * 10, "near": [1.0] * 9 + [0.5]}
    table = Table("t", "T", tuple({"name": name} for name in scores))
    values = [dict(enumerate(each)) for each in scores.values()]
    first, pairs = with_differences(table, Measured("AP", "query", values), _name, 0)
    raw = paired_test(scores["low"], scores["high"], random_state=0).p_value
    assert raw == pytest.approx(2 / 2**10)
    found = {str(row["name"]): row["p"] for row in first.rows}
    assert found == {"low": pytest.approx(3 * raw), "high": None, "near": 1.0}
    assert [(row["first"], row["second"]) for row in pairs.rows] == [
        ("low", "high"),
        ("low", "near"),
        ("high", "near"),
    ]
    (said,) = pairs.notes
    assert said.startswith("t AP: “high” is best, but not significantly better than “near” (paired")
    assert said.endswith("randomisation test by query, Holm's correction for 3 pairs, 5%).")


def test_only_rows_of_a_group_are_compared() -> None:
    table = Table("t", "T", tuple({"name": name, "at": at} for name, at in ("a1", "b1", "c2")))
    values = [{0: 1.0}, {0: 0.0}, {0: 5.0}]
    first, pairs = with_differences(
        table, Measured("AC", "draw", values), _name, 0, lambda row: row["at"]
    )
    assert [row["p"] for row in first.rows] == [None, 1.0, None]
    assert [row["at"] for row in pairs.rows] == ["1"]
    alone = with_differences(
        Table("t", "T", table.rows[2:]), Measured("AC", "draw", values[2:]), _name, 0
    )
    assert len(alone) == 1
    assert "p" not in alone[0].columns


def _classified(source: Make) -> tuple[Report, str]:
    wanted = CategoriesOptions(train=(0.5,), repeats=3, classifiers=("centroid",))
    return evaluate_classify(source(), _METHODS, wanted, Cells()), "accuracy"


def _clustered(source: Make) -> tuple[Report, str]:
    return evaluate_cluster(source(), _METHODS, ClusterOptions(), Cells()), "AC"


def _compared(source: Make) -> tuple[Report, str]:
    report = evaluate_similarity(source(), _METHODS, SimilarityOptions(), Cells(), (None,))
    return report, "accuracy"


@pytest.mark.parametrize("evaluate", [_classified, _clustered, _compared])
def test_differences_are_those_of_the_table(
    source: Make, evaluate: Callable[[Make], tuple[Report, str]]
) -> None:
    report, measure = evaluate(source)
    tables = {table.name: table for table in report.tables}
    shown = {str(row["representation"]): float(row[measure] or 0) for row in report.tables[0].rows}
    assert len(tables["significance"].rows) == 3
    for row in tables["significance"].rows:
        first, second = (str(row[side]).split()[0] for side in ("first", "second"))
        expected = shown[first] - shown[second]
        # In draws, a document may be judged more often than another.
        assert row["difference"] == pytest.approx(expected, abs=0.03)
        assert 0 < float(row["p"] or 0) <= float(row["p_holm"] or 0) <= 1
    best = max(shown, key=shown.__getitem__)
    without = [str(row["representation"]) for row in report.tables[0].rows if row["p"] is None]
    assert len(without) == 1
    assert shown[without[0]] >= shown[best] - 0.03
