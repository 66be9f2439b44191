"""How sections and passages are named on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lpisearch.cli.hits import section_name
from lpisearch.model.answers import Passage
from lpisearch.model.documents import Section

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result


@pytest.mark.parametrize(
    ("section", "page", "name"),
    [
        (None, "", ""),
        (Section(0, "page", "iv"), "iv", "page iv"),
        (Section(9, "heading", "Results"), "", "Results"),
        (Section(9, "heading", "Results"), "12", "page 12, Results"),
        (Section(0, "chapter", "The tide"), "", "chapter The tide"),
        (Section(0, "slide", "3"), "", "slide 3"),
        (Section(0, "sheet", "Prices"), "", "sheet Prices"),
    ],
)
def test_a_passage_is_named_by_page_and_section(
    section: Section | None, page: str, name: str
) -> None:
    assert section_name(Passage("text", section=section, page=page)) == name


def test_a_document_says_how_many_sections_it_has(
    folder: Callable[..., Path], ingest: Callable[..., object], cli: Callable[..., Result]
) -> None:
    ingest(folder({"a.md": "# Ships\n\nThey sail.\n\n## Masts\n\nThey stand.", "b.txt": "Plain."}))
    assert "2 headings" in cli("docs", "show", "a.md").stdout
    assert "heading" not in cli("docs", "show", "b.txt").stdout
    shown = json.loads(cli("docs", "show", "a.md", "--json").stdout)
    assert shown["sections"][1] == {"start": 19, "kind": "heading", "name": "Masts"}
