import io
from collections.abc import Callable
from pathlib import Path

import pytest

import lpisearch
from lpisearch import Library
from lpisearch.errors import LibraryNotFound


@pytest.fixture
def opened(library: Path, folder: Callable[..., Path]) -> Library:
    """Return a library of two documents."""
    opened = lpisearch.open(library)
    assert (
        opened.ingest(folder({"sea/a.txt": "Ships.", "land/b.txt": "Cake."}), labels="folder").added
        == 2
    )
    return opened


def test_opening_touches_nothing(library: Path) -> None:
    opened = lpisearch.open(str(library))
    assert opened.path == library
    with pytest.raises(LibraryNotFound):
        opened.status()
    assert not library.exists()


def test_the_default_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("LPISEARCH_DB", raising=False)
    assert lpisearch.open().path == Path("lpisearch.db")
    monkeypatch.setenv("LPISEARCH_DB", "/elsewhere/notes.db")
    assert lpisearch.open().path == Path("/elsewhere/notes.db")
    assert lpisearch.open("mine.db").path == Path("mine.db")


def test_documents_through_python(opened: Library) -> None:
    assert opened.status()["documents"] == 2
    assert [entry.id for entry in opened.entries()] == ["land/b.txt", "sea/a.txt"]
    wanted = lpisearch.Filter(labels=("sea",))
    assert [entry.id for entry in opened.entries(wanted)] == ["sea/a.txt"]
    document = opened.document("sea/a.txt")
    assert (document.text, document.labels) == ("Ships.", ("sea",))
    assert opened.delete("sea/a.txt") == 1
    assert len(opened.entries()) == 1


def test_export_examine_and_backup_through_python(opened: Library, tmp_path: Path) -> None:
    stream = io.StringIO()
    assert opened.export(stream) == 2
    assert opened.export(tmp_path / "out.jsonl") == 2
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == stream.getvalue()
    copy = lpisearch.open(opened.back_up(tmp_path / "copy.db"))
    assert copy.status()["documents"] == 2
    assert all(finding.ok for one in (opened, copy) for finding in one.examine())


def test_options_and_progress(library: Path, folder: Callable[..., Path]) -> None:
    told: list[object] = []
    options = lpisearch.IngestOptions(read=lpisearch.ReadOptions(labels="none"))
    root = folder({"sea/a.txt": "Ships."})
    lpisearch.open(library).ingest(root, options=options, on_progress=told.append)
    assert lpisearch.open(library).entries()[0].labels == ()
    assert told
