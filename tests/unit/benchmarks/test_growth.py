"""The work of each verb grows no faster than what it is asked for.

Work is counted, not timed: calls of functions and steps of SQLite.
"""

import random
import sys
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from benchmarks.growth import measured
from lpisearch.storage.sqlite import database

DOCUMENTS, WORDS = 640, 40
STEPS = 50
GROWS_AS_LIBRARY = {"ingest", "index", "topics", "status"}
HARDLY, IN_PROPORTION = 0.25, 1.05


class Count:
    """Counts the calls of functions, and in `STEPS` the steps of SQLite, that some work takes."""

    def __init__(self) -> None:
        self.units = 0

    def one(self, *_event: object) -> None:
        """Count one."""
        self.units += 1

    def __call__(self, work: Callable[[], object], _rounds: int) -> float:
        """Return how much some work is; once is enough."""
        self.units = 0
        before = sys.getprofile()
        sys.setprofile(self.one)
        try:
            work()
        finally:
            sys.setprofile(before)
        return self.units


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Count:
    """Count the steps of each connection too."""
    counted = Count()
    limit = database.StepLimit.are_too_many

    def are_too_many(steps: database.StepLimit) -> bool:
        counted.one()
        return limit(steps)

    monkeypatch.setattr(database, "_STEPS_BETWEEN", STEPS)
    monkeypatch.setattr(database.StepLimit, "are_too_many", are_too_many)
    return counted


def _records() -> Iterator[dict[str, Any]]:
    """Yield texts of a topic each, with words as uneven as those of a language."""
    draw = random.Random(3)  # noqa: S311 (texts, not secrets)
    weights = list(accumulate(1 / (rank + 3) for rank in range(2_000)))
    for number in range(DOCUMENTS):
        topic = number % 8
        common = draw.choices(range(2_000), cum_weights=weights, k=WORDS)
        words = [f"word{at}" for at in common] + [f"topic{topic}x{draw.randrange(30)}"] * 3
        draw.shuffle(words)
        yield {
            "id": str(number),
            "title": f"Record {number}",
            "text": " ".join(words),
            "labels": [f"label {topic}"],
            "date": f"{2000 + number % 20}-01",
        }


def test_work_grows_no_faster_than_what_is_asked_for(tmp_path: Path, count: Count) -> None:
    found = {(size, verb): each for size, verb, each in measured([*_records()], tmp_path, count)}
    too_fast = {
        key: exponent
        for key, exponent in found.items()
        if exponent > (HARDLY if _is_found_at_once(*key) else IN_PROPORTION)
    }
    assert not too_fast
    assert found["results", "search"] > HARDLY  # the count sees what is done for each result


def _is_found_at_once(size: str, verb: str) -> bool:
    """Tell whether a verb should take as long in a large library as in a small one."""
    return (size == "documents" and verb not in GROWS_AS_LIBRARY) or size.startswith("offset")
