"""JSON to records by their type hints."""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from lpisearch import model
from lpisearch.model.codec import BadForm, hints, read, schema
from lpisearch.model.documents import Filter, IngestReport, PredictedLabel, Section
from lpisearch.options import EvaluateOptions, IndexOptions, IngestOptions, SearchOptions

_OPTIONS = [each for each in vars().values() if is_dataclass(each)]


@pytest.mark.parametrize("kind", [SearchOptions, IngestOptions, IndexOptions, EvaluateOptions])
def test_options_come_back(kind: type) -> None:
    """What options are as JSON is read as the same options."""
    made = kind()
    assert read(kind, asdict(made)) == made
    assert read(kind, {}) == made


def test_what_is_nested_comes_back() -> None:
    """Dataclasses in dataclasses, tuples of tuples, named tuples, mappings and paths."""
    where = Filter(labels=("a",), metadata=(("k", "v"),))
    options = SearchOptions(where=where, min_score=1.5)
    assert read(SearchOptions, asdict(options)) == options
    assert (
        read(PredictedLabel, {"label": "a", "confidence": 1, "classifier": "svm"}).confidence == 1.0
    )
    assert read(Section, {"start": 1, "kind": "page", "name": "2"}) == Section(1, "page", "2")
    assert read(dict[str, int], {"a": 1}) == {"a": 1}
    assert read(Path | None, "a/b") == Path("a/b")
    report = IngestReport(added=1, skipped={"x": 2})
    assert read(IngestReport, asdict(report) | {"later": 1}, strict=False) == report


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
    """The place of what cannot be taken is part of the error."""
    with pytest.raises(BadForm) as caught:
        read(kind, value)
    assert caught.value.where == where
    assert caught.value.reason


@pytest.mark.parametrize("kind", _OPTIONS, ids=lambda kind: kind.__name__)
def test_every_option_has_a_schema(kind: type) -> None:
    """Types of all fields are known, and described."""
    described = schema(kind)
    assert set(described["properties"]) == {each.name for each in fields(kind)}
    assert {"type"} & set(described)


@pytest.mark.parametrize("name", [
    "Answer", "Classification", "DimensionReport", "Document", "Entry", "Explanation", "Facets",
    "Finding", "Hit", "IndexPlan", "IndexReport", "IngestReport", "LabelReport", "PredictedLabel",
    "PredictionReport", "Report", "TopicReport",
])  # fmt: skip
def test_types_of_what_is_sent_are_known(name: str) -> None:
    """No record that a server sends has a hint that cannot be read."""
    kind = getattr(model, name)
    assert hints(kind)
    assert schema(kind)["properties"]
