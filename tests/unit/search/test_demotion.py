"""Documents that count half: kinds that a query does not name, and other languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import lpisearch
from lpisearch.index.build import build_index
from lpisearch.options import IndexOptions, SearchOptions, TopicOptions
from tests.searching import find_topics, run_batch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAGES = {
    f"page-{number}.txt": f"Page {number} is about the harbour, the ships and a storm at sea."
    for number in range(25)
}
FILES = {
    "COPYING": "Copies of the source: you may distribute copies of the source, and sell copies.",
    "ChangeLog": "Copies of files are mended. The source is found again, and zlibx is known.",
    "searchindex.js": "copies source harbour storm ships sea mended found",
    "guide.txt": "How a person distributes copies of the source: it is packed with the ships.",
    "führer.txt": "Die Kopien der Quelle werden mit dem Harbour und der Zlibz auf Schiffe gepackt.",
}


@pytest.fixture(params=[True, False], ids=["index", "no index"])
def mixed(
    request: pytest.FixtureRequest,
    library: Path,
    folder: Callable[..., Path],
    ingest: Callable[..., object],
) -> Path:
    """Return a library with furniture and a page in German."""
    ingest(folder(PAGES | FILES))
    if request.param:
        build_index(library, IndexOptions())
    return library


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("distribute copies of the source", "guide.txt"),
        ("licence to distribute copies of the source", "COPYING"),
        ("changes: source is found again", "ChangeLog"),
        ("zlibx", "ChangeLog"),
        ("harbour and storm", "page-"),
        ("searchindex.js harbour mended found", "searchindex.js"),
    ],
)
def test_furniture_comes_first_if_it_is_named_or_alone(mixed: Path, query: str, first: str) -> None:
    with lpisearch.open(mixed) as library:
        assert library.search(query, by="lexical").hits[0].id.startswith(first)
        assert library.search(query).hits[0].id.startswith(first)


@pytest.mark.parametrize("by", ["lexical", "hybrid", "semantic"])
@pytest.mark.parametrize(
    ("name", "query", "reason"),
    [
        ("COPYING", "distribute copies of the source", "licence"),
        ("führer.txt", "where is the harbour", "language"),
    ],
)
def test_the_explanation_has_the_reason(
    mixed: Path, by: str, name: str, query: str, reason: str
) -> None:
    with lpisearch.open(mixed) as library:
        if by == "semantic" and not library.status()["indexes"]:
            pytest.skip("needs an index")
        why = library.reason(query, name, options=SearchOptions(by=by))
        assert why.legs[-1].name == reason
        assert sum(leg.share for leg in why.legs) == pytest.approx(why.score, abs=1e-4)
        assert why.legs[-1].share == pytest.approx(-abs(why.score), rel=1e-3) or why.score < 0


def test_a_batch_demotes_as_a_search_does(mixed: Path) -> None:
    options = SearchOptions(k=5)
    with lpisearch.open(mixed) as library:
        for query in ("distribute copies of the source", "where is the harbour"):
            hits = library.search(query, options=options).hits
            (run,) = run_batch(mixed, [("1", query)], options)
            found = run[1][: len(hits)]
            assert [name for name, _ in found] == [hit.id for hit in hits]
            scores = [hit.score for hit in hits]
            assert [score for _, score in found] == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize("mixed", [True], indirect=True, ids=["index"])
def test_furniture_is_in_no_topic(mixed: Path) -> None:
    report = find_topics(mixed, TopicOptions(2, documents=99))
    named = {document.id for topic in report.topics for document in topic.documents}
    assert named == {*PAGES, "guide.txt", "führer.txt"}
    assert (report.documents, report.unplaced) == (30, 0)
