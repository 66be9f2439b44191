"""Which language a library gets at its first ingest, and that it keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lpisearch.admin.listing import library_status
from lpisearch.admin.maintenance import retokenise
from lpisearch.errors import BadOption
from lpisearch.search.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    from lpisearch.model.documents import IngestReport

    Ingest = Callable[..., IngestReport]

GERMAN = "Das ist der Hund, und die Katze sitzt nicht auf dem Baum."
ENGLISH = "This is the dog, and it was not on the tree with a cat."


def test_the_first_documents_tell_the_language(put: Ingest, library: Path) -> None:
    report = put([{"text": GERMAN}, {"text": "Ein Haus mit einem Garten ist nicht groß."}])
    assert library_status(Session(library))["language"] == "german"
    assert report.notes == ["Language: german (detected in 2 documents; language changes it)"]


def test_the_language_stays(put: Ingest, library: Path) -> None:
    put([{"text": GERMAN}])
    report = put([{"text": ENGLISH}] * 5, name="more", language="auto")
    assert library_status(Session(library))["language"] == "german"
    assert report.notes == []


def test_a_named_language_holds(put: Ingest, library: Path) -> None:
    report = put([{"text": GERMAN}], language="fr")
    assert library_status(Session(library))["language"] == "french"
    assert report.notes == []


def test_an_empty_folder_settles_nothing(put: Ingest, library: Path) -> None:
    put([], name="nothing")
    assert library_status(Session(library))["language"] is None
    put([{"text": GERMAN}])
    assert library_status(Session(library))["language"] == "german"


def test_documents_without_evidence_are_english(put: Ingest, library: Path) -> None:
    report = put([{"text": "ship boat harbour"}])
    assert library_status(Session(library))["language"] == "english"
    assert "too little text" in report.notes[0]


def test_later_documents_may_say_otherwise(put: Ingest, library: Path) -> None:
    records = [{"text": ENGLISH}] + [{"text": f"{GERMAN} {number}"} for number in range(9)]
    report = put(records, batch_documents=1)
    assert library_status(Session(library))["language"] == "english"
    assert report.notes[-1].endswith('Next: library.retokenise(language="german")')
    retokenise(library, "auto")
    assert library_status(Session(library))["language"] == "german"


def test_an_unknown_language_is_refused(put: Ingest) -> None:
    with pytest.raises(BadOption, match="klingon"):
        put([{"text": GERMAN}], language="klingon")


def test_the_command_says_the_language(
    cli: Callable[..., Result], folder: Callable[..., Path]
) -> None:
    """The note is on stderr, so that --json stays one value."""
    result = cli("ingest", folder({"a.txt": GERMAN}))
    assert "Language: german" in result.stderr
    assert "language" not in result.stdout
