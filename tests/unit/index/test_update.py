from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lpisearch
from lpisearch.admin.maintenance import retokenise
from lpisearch.index.build import build_index
from lpisearch.index.positions import SEQUENCE_TERMS, Fields
from lpisearch.location import index_folder
from lpisearch.model.documents import Filter
from lpisearch.options import IndexOptions
from lpisearch.text.vocabulary import count_terms
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.index.subspace import SubspaceIndex

    Records = list[dict[str, Any]]
    Put = Callable[..., Any]
    Sql = Callable[..., list[Any]]

METHODS = ("rlpi", "olpi", "lpi", "lsi")
_FIXED = ("terms", "document_frequencies", "idf", "loadings", "eigenvalues", "scales")


@pytest.fixture
def built(index_shelf: Callable[..., Path]) -> Path:
    """Return the folder of an index of the records."""
    (folder,) = index_folder(index_shelf(dims=6, neighbours=5)).iterdir()
    return folder


@pytest.fixture
def placed(library: Path, sql: Sql) -> Callable[[], dict[str, Any]]:
    """Return a reader of each document's vector in the default index, by its id."""

    def read() -> dict[str, Any]:
        index = open_index(library)
        names = dict(sql("SELECT id, external_id FROM documents"))
        return {
            names.get(row, "gone"): np.array(vector)
            for row, vector in zip(index.contents, index.vectors, strict=True)
        }

    return read


def _projected(index: SubspaceIndex, sql: Sql, name: str) -> Any:
    tokens = sql(
        "SELECT plain_tokens(tokens) FROM document_tokens JOIN documents ON id = document_id "
        "WHERE external_id = ?",
        name,
    )
    return index.project(count_terms([[tokens[0][0]]], index.vocabulary).matrix)[0]


@pytest.mark.parametrize("method", METHODS)
def test_new_documents_are_projected_by_the_map(
    shelf: Path, put: Put, sql: Sql, placed: Any, method: str
) -> None:
    build_index(shelf, IndexOptions(method=method, dims=6, neighbours=5))
    before = placed()
    new = [
        {"id": "new/sea", "text": "harbour boat xyzzy tide"},
        {"id": "new/none", "text": "unheard of"},
    ]
    assert put(new, name="new").index_notes == []
    after = placed()
    assert list(after) == [*before, "new/sea", "new/none"]
    for name, vector in before.items():
        assert np.array_equal(after[name], vector)
    index = open_index(shelf)
    np.testing.assert_array_equal(after["new/sea"], _projected(index, sql, "new/sea"))
    assert not after["new/none"].any()
    nearest = max(before, key=lambda name: float(before[name] @ after["new/sea"]))
    assert nearest.startswith("sea/")
    assert index.manifest.folded == {"documents": 2, "words": 5, "unknown": 2}


@pytest.mark.usefixtures("built")
def test_changed_documents_move_and_deleted_ones_lose_their_place(
    records: Records, put: Put, library: Path, placed: Any, sql: Sql
) -> None:
    before = placed()
    changed = [
        records[0] | {"text": "star planet moon comet"},
        *records[1:20],
        *records[30:],
    ]
    assert lpisearch.open(library).delete("music/39") == 1
    report = put(changed[:-1])
    assert (report.updated, report.removed, report.index_notes) == (1, 10, [])
    after = placed()
    gone = {record["id"] for record in records[20:30]} | {"music/39"}
    assert set(before) - set(after) == gone
    moved = {name for name in after if not np.array_equal(after[name], before[name])}
    assert moved == {"sea/0"}
    index = open_index(library)
    np.testing.assert_array_equal(after["sea/0"], _projected(index, sql, "sea/0"))
    assert index.manifest.folded == {"documents": 1, "words": 4, "unknown": 0}
    assert index.manifest.result.documents == 40


@pytest.mark.usefixtures("built")
def test_what_was_folded_in_is_counted_once(records: Records, put: Put, library: Path) -> None:
    for number in range(3):
        put([records[0] | {"text": f"boat tide number{number}"}, *records[1:]])
        put([{"id": "new", "text": f"boat version{number} of it"}], name="new")
    manifest = open_index(library).manifest
    assert manifest.folded == {"documents": 2, "words": 5, "unknown": 2}
    lpisearch.open(library).delete("new")
    put([], name="empty")
    assert open_index(library).manifest.folded == {"documents": 1, "words": 3, "unknown": 1}


def test_the_map_is_linked_not_copied(built: Path, put: Put, library: Path) -> None:
    before = built
    inodes = {name: os.stat(before / f"{name}.npy").st_ino for name in _FIXED}  # noqa: PTH116
    put([{"id": "new", "text": "boat"}], name="new")
    (after,) = before.parent.iterdir()
    assert after != before
    assert {name: os.stat(after / f"{name}.npy").st_ino for name in _FIXED} == inodes  # noqa: PTH116
    assert open_index(library).vectors.shape[0] == 41


def test_nothing_is_written_where_nothing_changed(built: Path, records: Records, put: Put) -> None:
    before = os.stat(built)  # noqa: PTH116
    assert put(records).unchanged == 40
    after = os.stat(built)  # noqa: PTH116
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.usefixtures("built")
def test_every_document_can_go_and_come_back(
    records: Records, put: Put, library: Path, placed: Any, sound: Callable[..., None]
) -> None:
    before = placed()
    lpisearch.open(library).delete(*before)
    assert put([], name="empty").index_notes == []
    assert open_index(library).vectors.shape[0] == 0
    sound()
    put(list(reversed(records)))
    after = placed()
    assert set(after) == set(before)
    for name, vector in before.items():
        np.testing.assert_allclose(after[name], vector, atol=2e-6)


