"""The work of a search is counted, not timed: it must not grow with what is not shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch import Library
from lpisearch.index.build import build_index
from lpisearch.model.documents import Filter
from lpisearch.options import IndexOptions, IngestOptions
from lpisearch.search.snippets import snippet
from lpisearch.storage.reading import SQLDocuments
from lpisearch.storage.sqlite.database import Cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from lpisearch.model.documents import Details

DOCUMENTS = 150
WORDS = [
    "ship",
    "harbour",
    "sailor",
    "storm",
    "lamp",
    "rock",
    "bread",
    "oven",
    "dough",
    "butter",
    "salt",
]


class Work:
    """What was done since the last look."""

    def __init__(self) -> None:
        self.statements = 0
        self.texts: list[int] = []
        self.snippets = 0

    def of(self, search: Callable[..., Any], *words: Any, **options: Any) -> tuple[int, int, int]:
        """Return the statements, the texts read and the snippets of a search, asked twice."""
        search(*words, **options)
        self.__init__()  # type: ignore[misc]
        search(*words, **options)
        return self.statements, len(self.texts), self.snippets


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Count statements, texts and snippets."""
    counted = Work()
    execute, details = Cursor.execute, SQLDocuments.details

    def executed(cursor: Cursor, *words: Any) -> Cursor:
        counted.statements += 1
        return execute(cursor, *words)

    def read(own: SQLDocuments, keys: Sequence[int], characters: int = 1) -> dict[int, Details]:
        counted.texts += keys if characters else []
        return details(own, keys, characters)

    def cut(*words: Any, **options: Any) -> Any:
        counted.snippets += 1
        return snippet(*words, **options)

    monkeypatch.setattr(Cursor, "execute", executed)
    monkeypatch.setattr(SQLDocuments, "details", read)
    monkeypatch.setattr("lpisearch.search.snippets.snippet", cut)
    return counted


@pytest.fixture(params=["index", "words"])
def opened(
    library: Path, folder: Callable[..., Path], request: pytest.FixtureRequest
) -> Iterator[Library]:
    """Return a library of many short documents, with an index and without."""
    lines = [
        {
            "id": f"note {at}",
            "text": f"{' '.join(WORDS[at % 5 : at % 5 + 6])} ship number{at} word{at % 7} end{at}",
            "metadata": {f"field{n}": "yes" for n in range(60)},
        }
        for at in range(DOCUMENTS)
    ]
    notes = folder({"notes.jsonl": "".join(json.dumps(line) + "\n" for line in lines)})
    with Library(library) as own:
        own.ingest(notes, options=IngestOptions())
        if request.param == "index":
            build_index(library, IndexOptions())
        yield own


@pytest.mark.parametrize("sort", ["relevance", "title"])
def test_texts_are_read_and_cut_for_the_shown_results_alone(
    opened: Library, work: Work, sort: str
) -> None:
    few = work.of(opened.search, "ship", k=5, sort=sort)
    far = work.of(opened.search, "ship", k=5, offset=100, sort=sort)
    assert few[1:] == far[1:] == (5, 5)
    assert far[0] <= few[0] + 2
    assert work.of(opened.search, "ship", k=100, sort=sort)[1:] == (100, 100)


def test_statements_do_not_grow_with_the_results(opened: Library, work: Work) -> None:
    few, many = (work.of(opened.search, "ship harbour", k=k)[0] for k in (5, 50))
    assert few == many


def test_a_question_takes_few_statements(
    opened: Library, work: Work, request: pytest.FixtureRequest
) -> None:
    most = {"index": 10, "words": 16}[request.node.callspec.params["opened"]]
    assert work.of(opened.search, "ship harbour")[0] <= most


def test_statements_do_not_grow_with_the_conditions(opened: Library, work: Work) -> None:
    few, many = (
        work.of(opened.search, "ship", where=Filter(metadata=tuple(_CONDITIONS[:n])))[0]
        for n in (1, 60)
    )
    assert few == many


_CONDITIONS = [(f"field{n}", "yes") for n in range(60)]


def test_statements_grow_with_the_words_at_most_in_proportion(opened: Library, work: Work) -> None:
    one, many = (work.of(opened.search, " ".join(WORDS[:n]), k=5)[0] for n in (1, len(WORDS)))
    assert many - one <= 3 * (len(WORDS) - 1)
