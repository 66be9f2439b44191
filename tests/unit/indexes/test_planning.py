from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lpisearch.errors import BadOption, NothingToIndex
from lpisearch.indexes import planning
from lpisearch.indexes.build import build_index
from lpisearch.indexes.planning import plan_index
from lpisearch.projections.catalogue import CATALOGUE
from lpisearch.projections.registry import METHODS
from lpisearch.records import Filter
from lpisearch.settings import IndexOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.records import IndexPlan


@pytest.fixture
def plan(shelf: Path) -> Callable[..., IndexPlan]:
    """Return `plan_index` of the library of records; options are given by name."""
    return lambda **options: plan_index(shelf, IndexOptions(**options))


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_says_what_the_build_will_find(
    plan: Callable[..., IndexPlan], shelf: Path, method: str
) -> None:
    """Documents and terms are those of the build; memory is within a factor of two of a start."""
    said = plan(method=method)
    report = build_index(shelf, IndexOptions(method=method))
    assert (said.documents, said.terms) == (report.documents, report.terms)
    assert said.words == pytest.approx(40 * 26, rel=0.3)
    assert 100 < said.memory_mb < 400
    assert 0 < said.seconds < 5


def test_more_work_is_said_to_take_more(plan: Callable[..., IndexPlan]) -> None:
    """More dimensions take more memory and time, fewer documents less."""
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
    plan: Callable[..., IndexPlan], options: dict[str, Any], error: type[Exception] | None
) -> None:
    """The plan comes first, so nobody waits for an error."""
    if error is None:
        assert plan(**options).documents == 40
        return
    with pytest.raises(error):
        plan(**options)


def test_kernels_take_a_matrix_of_all_documents_up_to_a_bound() -> None:
    """KRLPI is said to take far more for 5,000 documents, and less again by landmarks."""

    def plan(documents: int, method: str) -> tuple[float, float]:
        return _estimates(documents, 100 * documents, 30_000, method)

    for exact in (3000, 5000):
        megabytes, seconds = np.subtract(plan(exact, "krlpi"), plan(exact, "eigenmaps"))
        assert megabytes == pytest.approx(17 * exact**2 / 1e6)
        assert seconds == pytest.approx(80e-9 * exact**2)
    assert plan(5001, "krlpi")[0] < plan(4000, "krlpi")[0]
    assert plan(50_000, "krlpi")[1] > plan(5001, "krlpi")[1]


def test_iterations_take_time() -> None:
    """A method that goes over the documents many times is said to take longer."""
    nmf, lsi = (_estimates(20_000, 4_000_000, 40_000, method) for method in ("nmf", "lsi"))
    assert nmf[1] > 3 * lsi[1]


def test_each_stage_has_its_time(plan: Callable[..., IndexPlan], shelf: Path) -> None:
    """What is said of all is the sum; long texts and labels take time where there are some."""
    said = plan()
    assert 0 < said.seconds - sum(said.stages.values()) < 2
    assert said.stages["placing passages"] == 0
    assert said.stages["learning labels"] > 0
    assert plan(train="none").stages["learning labels"] == 0
    report = build_index(shelf, IndexOptions())
    assert {name for name, seconds in said.stages.items() if seconds} <= {*report.seconds}
    sizes = planning._Sizes(10, 90_000, 80_000, 3000, 0, 9)
    assert planning._seconds(sizes, CATALOGUE["rlpi"])["placing passages"] > 0.1


def _estimates(documents: int, words: int, terms: int, method: str) -> tuple[float, float]:
    """Return the megabytes of a build, and the seconds that its map takes."""
    dims = planning._dimensions(documents, IndexOptions(method=method))
    sizes = planning._Sizes(documents, words, 0, terms, 0, dims)
    found = CATALOGUE[method]
    return planning._megabytes(sizes, found), planning._seconds(sizes, found)["projecting"]
