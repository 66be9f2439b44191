"""Records to JSON and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lpisearch.messages import Message, call
from lpisearch.model.answers import (
    Answer,
    Explanation,
    Facets,
    Hit,
    Pair,
    Passage,
    SharedTopic,
    Suggestion,
)
from lpisearch.model.codec import BadForm, Findings, from_json, to_json
from lpisearch.model.documents import (
    Document,
    Filter,
    Finding,
    IngestReport,
    PredictedLabel,
    Section,
)
from lpisearch.options import EvaluateOptions, IndexOptions, IngestOptions, SearchOptions


@pytest.mark.parametrize("kind", [SearchOptions, IngestOptions, IndexOptions, EvaluateOptions])
def test_options_come_back(kind: type) -> None:
    made = kind()
    assert from_json(kind, to_json(made)) == made
    assert from_json(kind, {}) == made


def test_what_is_nested_comes_back() -> None:
    where = Filter(labels=("a",), metadata=(("k", "v"),))
    options = SearchOptions(where=where, min_score=1.5)
    assert from_json(SearchOptions, to_json(options)) == options
    assert (
        from_json(PredictedLabel, {"label": "a", "confidence": 1, "classifier": "svm"}).confidence
        == 1.0
    )
    assert from_json(Section, {"start": 1, "kind": "page", "name": "2"}) == Section(1, "page", "2")
    assert from_json(dict[str, int], {"a": 1}) == {"a": 1}
    assert from_json(Path, "a/b") == Path("a/b")
    report = IngestReport(added=1, skipped={"x": 2})
    assert from_json(IngestReport, to_json(report) | {"later": 1}) == report


@pytest.mark.parametrize(
    ("kind", "value", "where"),
    [
        (SearchOptions, {"k": "1"}, "k"),
        (SearchOptions, {"k": True}, "k"),
        (SearchOptions, {"k": 1.0}, "k"),
        (SearchOptions, {"k": 2**53}, "k"),
        (SearchOptions, {"min_score": 10**400}, "min_score"),
        (SearchOptions, {"where": {"labels": ["a", 1]}}, "where.labels[1]"),
        (SearchOptions, {"where": {"metadata": [["k"]]}}, "where.metadata[0]"),
        (SearchOptions, {"wher": {}}, "wher"),
        (SearchOptions, [], ""),
        (IndexOptions, {"settings": {"a": [1]}}, "settings.a"),
        (Section, {"start": 1}, "kind"),
        (dict[str, int], [], ""),
        (tuple[str, ...], "ab", ""),
    ],
)
def test_what_is_wrong_is_named(kind: Any, value: Any, where: str) -> None:
    with pytest.raises(BadForm) as caught:
        from_json(kind, value, strict=True)
    assert caught.value.where == where
    assert caught.value.reason


def test_answers_come_back() -> None:
    why = Explanation(
        0.5, 0.5, (Pair("car", "engine", 0.4),), (("car", 0.5),), (SharedTopic(3, 0.2, ("wheel",)),)
    )
    passages = (Passage("a car", ((2, 5),), 3, 8, Section(0, "page", "1"), "1"), Passage("engine"))
    hit = Hit(1, "a", "A", ("x",), "a.txt", "", 0.5, passages=passages, explanation=why)
    answer = Answer((hit,), "hybrid", ("a note",), (Suggestion("cra", ("car",)),), Facets(1))
    document = Document("A", "text", "a", ("x",), sections=(Section(0, "page", "1"),))
    for record in (answer, Answer((), "lexical"), document, Document("", "text", "a")):
        assert from_json(type(record), to_json(record)) == record


def test_messages_stay_messages() -> None:
    finding = Finding("tokens", ok=False, detail="missing", next_step=call("examine"))
    step = to_json(Findings.of([finding]))["findings"][0]["next_step"]
    assert isinstance(step, Message)
    assert step.parts == call("examine").parts
