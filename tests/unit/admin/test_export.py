from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lpisearch.admin.curation import export_documents
from lpisearch.errors import LibraryUnwritable
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.ingest.recorder import BatchWriter, Incoming
from lpisearch.model.documents import Document, Filter, Source
from lpisearch.options import IngestOptions
from lpisearch.search.session import Session
from lpisearch.storage import create_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Folder = Callable[..., Path]
    Ingest = Callable[..., Any]


def _stored(library: Path, documents: list[Document]) -> None:
    """Put documents into a new library, past all readers."""
    with create_store(library) as store, store.writing() as transaction:
        transaction.sources.save([Source(1, "/s.jsonl", "/", "jsonl", 1, 1, "")], "")
        batch = [
            Incoming(
                1, position, (document.id or "",), stated=True, path="/s.jsonl", document=document
            )
            for position, document in enumerate(documents, start=1)
        ]
        BatchWriter(lambda write: write, lambda _: False).write(transaction, batch, "")


def _export(library: Path) -> str:
    stream = io.StringIO()
    export_documents(Session(library), stream)
    return stream.getvalue()


# What readers let through: no NUL, no carriage return, no lone surrogate.
_TEXT = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=20)
_WORDS = _TEXT.filter(lambda text: bool(text.strip()))
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=5,
)
_DOCUMENTS = st.builds(
    Document,
    title=_TEXT,
    text=_WORDS,
    id=_WORDS,
    labels=st.lists(_WORDS, unique=True, max_size=4).map(tuple),
    split=_TEXT,
    date=st.sampled_from(["", "2026-01-02", "2026", "2026-01-02T03:04:05+01:00"]),
    path=_TEXT,
    media_type=st.sampled_from(["text/plain", "application/pdf", "text/x-ü"]),
    metadata=st.dictionaries(_TEXT, _JSON, max_size=4),
)


@given(st.lists(_DOCUMENTS, min_size=1, max_size=12, unique_by=lambda one: one.id))
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
def test_an_export_makes_the_same_library(
    tmp_path_factory: pytest.TempPathFactory, documents: list[Document]
) -> None:
    folder = tmp_path_factory.mktemp("export")
    _stored(folder / "first.db", documents)
    exported = folder / "export.jsonl"
    assert export_documents(Session(folder / "first.db"), exported) == len(documents)
    report = run_ingest(folder / "second.db", [str(exported)], IngestOptions())
    assert (report.added, report.failures, report.warnings) == (len(documents), [], [])
    assert _export(folder / "second.db").encode() == exported.read_bytes()


def test_an_export_of_real_files_makes_the_same_library(
    folder: Folder, ingest: Ingest, library: Path, tmp_path: Path
) -> None:
    root = folder(
        {
            "train/sea/a.txt": "A letter\nabout ships.",
            "test/land/b.md": "---\ntitle: Cake\ntags: [x, y]\nby: {a: [1, 2.5]}\n---\nA *recipe*.",
            "c.csv": "id,text,category,colour\nc1,Third,z,red\n",
            "d.html": "<title>Four</title><p>Fourth &amp; last",
            "e.jsonl": '{"text": "No id"}\n{"_id": "7", "title": "T", "text": "X", "n": 1e3}\n',
        }
    )
    assert ingest(root).added == 6
    exported = tmp_path / "export.jsonl"
    export_documents(Session(library), exported)
    other = tmp_path / "other.db"
    assert ingest(exported, into=other).added == 6
    assert _export(other).encode() == exported.read_bytes()
    assert ingest(exported, into=other).unchanged == 6


def test_an_export_does_not_depend_on_its_folder(
    folder: Folder, ingest: Ingest, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    ingest(folder({"a.txt": "One."}), into=first)
    target = folder({"train/sea/keep.txt": ""}, "elsewhere") / "train" / "sea" / "e.jsonl"
    export_documents(Session(first), target)
    report = ingest(target.parents[2] / "**" / "*.jsonl", into=second)
    assert report.added == 1
    assert _export(second).encode() == target.read_bytes()


def test_an_export_can_be_narrowed(folder: Folder, ingest: Ingest, library: Path) -> None:
    files = {
        f"{split}/{label}/{n}.txt": "x"
        for split in ("train", "test")
        for label in "ab"
        for n in range(2)
    }
    ingest(folder(files), labels="folder", split="folder")
    stream = io.StringIO()
    wanted = Filter(labels=("a",), split="train", path="*/1.txt")
    assert export_documents(Session(library), stream, wanted) == 1
    assert json.loads(stream.getvalue())["id"] == "train/a/1.txt"


def test_an_export_appears_whole_or_not_at_all(
    folder: Folder, ingest: Ingest, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(folder({f"{n}.txt": "x" for n in range(3)}))
    target = tmp_path / "out" / "export.jsonl"
    target.parent.mkdir()
    before = _export(library)
    target.write_text(before, encoding="utf-8")

    def fail(value: Any) -> str:
        if value["id"] == "2.txt":
            raise OSError(28, "No space left on device")
        return json.dumps(value)

    monkeypatch.setattr("lpisearch.admin.curation.json_text", fail)
    with pytest.raises(LibraryUnwritable, match=f"{target}: No space left"):
        export_documents(Session(library), target)
    assert target.read_text(encoding="utf-8") == before
    assert list(target.parent.iterdir()) == [target]


def test_an_export_has_the_rights_of_any_new_file(
    folder: Folder, ingest: Ingest, library: Path, tmp_path: Path
) -> None:
    ingest(folder({"a.txt": "x"}))
    target, plain = tmp_path / "export.jsonl", tmp_path / "plain"
    plain.touch()
    export_documents(Session(library), target)
    assert target.stat().st_mode == plain.stat().st_mode
