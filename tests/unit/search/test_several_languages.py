"""Pages in other languages of a library that is mostly English."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lpisearch.index.build import build_index
from lpisearch.model.documents import Filter
from lpisearch.options import IndexOptions, SearchOptions
from tests.searching import run_search

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_ENGLISH = {
    f"{thing}-{number}": f"The {thing} {number} was in the house of a captain, and it is for sale."
    for number in range(9)
    for thing in ("harbour", "cellar", "garden")
}
_OTHERS = {
    "de": "Reifen flicken. Die Reifen werden mit einem Flicken und etwas Kleber repariert, wenn "
    "der Schlauch nicht mehr dicht ist. Die Katzen in den Häfen sehen zu.",
    "fr": "Réparer un pneu. Les pneus sont réparés avec une rustine et un peu de colle, si la "
    "chambre à air n'est plus étanche.",
}


@pytest.fixture(params=[True, False], ids=["index", "no index"])
def mixed(request: pytest.FixtureRequest, put: Callable[..., object], library: Path) -> Path:
    """Return a library of 27 English pages, a German and a French one."""
    put([{"id": name, "text": text} for name, text in (_ENGLISH | _OTHERS).items()])
    if request.param:
        build_index(library, IndexOptions())
    return library


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Wie repariert man einen Reifen?", "de"),
        ("comment réparer les pneus", "fr"),
        ("which cellars are for sale, is it 3", "cellar-3"),
        ("Flickens", "de"),  # its stem in German; no word tells the language
        ("pneu", "fr"),
        ("“die Katzen in den Häfen”", "de"),
        ('"Kleber Mond"~ OR rustines', "fr"),
        ("title:pneus OR Häfen", "de"),
    ],
)
def test_a_question_finds_pages_in_its_language(mixed: Path, query: str, name: str) -> None:
    first = run_search(mixed, query, SearchOptions(k=3)).hits[0]
    assert first.id == name
    assert first.passages[0].marks


def test_an_excluded_word_is_excluded_in_every_language(mixed: Path) -> None:
    for query in ("Schlauch -Katze", "colle OR Kleber -Katze"):
        assert "de" not in {hit.id for hit in run_search(mixed, query, SearchOptions()).hits}


@pytest.mark.parametrize("value", ["de", "german"])
def test_a_filter_by_language(mixed: Path, value: str) -> None:
    where = Filter(metadata=(("language", value),))
    hits = run_search(mixed, "Katze harbour", SearchOptions(where=where)).hits
    assert [hit.id for hit in hits] == ["de"]


def test_a_compound_is_found_in_every_language(put: Callable[..., object], library: Path) -> None:
    put([{"id": name, "text": text} for name, text in _ENGLISH.items()])
    apart = "Die connections sind max, und die connections sind max."
    together = f"{_OTHERS['de'] * 5} Das ist hier max_connections."
    put([{"id": "apart", "text": apart}, {"id": "together", "text": together}], "german")
    hits = run_search(library, "max_connections", SearchOptions()).hits
    assert hits[0].id == "together"


def test_languages_are_counted(mixed: Path) -> None:
    facets = run_search(mixed, "Katze harbour pneus", SearchOptions(facets=True)).facets
    assert facets is not None
    counts = {value.value: value.count for value in facets.languages}
    assert counts.items() >= {("german", 1), ("french", 1)}