@pytest.mark.usefixtures("shelf")
def test_an_index_of_some_documents_takes_in_only_those(
    put: Put, records: Records, library: Path
) -> None:
    where = Filter(labels=("sea", "sky"))
    build_index(library, IndexOptions(method="lsi", dims=4, where=where))
    relabelled = [records[0] | {"labels": ["land"]}, *records[1:]]
    new = [
        {"id": "in", "text": "boat", "labels": ["sky", "land"]},
        {"id": "out", "text": "boat", "labels": ["land"]},
    ]
    put(relabelled)
    put(new, name="new")
    index = lpisearch.open(library).status()["indexes"][0]
    assert (index["documents"], index["state"], index["built_from"]) == (20, "ready", 20)
    assert index["folded_in"]["documents"] == 1


@pytest.mark.usefixtures("shelf")
def test_several_indexes_are_kept_in_step(put: Put, library: Path) -> None:
    for name in ("a", "b", "c"):
        folder = build_index(library, IndexOptions(name=name, method="lsi", dims=4)).folder
        if name == "b":
            (Path(folder) / "vectors.npy").unlink()
    report = put([{"id": "new", "text": "boat"}], name="new")
    assert len(report.index_notes) == 1
    assert "vectors.npy is missing" in report.index_notes[0]
    assert report.index_notes[0].endswith('Next: library.index(name="b", method="lsi", dims=4)')
    states = {each["name"]: each["state"] for each in lpisearch.open(library).status()["indexes"]}
    assert states == {"a": "ready", "b": "damaged", "c": "ready"}


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _replace_by_folder(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").mkdir()


_DAMAGE: dict[str, Callable[[Path], object]] = {
    "folder missing": lambda folder: folder.rename(folder.with_name("elsewhere")),
    "array missing": lambda folder: (folder / "loadings.npy").unlink(),
    "array cut short": lambda folder: os.truncate(folder / "vectors.npy", 200),
    "array empty": lambda folder: os.truncate(folder / "terms.npy", 0),
    "byte flipped": lambda folder: _flip(folder / "loadings.npy"),
    "manifest missing": lambda folder: (folder / "manifest.json").unlink(),
    "manifest garbage": lambda folder: (folder / "manifest.json").write_bytes(b"\xff\x00{"),
    "manifest deep": lambda folder: (folder / "manifest.json").write_bytes(b"[" * 200_000),
    "manifest a list": lambda folder: (folder / "manifest.json").write_text("[]"),
    "manifest flipped": lambda folder: _flip(folder / "manifest.json"),
    "newer format": lambda folder: (folder / "manifest.json").write_text('{"format": 99}'),
    "manifest a folder": _replace_by_folder,
}


@pytest.mark.parametrize("kind", _DAMAGE)
def test_a_damaged_index_never_makes_an_ingest_fail(
    built: Path, put: Put, library: Path, sound: Callable[..., None], kind: str
) -> None:
    _DAMAGE[kind](built)
    report = put([{"id": "new", "text": "boat"}], name="new")
    assert (report.added, report.failed, len(report.index_notes)) == (1, 0, 1)
    assert report.index_notes[0].endswith("Next: library.index(dims=6, neighbours=5)")
    assert lpisearch.open(library).document("new").text == "boat"
    (index,) = [one for one in lpisearch.open(library).examine() if one.check.startswith("index “")]
    assert not index.ok
    assert index.next_step == "library.index(dims=6, neighbours=5)"
    build_index(library, IndexOptions(dims=6, neighbours=5))
    sound()
    assert open_index(library).vectors.shape[0] == 41


@pytest.mark.usefixtures("built")
def test_tokens_of_another_language_are_not_projected(put: Put, library: Path, placed: Any) -> None:
    before = placed()
    retokenise(library, "german")
    (index,) = lpisearch.open(library).status()["indexes"]
    assert "another language" in index["rebuild"]
    (note,) = put([{"id": "new", "text": "boat"}], name="new").index_notes
    assert "another language" in note
    assert note.endswith("Next: library.index(dims=6, neighbours=5)")
    assert list(placed()) == list(before)
    build_index(library, IndexOptions())
    assert lpisearch.open(library).status()["indexes"][0]["rebuild"] == ""


@pytest.mark.usefixtures("built")
def test_a_document_without_tokens_does_not_stop_an_ingest(
    put: Put, library: Path, sql: Sql
) -> None:
    put([{"id": "new", "text": "boat"}], name="new")
    sql("UPDATE documents SET content_hash = zeroblob(16) WHERE external_id = 'new'")
    sql("DROP TRIGGER document_tokens_deleted")
    sql("DELETE FROM document_tokens WHERE document_id > 40")
    assert put([{"id": "newer", "text": "boat"}], name="newer").index_notes == []
    assert not open_index(library).vectors[40].any()


def test_an_ingest_keeps_fields_and_sequences(shelf: Path, put: Put) -> None:
    build_index(shelf, IndexOptions(dims=5, neighbours=4))
    put([{"id": "note", "title": "Quoin key", "text": "a short note on rope"}], name="note")
    updated = open_index(shelf)
    build_index(shelf, IndexOptions(dims=5, neighbours=4))
    built = open_index(shelf)
    names = [name for name in built.arrays if name.startswith("field_") or "sequence" in name]
    assert len(names) > len(("starts", "terms"))
    for ours in (updated, built):
        terms = ours.postings.terms()
        tokens = [terms[number] for number in ours.arrays[SEQUENCE_TERMS].tolist()]
        assert tokens[-4:] == ["key", "short", "note", "rope"]
        fields = Fields.of_arrays(ours.arrays)
        assert fields is not None
        assert fields.units_with("quoin")[0].tolist() == [len(ours.document_rows) - 1]
    for name in names:
        assert updated.arrays[name].tolist() == built.arrays[name].tolist(), name
