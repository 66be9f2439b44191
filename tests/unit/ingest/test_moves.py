"""Files that moved keep their documents; nothing labelled by hand goes without a word."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import lpisearch
from lpisearch.errors import BadOption, GoneWithDocuments, NothingThere
from lpisearch.index.build import build_index
from lpisearch.model.answers import LabelShare
from lpisearch.model.documents import Filter
from lpisearch.options import IndexOptions
from lpisearch.storage import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    from lpisearch.model.documents import IngestReport

    Ingest = Callable[..., IngestReport]
    Sql = Callable[..., list[Any]]
    Folder = Callable[..., Path]
    Sound = Callable[..., None]

_COUNTS = ("added", "updated", "unchanged", "moved", "removed", "missing", "failed")
_WORDS = "ship sail harbour anchor bread oven yeast flour wheel chain brake saddle".split()  # noqa: SIM905
_LETTERS = {
    f"{n}.txt": f"Letter {n}\n\n{' '.join(_WORDS[(n * k) % 12] for k in range(1, 9))}"
    for n in range(1, 31)
}


def _counts(report: IngestReport) -> dict[str, int]:
    return {name: number for name in _COUNTS if (number := getattr(report, name))}


def _keys(sql: Sql) -> dict[str, int]:
    return dict(sql("SELECT external_id, id FROM documents"))


@pytest.mark.parametrize("keeps_time", [True, False])
def test_files_that_moved(
    folder: Folder, ingest: Ingest, sql: Sql, library: Path, sound: Sound, *, keeps_time: bool
) -> None:
    """Keys, labels by hand and predictions stay; ids and paths follow the files."""
    root = folder(_LETTERS | {"stays.txt": "not a letter"})
    ingest(root)
    with lpisearch.open(library) as opened:
        opened.label("3.txt", add="dear")
    keys = _keys(sql)
    with open_store(library, writable=True) as store, store.writing() as transaction:
        guess = LabelShare("guess", 0.9)
        transaction.labels.predict({keys["4.txt"]: [guess]}, "c", "today")
    (root / "sub").mkdir()
    for name in _LETTERS:
        (shutil.copy2 if keeps_time else shutil.copyfile)(root / name, root / "sub" / f"to {name}")
        (root / name).unlink()
    assert _counts(ingest(root)) == {"moved": 30, "unchanged": 1}
    moved = {f"sub/to {name}" if name in _LETTERS else name: key for name, key in keys.items()}
    assert _keys(sql) == moved
    assert sql("SELECT count(*) FROM sources") == [(31,)]
    assert sql("SELECT document_id, name FROM label_edits") == [(keys["3.txt"], "dear")]
    assert sql("SELECT document_id, name FROM predicted_labels") == [(keys["4.txt"], "guess")]
    with lpisearch.open(library) as opened:
        assert opened.document(str(root / "sub" / "to 3.txt")).labels == ("dear",)
    assert _counts(ingest(root)) == {"unchanged": 31}
    sound()


def test_a_renamed_folder_needs_no_new_index(
    folder: Folder, ingest: Ingest, sql: Sql, library: Path, sound: Sound
) -> None:
    """It keeps the rule of its labels, too."""
    root = folder(
        {f"{'ab'[n % 2]}/{name}": text for n, (name, text) in enumerate(_LETTERS.items())}, "n"
    )
    ingest(root, labels="folder")
    build_index(library, IndexOptions(dims=2))
    before = sql("SELECT * FROM indexes"), _keys(sql)
    root = root.rename(root.with_name("letters"))
    report = ingest(root)
    assert _counts(report) == {"moved": 30}
    assert not report.index_notes
    assert (sql("SELECT * FROM indexes"), _keys(sql)) == before
    next(root.glob("a/*.txt")).touch()
    assert _counts(ingest(root)) == {"unchanged": 30}
    with lpisearch.open(library) as opened:
        assert len(opened.entries(Filter(labels=("a",)))) == 15
        hits = opened.search("ship", by="semantic", k=50).hits
        assert {hit.path for hit in hits} <= set(map(str, root.glob("?/*.txt")))
        assert len(hits) > 1
    sound()


def test_twins_and_copies(folder: Folder, ingest: Ingest, sql: Sql) -> None:
    """Each missing document is continued once, by the most similar name; a copy is new."""
    root = folder({"a/x.txt": "the same", "b/y.txt": "the same", "c.txt": "another"})
    ingest(root, labels="none")
    keys = _keys(sql)
    (root / "new").mkdir()
    for old, new in (("b/y.txt", "new/y.txt"), ("a/x.txt", "new/x.txt")):
        (root / old).rename(root / new)
    shutil.copy2(root / "c.txt", root / "new" / "c.txt")
    shutil.copy2(root / "new" / "x.txt", root / "new" / "z.txt")
    assert _counts(ingest(root, labels="none")) == {"moved": 2, "added": 2, "unchanged": 1}
    now = _keys(sql)
    assert (now["new/x.txt"], now["new/y.txt"]) == (keys["a/x.txt"], keys["b/y.txt"])


@pytest.mark.parametrize("stated", [True, False])
def test_a_file_of_many_records_moves(
    folder: Folder, ingest: Ingest, sql: Sql, library: Path, *, stated: bool
) -> None:
    """Also in several batches, and when another file states the same ids."""
    ids = [{"id": str(n)} if stated else {} for n in range(9)]
    lines = "".join(json.dumps({"text": f"record {n}", **one}) + "\n" for n, one in enumerate(ids))
    root = folder({"first.jsonl": lines.replace("record", "other"), "second.jsonl": lines})
    ingest(root)
    name = "second.jsonl:4" if stated else "second.jsonl#5"
    with lpisearch.open(library) as opened:
        opened.label(name, add="mine")
    keys = _keys(sql)
    (root / "second.jsonl").rename(root / "third.jsonl")
    assert _counts(ingest(root, batch_documents=2)) == {"moved": 9, "unchanged": 9}
    assert _keys(sql)[name.replace("second", "third")] == keys[name]
    assert set(_keys(sql).values()) == set(keys.values())


def test_an_edited_or_unreachable_file_has_not_moved(
    folder: Folder, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder({"a.txt": "four", "b.txt": "five!"})
    ingest(root)
    (root / "a.txt").write_text("five")
    (root / "a.txt").rename(root / "c.txt")
    assert _counts(ingest(root)) == {"added": 1, "unchanged": 1, "missing": 1}
    shutil.copy2(root / "b.txt", root / "d.txt")
    whole = os.lstat

    def refusing(path: str, **options: Any) -> Any:
        if str(path).endswith("b.txt"):
            raise PermissionError
        return whole(path, **options)

    monkeypatch.setattr(os, "lstat", refusing)
    assert _counts(ingest(root / "d.txt")) == {"added": 1}


def test_a_folder_that_is_gone(
    folder: Folder, ingest: Ingest, library: Path, sql: Sql, cli: Callable[..., Result]
) -> None:
    """Each run says so, with how to move or remove its documents; only prune removes them."""
    gone, other = folder(_LETTERS, "n"), folder({"b.txt": "other"}, "m")
    ingest(gone)
    with lpisearch.open(library) as opened:
        opened.label("1.txt", add="dear")
    shutil.rmtree(gone)
    (note,) = [note for note in ingest(other).notes if "gone" in note]
    assert note.startswith(f"30 documents come from {gone}, which is gone.")
    assert f'path="{gone}"' in note
    with pytest.raises(GoneWithDocuments, match="30 documents"):
        ingest(gone)
    with pytest.raises(NothingThere):
        ingest(gone.with_name("never"), prune=True)
    assert sql("SELECT count(*) FROM documents") == [(31,)]
    shown = cli("ingest", gone, "--prune")
    assert "30 documents removed" in shown.stdout
    assert "1 removed document had labels given by hand: 1.txt (+dear)" in shown.stderr
    assert sql("SELECT count(*) FROM documents") == [(1,)]


def test_documents_are_deleted_by_folder_and_labels_by_hand_are_named(
    folder: Folder, ingest: Ingest, library: Path, cli: Callable[..., Result]
) -> None:
    root = folder({"a/1.txt": "ships", "a/2.txt": "boats", "b/3.txt": "bread"})
    ingest(root, labels="none")
    with lpisearch.open(library) as opened:
        opened.label("a/1.txt", add=["sea", "old"])
        with pytest.raises(BadOption, match="ids or filters"):
            opened.delete("a/1.txt", path="a")
        assert cli("docs", "delete").exit_code == 2
        shown = cli("docs", "delete", "--path", root / "a")
        assert shown.stdout == "Documents removed: 2.\n"
        assert "1 removed document had labels given by hand: a/1.txt (+old +sea)" in shown.stderr
        assert [entry.id for entry in opened.entries()] == ["b/3.txt"]
        assert opened.delete(where=Filter(path="nowhere")) == 0


def test_pruned_records_name_their_labels(folder: Folder, ingest: Ingest, library: Path) -> None:
    root = folder({"r.jsonl": '{"id": "x", "text": "ships"}\n{"id": "y", "text": "boats"}\n'})
    ingest(root)
    with lpisearch.open(library) as opened:
        opened.label("x", add="sea")
    folder({"r.jsonl": '{"id": "y", "text": "boats"}\n'})
    assert ingest(root).labels_removed == {}
    report = ingest(root, prune=True)
    assert (report.removed, report.labels_removed) == (1, {"x": ["+sea"]})
