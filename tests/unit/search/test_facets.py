from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import lpisearch
from lpisearch import Filter
from lpisearch.model.codec import to_json
from lpisearch.search.facets import MOST_BARS, by_period

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from lpisearch import Facets, FacetValue, IngestReport, Library

_COLUMNS = {
    "labels": "labels",
    "splits": "split",
    "formats": "media_type",
}


def _counts(values: Sequence[FacetValue]) -> dict[str, int]:
    return {each.value: each.count for each in values}


@pytest.fixture
def opened(shelf: Path) -> Library:
    """Return the library of records."""
    return lpisearch.open(shelf)


def test_all_documents_are_counted(opened: Library) -> None:
    facets = opened.facets()
    assert facets.total == len(opened)
    assert _counts(facets.labels) == {"kitchen": 10, "music": 10, "sea": 10, "sky": 10}
    assert _counts(facets.splits) == {"test": 8, "train": 32}
    assert facets.undated == 0  # the time of their file counts
    assert sum(value.count for value in facets.dates) == 40
    assert facets.period == "day"


def test_sorted_pages_have_every_match_once(opened: Library) -> None:
    """The count, the pages and `next` agree, in every order."""
    opened.index(dims=4)
    for sort in ("relevance", "date", "oldest", "title", "path"):
        seen: list[str] = []
        at: int | None = 0
        while at is not None:
            answer = opened.search("ship harbour morning", sort=sort, k=3, offset=at)
            seen += [hit.id for hit in answer]
            at = answer.next
        assert len(seen) == len(set(seen)) == answer.total
        whole = opened.search("ship harbour morning", sort=sort, k=1000)
        assert [hit.id for hit in whole] == seen
        assert whole.next is None


def test_a_chosen_facet_shows_its_other_values(opened: Library) -> None:
    """Each facet is counted without its own filter, and several of its values may match."""
    every = opened.search("morning letter", facets=True).facets
    chosen = opened.search("morning letter", label="sea", facets=True).facets
    assert every is not None
    assert chosen is not None
    assert chosen.labels == every.labels
    assert chosen.total == _counts(every.labels)["sea"]
    assert sum(_counts(chosen.splits).values()) == chosen.total
    both = opened.facets(Filter(formats=("text/plain", "pdf"), split="test"))
    assert _counts(both.splits) == _counts(opened.facets(Filter(formats=("text/plain",))).splits)
    assert both.formats == opened.facets(Filter(split="test")).formats


@pytest.mark.parametrize("by", ["lexical", "semantic", "hybrid"])
@pytest.mark.parametrize("indexed", [False, True])
def test_a_facet_counts_what_paging_shows(opened: Library, by: str, *, indexed: bool) -> None:
    if indexed:
        opened.index(dims=4)
    answer = opened.search("ship harbour morning", by=by, k=3, facets=True)
    every = opened.search("ship harbour morning", by=by, k=1000)
    assert answer.facets is not None
    assert answer.facets.total == len(every)
    found = [label for hit in every for label in hit.labels]
    assert _counts(answer.facets.labels) == {name: found.count(name) for name in set(found)}
    assert opened.search("ship").facets is None


def test_a_value_of_a_facet_is_a_filter(opened: Library) -> None:
    answer = opened.search("morning letter", by="lexical", facets=True)
    facets = answer.facets
    assert facets is not None
    for name, field in _COLUMNS.items():
        for each in getattr(facets, name):
            given: dict[str, Any] = {field: each.value if field != "labels" else (each.value,)}
            where = Filter(**given)
            options = lpisearch.SearchOptions(by="lexical", where=where, k=1000)
            assert len(opened.search("morning letter", options=options)) == each.count


def test_folders_are_those_next_below_the_common_one(
    library: Path, folder: Callable[..., Path]
) -> None:
    files = {
        "a/one.txt": "Ships.",
        "a/deep/two.txt": "Boats.",
        "b/three.txt": "Cake.",
        "z.txt": "x",
    }
    root = folder(files)
    opened = lpisearch.open(library)
    opened.ingest(root)
    top = opened.facets().folders
    assert [(each.name, each.count) for each in top] == [("a", 2), ("b", 1)]
    below = opened.facets(Filter(path=top[0].value))
    assert below.total == 2
    assert [(each.name, each.count) for each in below.folders] == [("deep", 1)]


def test_counts_follow_the_library(opened: Library) -> None:
    before, state = opened.facets(), opened.state()
    assert opened.facets() == before
    assert opened.state() == state
    opened.label("sea/0", add="wet")
    assert opened.state() != state
    assert _counts(opened.facets().labels)["wet"] == 1
    with pytest.warns(UserWarning, match="had labels given by hand"):
        opened.delete("sea/0")
    assert "wet" not in _counts(opened.facets().labels)


def test_predicted_labels_are_counted(opened: Library) -> None:
    opened.index(dims=4)
    report = opened.predict_labels(labelled=True)
    assert sum(each.count for each in opened.facets().predicted) == report.predicted


def _histogram(dates: Sequence[str], put: Callable[..., IngestReport], library: Path) -> Facets:
    put([{"id": str(n), "text": f"word{n}", "date": date} for n, date in enumerate(dates)])
    return lpisearch.open(library).facets()


def test_dates_become_a_histogram(put: Callable[..., IngestReport], library: Path) -> None:
    facets = _histogram(["2024-11-03", "2025-02-01", "2025-02-09"], put, library)
    assert facets.period == "month"
    bars = [(each.value, each.count) for each in facets.dates]
    assert bars == [("2024-11", 1), ("2024-12", 0), ("2025-01", 0), ("2025-02", 2)]
    assert facets.undated == 0
    month = lpisearch.open(library).facets(Filter(since="2025-02", until="2025-02"))
    assert month.total == 2


@pytest.mark.parametrize(
    ("dates", "period", "bars"),
    [
        (["2024-02-28", "2024-03-01"], "day", 3),
        (["2023-12-31", "2024-01-01"], "day", 2),
        (["2024-01", "2024-01-05"], "month", 1),
        (["2024", "2025-03-01"], "year", 2),
        (["1000-01-01", "2024-01-01"], "year", 2),
        (["0001-01-01", "9999-12-31"], "year", 2),
        (["9998-11-01", "9999-12-31"], "month", 14),
        (["2024-02-30", "2024-02-31"], "day", 2),
        (["soon"], "", 0),
    ],
)
def test_bars_can_be_read(dates: list[str], period: str, bars: int) -> None:
    found, values = by_period(dict.fromkeys(dates, 1))
    assert (found, len(values)) == (period, bars)
    assert len(values) <= MOST_BARS + 1
    assert sum(each.count for each in values) == (len(dates) if period else 0)


def test_facets_as_json(opened: Library) -> None:
    said: dict[str, Any] = to_json(opened.search("ship", facets=True))
    assert said["facets"]["labels"][0] == {"value": "sea", "name": "sea", "count": 10}
    assert "facets" not in to_json(opened.search("ship"))
