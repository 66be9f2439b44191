from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem, Section
from lpisearch.options import ReadOptions
from lpisearch.readers.markdown import MEDIA_TYPE, READER, markdown_to_text, split_front_matter
from tests.readers import read

if TYPE_CHECKING:
    from pathlib import Path

FRONT = b"""---
title: Of Boats
tags: [sea, wood, sea]
split: test
date: 2024-01-31
id: 7
draft: true
seen: {first: 2020-05-17, by: [ann, 3]}
---
# A heading

The boat *floats*.
"""


_read = partial(read, READER)


def test_front_matter_becomes_fields(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.md", FRONT) == [
        Document(
            "Of Boats",
            "A heading\n\nThe boat floats.",
            labels=("sea", "wood"),
            split="test",
            date="2024-01-31",
            media_type=MEDIA_TYPE,
            metadata={"id": 7, "draft": True, "seen": {"first": "2020-05-17", "by": ["ann", 3]}},
            sections=(Section(0, "heading", "A heading"),),
        )
    ]


def test_named_fields_of_front_matter_are_used(tmp_path: Path) -> None:
    options = ReadOptions(id_field="id", labels="topic", text_field="body")
    (document,) = _read(tmp_path / "a.md", FRONT.replace(b"draft: true", b"topic: a, b"), options)
    assert isinstance(document, Document)
    assert (document.id, document.labels) == ("7", ("a", "b"))
    assert document.metadata["tags"] == ["sea", "wood", "sea"]


def test_broken_front_matter_is_text(tmp_path: Path) -> None:
    warning, document = _read(tmp_path / "a.md", b"---\ntitle: [\n---\n# Boats\nfloat\n")
    assert isinstance(warning, Problem)
    assert warning.warning
    assert warning.reason.startswith("front matter is read as text: not valid YAML in line 3")
    assert isinstance(document, Document)
    assert document.text.startswith("title: [\nBoats")


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("a: &x [1]\nb: *x\n", "YAML aliases are not allowed"),
        ("date: 2024-13-45\n", "month must be in 1..12"),
        ("a: !!python/object:os.system ls\n", "could not determine a constructor"),
        ("a: !!int ''\n", "string index out of range"),
        ("[" * 30_000 + "\n", "too many brackets"),
        ("- " * 20_000 + "\n", "nested too deeply"),
        ("a: x\n" * 20_000, "over 64 KiB"),
        ("!" * 9000 + " x\n", "not valid YAML"),
    ],
)
def test_hostile_front_matter_is_text(block: str, reason: str) -> None:
    source = f"---\n{block}---\nbody\n"
    begun = time.monotonic()
    fields, text, (warning,) = split_front_matter(source)
    assert time.monotonic() - begun < 5
    assert (fields, text) == ({}, source)
    assert reason in warning.reason
    assert len(warning.reason) < 300


@pytest.mark.parametrize("source", ["---\nno end", "---\n---\nx", "---\njust words\n---\n", "# x"])
def test_rules_are_no_front_matter(source: str) -> None:
    assert split_front_matter(source) == ({}, source, [])


def test_front_matter_that_cannot_be_used_is_ignored(tmp_path: Path) -> None:
    warning, document = _read(tmp_path / "a.md", b"---\ntitle: {a: 1}\n---\n# Boats\n")
    assert warning == Problem(
        "front matter ignored: its field “title” is an object, not text", warning=True
    )
    assert isinstance(document, Document)
    assert document.title == "Boats"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("## A **bold** _it_ `code_x*` ##", "A bold it code_x*"),
        ('[link](http://x.y/a_(b) "t") ![img](a.png) [ref][1] foot[^1]', "link img ref foot"),
        ("[![picture](b.png)](c)", "picture"),
        ("- [x] done\n* star\n1. one\n> > quote", "done\nstar\n1. one\nquote"),
        (
            "```python\nx = a_b * c  # keep\n```\n~~~\n# no heading\n~~~",
            "x = a_b * c  # keep\n# no heading",
        ),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a b\n1 2"),
        ("a\n\n***\n- - -\nb", "a\n\nb"),
        ("x <!-- gone\n ## too --> y <!-- open", "x  y <!-- open"),
        ("snake_case 2 * 3 a*b \\*x\\*", "snake_case 2 * 3 a*b *x*"),
        ("&amp; <b>tag</b> <http://a.b> 1 < 2", "& tag http://a.b 1 < 2"),
        ("word [1]\n[1]: http://x\n", "word [1]"),
    ],
)
def test_marks_are_taken_off(source: str, text: str) -> None:
    assert markdown_to_text(source)[0] == text


@pytest.mark.parametrize(
    ("source", "headings"),
    [
        ("\n\ntext\n# One\n\n## *Two* #\n", ["One", "Two"]),
        ("One\n===\ntext\n\nTwo\n---", ["One", "Two"]),
        ("```\n# no heading\n```", []),
        ("text", []),
        ("---\n#\n", []),
    ],
)
def test_headings_are_sections(source: str, headings: list[str]) -> None:
    """Both ways to write a heading count, and a section begins where its heading stands."""
    text, sections = markdown_to_text(source)
    assert [one.name for one in sections] == headings
    assert [text[one.start :].split("\n")[0] for one in sections] == headings


def test_file_name_is_the_last_resort_for_a_title(tmp_path: Path) -> None:
    (document,) = _read(tmp_path / "of boats.md", b"They float.")
    assert document == Document("of boats", "They float.", media_type=MEDIA_TYPE)


def test_file_without_words_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match="has no text"):
        _read(tmp_path / "a.md", b"---\n\n<!-- nothing -->\n")


@pytest.mark.parametrize(
    "piece",
    ["[", "**a ", '[a](b "', "`", "<a ", "- ", "> ", "\\", "_", "| ", "<!--", " ", "![", "#"],
)
def test_hostile_line_takes_no_time(piece: str) -> None:
    begun = time.monotonic()
    markdown_to_text("x" + piece * 100_000 + "x")
    markdown_to_text(piece * 100_000 + "x")
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("mark", ["> ", "- ", "* "])
def test_text_in_deep_nesting_is_kept(mark: str) -> None:
    assert "deep" in markdown_to_text(mark * 1000 + "deep")[0]


def test_empty_lines_part_paragraphs() -> None:
    assert markdown_to_text("One\n\n \t\nTwo\n\n---\n") == ("One\n\n\nTwo", ())
