"""Which language a library gets, and when it keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lpisearch.admin.curation import library_status
from lpisearch.admin.maintenance import retokenise
from lpisearch.errors import BadOption
from lpisearch.index.build import build_index
from lpisearch.options import IndexOptions
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
    assert report.notes == ["Language: german in 2 documents; language fixes one"]


@pytest.mark.parametrize(("small", "language"), [(1, "german"), (200, "english")])
def test_the_language_stays_once_a_library_is_not_small(
    put: Ingest, library: Path, monkeypatch: pytest.MonkeyPatch, small: int, language: str
) -> None:
    monkeypatch.setattr("lpisearch.ingest.ingestion._FIRST_SAMPLE", small)
    put([{"text": GERMAN}] * 2)
    report = put([{"text": ENGLISH}] * 5, name="more", language="auto")
    assert library_status(Session(library))["language"] == language
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
    assert report.notes == ["Language: english in 1 document; language fixes one"]


def test_each_document_has_its_language(put: Ingest, library: Path) -> None:
    records = [{"text": ENGLISH}] + [{"text": f"{GERMAN} {number}"} for number in range(9)]
    put(records, batch_documents=1)
    status = library_status(Session(library))
    assert (status["language"], status["languages"]) == ("english", {"german": 9, "english": 1})
    retokenise(library, "auto")
    assert library_status(Session(library))["language"] == "german"
    retokenise(library, "french")
    status = library_status(Session(library))
    assert (status["language"], status["languages"]) == ("french", {})


def test_a_language_holds_for_the_files_of_a_run(put: Ingest, library: Path) -> None:
    put([{"text": ENGLISH}, {"text": GERMAN}])
    put([{"text": "Haus Baum"}], name="more", language="de")
    assert library_status(Session(library))["languages"] == {"german": 2, "english": 1}
    retokenise(library)
    assert library_status(Session(library))["languages"] == {"german": 2, "english": 1}
    put([{"text": "Haus Baum"}], name="more", language="fr")  # the file is unchanged
    assert library_status(Session(library))["languages"] == {"english": 1, "french": 1, "german": 1}
    retokenise(library, "auto")
    assert library_status(Session(library))["languages"] == {"english": 2, "german": 1}


def test_an_index_notices_other_languages(put: Ingest, library: Path) -> None:
    things = ["cat", "tree", "house", "boat", "harbour", "sail", "bread", "oven", "garden"]
    records = [{"text": f"{ENGLISH} {one} {other}"} for one in things for other in things]
    put(records)
    build_index(library, IndexOptions())
    assert library_status(Session(library))["indexes"][0]["note"] == ""
    put(records, language="de")
    assert library_status(Session(library))["languages"] == {"german": 81}
    assert "another language" in library_status(Session(library))["indexes"][0]["note"]


def test_a_library_of_one_language_keeps_it(put: Ingest, library: Path) -> None:
    put([{"text": ENGLISH}], language="en")
    put([{"text": GERMAN}], name="more")
    assert library_status(Session(library))["languages"] == {}
    with pytest.raises(BadOption, match="this library is in english"):
        put([{"text": GERMAN}], name="others", language="de")


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
