from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.errors import BadOption, NothingToIndex
from lpisearch.projections.registry import PROJECTIONS
from lpisearch.records import Filter
from lpisearch.settings import IndexOptions
from lpisearch.workflows.indexing import build_index
from lpisearch.workflows.planning import plan_index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.records import IndexPlan


@pytest.fixture
def plan(shelf: Path) -> Callable[..., IndexPlan]:
    """Return `plan_index` of the library of records; options are given by name."""
    return lambda **options: plan_index(shelf, IndexOptions(**options))


@pytest.mark.parametrize("method", PROJECTIONS)
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
