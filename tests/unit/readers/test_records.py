from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.model.codec import to_json
from lpisearch.model.documents import Document, Problem, Section
from lpisearch.options import ReadOptions
from lpisearch.readers.records import (
    FieldRoles,
    Unusable,
    date_of,
    document_from_fields,
    find_roles,
    json_safe,
)

AUTO = ReadOptions()


def _document(
    fields: dict[str, Any], options: ReadOptions = AUTO, separators: str = ""
) -> Document:
    found = document_from_fields(fields, find_roles(fields, options), separators=separators)
    assert isinstance(found, Document), found
    return found


def _problem(fields: dict[str, Any]) -> str:
    found = document_from_fields(fields, find_roles(fields, AUTO))
    assert isinstance(found, Problem), found
    return found.reason


def test_usual_names_are_known_best_first() -> None:
    document = _document({"body": "b", "text": "t", "docno": "7", "headline": "h", "topics": ["x"]})
    assert (document.id, document.title, document.text) == ("7", "h", "t")
    assert document.labels == ("x",)
    assert document.metadata == {"body": "b"}


def test_case_and_space_of_names_do_not_matter() -> None:
    assert _document({"Title": "a", " TEXT ": "b"}) == Document("a", "b")


def test_named_fields_come_before_usual_ones() -> None:
    options = ReadOptions(
        id_field="key", title_field="head", text_field="words", labels="kind", split="part"
    )
    fields = {"key": 1, "head": "h", "words": "w", "kind": "k", "part": "dev", "text": "t"}
    assert _document(fields, options) == Document(
        "h", "w", id="1", labels=("k",), split="dev", metadata={"text": "t"}
    )


def test_field_plays_one_part_only() -> None:
    parts = find_roles(["title", "x"], replace(AUTO, text_field="title"))
    assert (parts.title, parts.text, parts.others) == (None, "title", ("x",))


@pytest.mark.parametrize("word", ["none", "folder", "labels.csv", "LABELS.TSV"])
def test_no_labels_from_fields_unless_asked(word: str) -> None:
    fields = {"text": "t", "labels": ["a"], "split": "train"}
    document = _document(fields, ReadOptions(labels=word, split=word))
    assert (document.labels, document.split) == ((), "")
    assert document.metadata == {"labels": ["a"], "split": "train"}


def test_missing_named_fields_are_told() -> None:
    parts = find_roles(["text"], replace(AUTO, id_field="key", labels="kind"))
    assert parts.missing == {"id": "key", "labels": "kind"}


@pytest.mark.parametrize(
    ("value", "separators", "labels"),
    [
        ("a;b", "", ("a;b",)),
        ("a; b|c;;a", ";|", ("a", "b", "c")),
        (["b", "a", "b", "", " "], "", ("b", "a")),
        ([1, True, None, 2.5], "", ("1", "true", "2.5")),
        (3, "", ("3",)),
        (None, "", ()),
        ("", ";", ()),
    ],
)
def test_labels_are_words_each_once(value: Any, separators: str, labels: tuple[str, ...]) -> None:
    assert _document({"text": "t", "labels": value}, separators=separators).labels == labels


@pytest.mark.parametrize(
    ("value", "iso"),
    [
        ("2024-01-31", "2024-01-31"),
        ("2024-01-31T12:30:00+01:00", "2024-01-31T12:30:00+01:00"),
        ("2024-01-31 12:30", "2024-01-31T12:30:00"),
        ("20240131", "2024-01-31T00:00:00"),
        ("1999", "1999"),
        (1999, "1999"),
        ("1999-12", "1999-12"),
        ("Wed, 31 Jan 2024 12:30:45 +0100", "2024-01-31T12:30:45+01:00"),
        (dt.date(2024, 1, 31), "2024-01-31"),
        ("31/01/2024", ""),
        ("1999-13", ""),
        ("yesterday", ""),
        (None, ""),
        (True, ""),
        ([2024], ""),
    ],
)
def test_dates_become_iso(value: Any, iso: str) -> None:
    assert date_of(value) == iso


def test_what_is_no_date_stays_as_metadata() -> None:
    document = _document({"text": "t", "date": "31/01/2024", "path": ["a", "b"]})
    assert (document.date, document.path) == ("", "")
    assert document.metadata == {"date": "31/01/2024", "path": ["a", "b"]}


def test_library_export_round_trips() -> None:
    document = Document(
        "A title",
        "\n Text with  space \n\n",
        id="mail/1",
        labels=("sea", "wood; oak"),
        split="test",
        date="2024-01-31T12:30:45+01:00",
        path="mail/1.eml",
        media_type="message/rfc822",
        metadata={"title": "x", "nested": {"a": [1, None, 2.5, True]}, "labels": "y"},
        sections=(Section(0, "page", "1"), Section(7, "heading", "With space")),
    )
    assert _document(json.loads(json.dumps(to_json(document)))) == document


@pytest.mark.parametrize(
    "value",
    [
        ["Results"],
        "page 1",
        [{"start": 0, "kind": "verse", "name": "1"}],
        [{"start": 9, "kind": "page", "name": "1"}],
        [{"start": -1, "kind": "page", "name": "1"}],
        [{"start": 0, "kind": "page", "name": 1}],
        [{"start": 3, "kind": "page", "name": "2"}, {"start": 2, "kind": "page", "name": "1"}],
    ],
)
def test_sections_of_another_form_are_metadata(value: Any) -> None:
    document = _document({"text": "words", "sections": value})
    assert document.sections == ()
    assert document.metadata == {"sections": value}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "has neither title nor text"),
        ({"text": "  \n", "title": None, "x": 1}, "has neither title nor text"),
        ({"text": {"a": 1}}, "its field “text” is an object, not text"),
        ({"text": [["a"]]}, "its field “text” is a nested list, not text"),
        ({"text": "t", "_id": [1]}, "its field “_id” is a list, not an id"),
        ({"text": "t", "labels": {"a": 1}}, "its field “labels” is an object, not text"),
    ],
)
def test_useless_record_is_a_problem(fields: dict[str, Any], reason: str) -> None:
    assert _problem(fields) == reason


def test_deep_metadata_is_refused() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert _problem({"text": "t", "deep": deep}) == "its metadata is nested deeper than 32 levels"


def test_lists_of_words_are_text() -> None:
    assert _document({"title": 7, "text": ["a", "b"]}) == Document("7", "a\nb")


def test_base_holds_where_no_field_says_otherwise() -> None:
    base = Document("file", "body", media_type="text/markdown", metadata={"encoding": "cp1252"})
    found = document_from_fields({"k": 1}, FieldRoles(others=("k",)), base)
    assert found == replace(base, metadata={"encoding": "cp1252", "k": 1})


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=10,
)


@given(_VALUES)
def test_metadata_survive_json(value: Any) -> None:
    try:
        safe = json_safe(value)
    except Unusable:
        return
    assert json.loads(json.dumps(safe, allow_nan=False)) == safe


def test_huge_integer_is_kept_as_hexadecimal() -> None:
    assert json_safe(16**5000) == "0x1" + "0" * 5000
