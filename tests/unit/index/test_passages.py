"""Long documents are found by their passages; short ones are as they always were."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lpisearch
from lpisearch.evaluation.retrieval import parse_measures, score_run
from lpisearch.index.build import build_index
from lpisearch.index.directory import publish_index
from lpisearch.index.subspace import SubspaceIndex, passage_arrays
from lpisearch.options import IndexOptions
from lpisearch.search.engine import Engine
from lpisearch.storage import open_store
from lpisearch.text.spans import LONG_DOCUMENT
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Put = Callable[..., Any]

OPTIONS = IndexOptions(dims=6, neighbours=5)
_KITCHEN = ("bread flour oven butter sugar cake yeast", "crust salt recipe bowl dough")
_SEA = ("ship boat harbour sail anchor tide wave", "storm pilot rope mast cargo")


def _book(name: str, seed: int, pages: int = 8, answer: int = 5) -> dict[str, Any]:
    """Return a book on the kitchen, one page of which is on the sea."""
    chance = random.Random(seed)  # noqa: S311 (texts, not secrets)
    texts = []
    for page in range(pages):
        words = _SEA if page == answer else _KITCHEN
        lines = [" ".join(chance.choices(" ".join(words).split(), k=8)) for _ in range(30)]
        texts.append("\n".join(lines))
    starts = [sum(len(text) + 2 for text in texts[:at]) for at in range(pages)]
    sections = [
        {"start": start, "kind": "page", "name": str(at)} for at, start in enumerate(starts, 1)
    ]
    return {"id": name, "title": "", "text": "\n\n".join(texts), "sections": sections}


@pytest.fixture
def books(shelf: Path, put: Put) -> Path:
    """Return a library of 40 short records and two books, with an index."""
    put([_book("book/1", 1), _book("book/2", 2, answer=2)], name="books")
    build_index(shelf, OPTIONS)
    return shelf


def test_the_order_of_words_has_as_many_as_are_counted(books: Path) -> None:
    passages = open_index(books).passages
    assert passages is not None
    assert passages.sequences is not None
    numbers = np.arange(len(passages.owners))
    terms, starts = passages.sequences.of_units(numbers)
    assert (
        np.diff(starts, append=len(terms)).tolist() == passages.postings.document_lengths.tolist()
    )
    counts = passages.postings.counts().toarray()
    for own, row in zip(np.split(terms, starts[1:]), counts, strict=True):
        assert np.bincount(own, minlength=len(row)).tolist() == row.tolist()


def _spans(library: Path) -> dict[int, list[list[int]]]:
    """Return where the passages of each document are, by its key."""
    index = open_index(library)
    if index.passages is None:
        return {}
    rows = index.document_rows
    return {
        int(rows[place]): index.passages.spans[index.passages.of_document(place)].tolist()
        for place in np.unique(index.passages.owners).tolist()
    }


def _counts(index: SubspaceIndex) -> list[dict[str, float]]:
    """Return the words of each passage, and check that it lies where these words put it."""
    assert index.passages is not None
    counts = index.passages.postings.counts()
    np.testing.assert_allclose(
        index.passages.vectors.codes, index.project(index.by_column(counts)), atol=1e-6
    )
    terms = index.postings.terms()
    rows = [counts[[at]] for at in range(counts.shape[0])]
    return [
        {terms[n]: float(c) for n, c in zip(row.indices, row.data, strict=True)} for row in rows
    ]


def test_a_library_of_short_documents_has_no_passages(shelf: Path) -> None:
    build_index(shelf, OPTIONS)
    index = open_index(shelf)
    assert index.manifest.passages == 0
    assert passage_arrays(index.arrays) == set()
    question = Engine(index).look_up(["ship", "bread"])
    for by in ("hybrid", "semantic", "lexical"):
        ours, whole = (Engine(index, whole=w).scores(question, by).total for w in (False, True))
        np.testing.assert_array_equal(ours, whole)


def test_each_page_of_a_book_is_a_passage(books: Path) -> None:
    index = open_index(books)
    assert index.manifest.passages == 16
    sections = [
        [section["start"] for section in _book(name, seed, answer=at)["sections"]]
        for name, seed, at in (("book/1", 1, 5), ("book/2", 2, 2))
    ]
    assert [[start for start, _ in spans] for spans in _spans(books).values()] == sections
    assert index.postings.document_lengths[index.long_documents].min() >= LONG_DOCUMENT


@pytest.mark.parametrize("by", ["hybrid", "semantic", "lexical"])
def test_one_page_finds_its_book(books: Path, by: str) -> None:
    index = open_index(books)
    engine = Engine(index)
    scores = engine.scores(engine.look_up(["ship", "harbour", "anchor"]), by)
    assert scores.units is not None
    kitchen = [at for at in range(40) if at % 4 == 1]
    for book, page in ((40, 5), (41, 2)):
        assert scores.total[book] > scores.total[kitchen].max()
        assert scores.units[book] == 42 + (book - 40) * 8 + page
    whole = Engine(index, whole=True)
    alone = whole.scores(whole.look_up(["ship", "harbour", "anchor"]), by)
    assert (scores.total[40:] > alone.total[40:]).all()


def test_short_documents_beside_books_keep_their_place_and_words(books: Path) -> None:
    index = open_index(books)
    engine, whole = Engine(index), Engine(index, whole=True)
    question = engine.look_up(["ship", "bread"])
    for by in ("semantic", "lexical"):
        ours, alone = (each.scores(question, by).total for each in (engine, whole))
        np.testing.assert_array_equal(ours[:40], alone[:40])


def test_many_questions_at_once_are_scored_as_each_alone(books: Path) -> None:
    engine = Engine(open_index(books))
    questions = [engine.look_up(words) for words in (["ship", "tide"], ["oven"], ["star", "ship"])]
    for by in ("hybrid", "semantic", "lexical"):
        for question, batch in zip(questions, engine.batch(questions, by), strict=True):
            np.testing.assert_allclose(
                batch, engine.scores(question, by).total, rtol=1e-4, atol=1e-5
            )


def test_words_outside_all_passages_find_their_document(shelf: Path, put: Put) -> None:
    book = _book("book", 3)
    book["text"] = f"Of quadrants ........ 12\n{book['text']}"
    book["sections"] = []
    put([book], name="book")
    build_index(shelf, OPTIONS)
    engine = Engine(open_index(shelf))
    scores = engine.scores(engine.look_up(["quadrant"]), "lexical")
    assert scores.total.argmax() == 40
    assert scores.units is not None
    assert scores.units[40] == 40


def test_later_ingests_keep_passages_in_step(books: Path, put: Put) -> None:
    put([_book("book/1", 1), _book("book/2", 7, pages=6)], name="books")
    put([_book("book/3", 8, pages=5), {"id": "note", "text": "a short note on rope"}], name="more")
    folded = open_index(books)
    in_step = _spans(books)
    assert folded.manifest.passages == 8 + 6 + 5
    counts = _counts(folded)
    build_index(books, OPTIONS)
    assert _spans(books) == in_step
    assert _counts(open_index(books)) == counts


def test_when_the_last_book_goes_its_passages_go(books: Path, put: Put) -> None:
    with lpisearch.open(books) as library:
        library.delete("book/1", "book/2")
    put([{"id": "note", "text": "a short note on rope"}], name="more")
    index = open_index(books)
    assert index.manifest.passages == 0
    assert passage_arrays(index.arrays) == set()
    with lpisearch.open(books) as library:
        assert library.search("harbour ship").hits
        assert all(finding.ok for finding in library.examine())


def test_an_index_without_passages_answers_as_before(books: Path, put: Put) -> None:
    index = open_index(books)
    arrays = {n: a for n, a in index.arrays.items() if n not in passage_arrays(index.arrays)}
    earlier = SubspaceIndex(replace(index.manifest, passages=None), arrays)
    with open_store(books, writable=True) as store:
        publish_index(books, store, earlier)
    put([{"id": "note", "text": "a short note on rope"}], name="more")
    assert open_index(books).manifest.passages is None
    with lpisearch.open(books) as library:
        assert library.search("harbour ship").hits
        (state,) = library.status()["indexes"]
        assert "long documents (2)" in state["rebuild"]
        library.index(options=OPTIONS)
        assert library.status()["indexes"][0]["rebuild"] == ""
        assert json.dumps(library.status()["indexes"][0]["passages"]) == "16"


@pytest.mark.parametrize("by", ["hybrid", "semantic", "lexical"])
def test_evaluate_measures_what_a_search_answers(books: Path, tmp_path: Path, by: str) -> None:
    asked, judged = {"1": "ship harbour anchor", "2": "bread sail"}, {"book/1": 1, "book/2": 1}
    queries, judgements = tmp_path / "queries.tsv", tmp_path / "qrels.txt"
    queries.write_text("".join(f"{name}\t{text}\n" for name, text in asked.items()))
    judgements.write_text("".join(f"{name} 0 {book} 1\n" for name in asked for book in judged))
    wanted = lpisearch.RetrievalOptions(queries, judgements, by=(by,), measures=("AP",))
    with lpisearch.open(books) as library:
        run = {
            name: [(hit.id, hit.score) for hit in library.search(text, by=by, k=50, collapse=False)]
            for name, text in asked.items()
        }
        (row,) = library.evaluate("retrieval", wanted=wanted).tables[0].rows
        (alone,) = library.evaluate("retrieval", wanted=replace(wanted, whole=True)).tables[0].rows
    found = score_run(run, dict.fromkeys(asked, judged), parse_measures(["AP"]))["AP"]
    assert row["AP"] == pytest.approx(fmean(found.values()), abs=1e-4)
    assert alone["AP"] != pytest.approx(row["AP"], abs=1e-3)
