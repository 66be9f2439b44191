"""Shards answer as the library does that they were made from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lpisearch
from lpisearch import BadOption, Document, DocumentNotFound, Filter, SearchOptions
from lpisearch.indexes import index as index_module
from lpisearch.indexes.scoring import hybrid

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch import Library
    from lpisearch.records import Answer, Hit

COPIES = 3
WAYS = ("hybrid", "semantic", "lexical")
QUESTIONS = (
    "ship harbour",
    "star -telescope",
    '"harbour lamp"',
    '"old harbour lamp" bread',
    "telesc*",
    "shipp oven",
    "title:bread",
    "nothingknown",
    '"no such words"',
    "",
)
ASKED: tuple[dict[str, Any], ...] = (
    {"sort": "title", "facets": True},
    {"label": ["sea", "sky"], "k": 30},
    {"options": SearchOptions(collapse=True, k=25, offset=2)},
    {"options": SearchOptions(min_score=1.0, semantic_weight=2.0)},
    {"options": SearchOptions(where=Filter(since="2015", split="train", path="/notes/sea"))},
)


def near(one: float | None, other: float | None) -> bool:
    """Compare scores to the accuracy of float32."""
    return one == other if one is None or other is None else bool(np.isclose(one, other, atol=1e-5))


def bare(hit: Hit) -> Hit:
    """Leave out what is compared as numbers."""
    return replace(hit, score=0.0, cosine=None, bm25=None, cosine_rank=None, explanation=None)


def assert_same(one: Answer, other: Answer) -> None:
    """Compare all of two answers."""
    assert list(map(bare, one)) == list(map(bare, other))
    for hit, same in zip(one, other, strict=True):
        for name in ("score", "cosine", "bm25"):
            assert near(getattr(hit, name), getattr(same, name)), (hit.id, name)
        # Of copies, whose places are the same, any may be before the others by the last bit.
        assert abs((hit.cosine_rank or 0) - (same.cosine_rank or 0)) < COPIES
    said = ("by", "notes", "suggestions", "facets", "missing")
    assert [getattr(one, name) for name in said] == [getattr(other, name) for name in said]


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_those_of_the_whole(whole: Library, parts: Library, question: str) -> None:
    """Hits, their order, scores and ranks, passages and notes: nothing differs."""
    assert_same(whole.search(question), parts.search(question))


@pytest.mark.parametrize("by", ["semantic", "lexical"])
def test_each_way_answers_as_the_whole(whole: Library, parts: Library, by: str) -> None:
    """By places alone, and by words alone."""
    for question in ("ship harbour", '"old harbour lamp" bread', "nothingknown"):
        assert_same(whole.search(question, by=by, k=30), parts.search(question, by=by, k=30))


@pytest.mark.parametrize("given", ASKED)
def test_options_mean_the_same(whole: Library, parts: Library, given: dict[str, Any]) -> None:
    """Filters, another order, near-duplicates, least scores, weights, facets."""
    for question in ("harbour lamp -telescope", "bread"):
        assert_same(whole.search(question, **given), parts.search(question, **given))


@pytest.mark.parametrize("by", WAYS)
def test_similar_documents_are_those_of_the_whole(whole: Library, parts: Library, by: str) -> None:
    """A document of any shard, by id or path, and one that is nowhere."""
    new = Document(title="Ship", text="a storm in the harbour")
    for document in ("sea/00", "/notes/sky/59.txt", new):
        assert_same(whole.similar(document, by=by), parts.similar(document, by=by))


def test_documents_move_a_question_from_any_shard(whole: Library, parts: Library) -> None:
    """Documents of different shards are wanted and unwanted; none of them is found."""
    given: dict[str, Any] = {"like": ["sea/00", "sky/59"], "unlike": ["kitchen/25"], "k": 70}
    assert_same(whole.search("lamp", **given), parts.search("lamp", **given))


def test_explanations_are_those_of_the_whole(whole: Library, parts: Library) -> None:
    """A cosine is taken apart by pairs of words, and a score by legs, wherever the document is."""
    asked: dict[str, Any] = {"explain": True, "k": 5}
    pairs = zip(
        whole.search("storm lamp", **asked), parts.search("storm lamp", **asked), strict=True
    )
    for one, other in pairs:
        assert one.explanation is not None
        assert other.explanation is not None
        assert near(one.explanation.cosine, other.explanation.cosine)
        assert one.explanation.by_query_term == other.explanation.by_query_term
        here, there = (each.reason("storm lamp", one.id) for each in (whole, parts))
        assert [leg.name for leg in here.legs] == [leg.name for leg in there.legs]
        for leg, same in zip(here.legs, there.legs, strict=True):
            assert near(leg.share, same.share)


@pytest.mark.parametrize("by", WAYS)
def test_batches_are_those_of_the_whole(whole: Library, parts: Library, by: str) -> None:
    """The ids in order, their scores, and what is said of the queries."""
    queries = [("1", "ship -harbour"), ("2", "star night"), ("3", "zzz"), ("4", "the cake")]
    for options in (SearchOptions(by=by, k=70), SearchOptions(by=by, collapse=True, offset=2)):
        said: list[list[str]] = [[], []]
        one, other = (
            list(library.batch(queries, options=options, on_note=notes.append))
            for library, notes in zip((whole, parts), said, strict=True)
        )
        assert [[name for name, _ in hits] for _, hits in one] == [
            [name for name, _ in hits] for _, hits in other
        ]
        scores = [[[score for _, score in hits] for _, hits in runs] for runs in (one, other)]
        assert np.allclose(np.concatenate(scores[0]), np.concatenate(scores[1]), atol=1e-5)
        assert said[0] == said[1]


def test_large_libraries_are_ranked_alike(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packed places, and a moved question that is compared with the best of all shards alone."""
    monkeypatch.setattr(index_module, "PACKED_FROM", 10)
    monkeypatch.setattr(hybrid, "COMPARED_AGAIN", 12)
    with lpisearch.open(tmp_path / "large.db") as whole:
        whole.ingest(made / "records.jsonl")
        whole.index(dims=6)
        whole.split(tmp_path / "parts", 4)
        with lpisearch.open(tmp_path / "parts") as parts:
            for question in QUESTIONS[:2]:
                one, other = (each.search(question, k=62) for each in (whole, parts))
                assert_same(one, other)


def test_what_is_asked_badly_is_said(parts: Library) -> None:
    """Labels, documents and ways that there are not."""
    with pytest.raises(BadOption, match=r"no document has the label “se”.*sea"):
        parts.search("ship", label="se")
    with pytest.raises(BadOption, match="no document has the predicted label"):
        parts.facets(Filter(predicted=("sea",)))
    with pytest.raises(BadOption, match="no way"):
        parts.search("ship", by="magic")
    with pytest.raises(BadOption, match="sorted by score"):
        next(parts.batch([("1", "ship")], options=SearchOptions(sort="title")))
    with pytest.raises(DocumentNotFound):
        parts.similar("nobody", files=False)
    with pytest.raises(DocumentNotFound):
        parts.reason("ship", "nobody")
    with pytest.raises(lpisearch.IndexNotFound):
        parts.search("ship", index="other")
