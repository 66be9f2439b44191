from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lpisearch.errors import BadOption, NothingToIndex
from lpisearch.index import plan as index_plan
from lpisearch.index.build import build_index
from lpisearch.index.plan import plan_index
from lpisearch.model.documents import Filter
from lpisearch.options import IndexOptions
from tests.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.model.reports import IndexPlan

    Plan = Callable[..., IndexPlan]


@pytest.fixture
def plan(shelf: Path) -> Callable[..., IndexPlan]:
    """Return `plan_index` of the library of records; options are given by name."""
    return lambda **options: plan_index(shelf, IndexOptions(**options))


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_says_what_the_build_will_find(plan: Plan, shelf: Path, method: str) -> None:
    said = plan(method=method)
    report = build_index(shelf, IndexOptions(method=method))
    assert (said.documents, said.terms) == (report.documents, report.terms)
    assert said.words == pytest.approx(40 * 26, rel=0.3)
    assert 100 < said.memory_mb < 400
    assert 0 < said.seconds < 5


def test_more_work_is_said_to_take_more(plan: Plan) -> None:
    some, more = plan(dims=5), plan(dims=30)
    assert some.memory_mb < more.memory_mb
    assert some.seconds < more.seconds
    fewer = plan(dims=5, where=Filter(labels=("sea",)))
    assert fewer.documents == 10
    assert fewer.memory_mb < some.memory_mb
    assert fewer.seconds < some.seconds


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"method": "lsl"}, BadOption),
        ({"name": ".."}, None),
        ({"name": "a/b"}, BadOption),
        ({"dims": 40}, BadOption),
        ({"where": Filter(split="dev")}, NothingToIndex),
    ],
)
def test_what_cannot_be_built_is_refused_by_the_plan(
    plan: Plan, options: dict[str, Any], error: type[Exception] | None
) -> None:
    if error is None:
        assert plan(**options).documents == 40
        return
    with pytest.raises(error):
        plan(**options)


def test_kernels_take_a_matrix_of_all_documents_up_to_a_bound() -> None:
    def plan(documents: int, method: str) -> tuple[float, float]:
        size = index_plan._Size(documents, 100 * documents, 30_000)
        found = index_plan._within(size, IndexOptions(method=method))
        return found.memory_mb, found.seconds

    for exact in (3000, 5000):
        megabytes, seconds = np.subtract(plan(exact, "krlpi"), plan(exact, "eigenmaps"))
        assert megabytes == pytest.approx(17 * exact**2 / 1e6)
        assert seconds == pytest.approx(80e-9 * exact**2)
    assert plan(5001, "krlpi")[0] < plan(4000, "krlpi")[0]
    assert plan(50_000, "krlpi")[1] > plan(5001, "krlpi")[1]


def test_iterations_take_time() -> None:
    some = IndexOptions(method="nmf"), IndexOptions(method="lsi")
    size = index_plan._Size(20_000, 4_000_000, 40_000)
    nmf, lsi = (index_plan._within(size, options).stages["projecting"] for options in some)
    assert nmf > 3 * lsi


def test_each_stage_has_its_time(plan: Plan, shelf: Path) -> None:
    said = plan()
    assert 0 < said.seconds - sum(said.stages.values()) < 2
    assert said.stages["embedding passages"] == 0
    assert said.stages["training classifiers"] > 0
    assert plan(train="none").stages["training classifiers"] == 0
    report = build_index(shelf, IndexOptions())
    assert {name for name, seconds in said.stages.items() if seconds} <= {*report.seconds}
    size = index_plan._Size(10, 90_000, 3000, 80_000)
    assert index_plan._within(size, IndexOptions()).stages["embedding passages"] > 0.1


def test_memory_is_kept_to() -> None:
    size = index_plan._Size(400_000, 4_000_000, 40_000)
    roomy = index_plan._within(size, IndexOptions(memory=10**12))
    assert not roomy.in_files
    files = index_plan._within(size, IndexOptions(memory=int(roomy.memory_mb * 0.9e6)))
    assert files.in_files
    assert files.learned_from == roomy.learned_from
    fewer = index_plan._within(size, IndexOptions(memory=int(files.memory_mb * 0.98e6)))
    assert fewer.learned_from < files.learned_from
    assert fewer.memory_mb <= files.memory_mb * 0.98
    with pytest.raises(BadOption, match="needs at least"):
        index_plan._within(size, IndexOptions(memory=100_000_000))


def test_memory_is_kept_to_by_labels() -> None:
    size = index_plan._Size(400_000, 4_000_000, 40_000)
    unlabelled = index_plan._within(size, IndexOptions())
    labelled = index_plan._within(size._replace(labels=100), IndexOptions())
    assert (unlabelled.labels_learned_from, labelled.labels_learned_from) == (0, 400_000)
    assert labelled.memory_mb > unlabelled.memory_mb + 400_000 * 100 * 4 / 1e6
    kept_to = IndexOptions(memory=int(unlabelled.memory_mb * 1e6) + 1)
    fewer = index_plan._within(size._replace(labels=100), kept_to)
    assert fewer.memory_mb <= unlabelled.memory_mb + 1
    assert 0 < fewer.labels_learned_from < 400_000
    assert fewer.learned_from == unlabelled.learned_from


def test_a_long_build_is_kept_in_files() -> None:
    assert not index_plan._within(index_plan._Size(49_999, 10**6, 10**4), IndexOptions()).in_files
    assert index_plan._within(index_plan._Size(50_000, 10**6, 10**4), IndexOptions()).in_files
