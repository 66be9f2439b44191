from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.admin.curation import delete_documents, list_documents, show_document
from lpisearch.errors import DocumentNotFound, SeveralDocuments
from lpisearch.search.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def root(folder: Callable[..., Path], ingest: Callable[..., Any]) -> Path:
    """Return a folder that is in the library: one file of one document, one of two."""
    made = folder({"a.txt": "A letter.", "b.jsonl": '{"text": "one"}\n{"text": "two"}\n'})
    ingest(made)
    return made


def test_a_document_is_shown_by_id_or_path(
    library: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    for name in ("a.txt", str(root / "a.txt"), "./a.txt"):
        assert show_document(Session(library), name).text.strip() == "A letter."
    assert show_document(Session(library), "b.jsonl#2").text == "two"


def test_a_path_of_several_documents_is_stated(library: Path, root: Path) -> None:
    path = str(root / "b.jsonl")
    with pytest.raises(SeveralDocuments, match="2 documents") as caught:
        show_document(Session(library), path)
    assert path in caught.value.next_step
    with pytest.raises(SeveralDocuments):
        delete_documents(library, ["a.txt", path])
    assert list_documents(Session(library))[1] == 3


def test_an_unknown_name_is_stated(library: Path, root: Path) -> None:
    with pytest.raises(DocumentNotFound, match=r"zzz"):
        show_document(Session(library), f"{root}/zzz")
