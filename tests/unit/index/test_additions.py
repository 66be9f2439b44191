"""Documents that are appended to an index, and the same index written as a whole."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lpisearch
from lpisearch.index import additions
from lpisearch.index import format as index_format
from lpisearch.index.build import build_index
from lpisearch.location import index_folder
from lpisearch.options import IndexOptions
from lpisearch.storage.metadata import SQLIndexes
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.index.subspace import SubspaceIndex

    Put = Callable[..., Any]

_WORDS = "harbour boat tide sail anchor star planet moon comet drum flute violin oven bread flour"
_NEW = [
    {"id": "new/sea", "title": "Quoin key", "text": "harbour boat xyzzy tide café zzz"},
    {"id": "new/twin", "text": "harbour boat tide sail anchor star planet moon comet drum"},
    {"id": "new/twice", "text": "harbour boat tide sail anchor star planet moon comet drum"},
    {"id": "new/none", "text": "unheard of"},
    {"id": "new/book", "title": "Tides", "text": f"{_WORDS} abacus. " * 60},
]
_LATER = [{"id": "later/1", "title": "Aardvark", "text": "xyzzy anchors aboard, naïve boat"}]
_QUESTIONS = ("boat tide", "xyzzy", "quoin key", "planet abacus", "harbour boat tide", "cafe")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Append to small indexes, too."""
    monkeypatch.setattr(additions, "APPEND_FROM", 1)
    monkeypatch.setattr(additions, "_APPENDED_SHARE", 0.5)


@pytest.fixture
def built(shelf: Path, put: Put, folder: Callable[..., Path], ingest: Put) -> Path:
    """Return a library with an index that has passages, some below headings."""
    parts = [f"## {name}\n\n" + f"{_WORDS}. " * 25 for name in ("Ropes", "Knots", "Cafés")]
    ingest(folder({"guide.md": "# Guide\n\n" + "\n\n".join(parts)}, name="guides"))
    put([{"id": "book", "title": "Sails", "text": f"{_WORDS} zebra. " * 80}], name="book")
    build_index(shelf, IndexOptions(dims=6, neighbours=5))
    return shelf


def _both(library: Path, put: Put, *batches: list[dict[str, Any]]) -> tuple[Path, Path]:
    """Ingest batches into a library and into a copy, whose index is written as a whole."""
    copy = library.parent / "copy" / library.name
    copy.parent.mkdir()
    shutil.copy(library, copy)
    shutil.copytree(index_folder(library), index_folder(copy))
    for number, batch in enumerate(batches):
        assert put(batch, name=f"batch{number}", prune=False).index_notes == []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(additions, "APPEND_FROM", 1_000_000)
            put(batch, name=f"batch{number}", prune=False, into=copy)
    return library, copy


def _entries(index: SubspaceIndex) -> list[dict[str, Any]]:
    assert index.passages is not None
    assert index.fields is not None
    every = (index.postings, index.passages.postings, index.fields.postings)
    return [
        {
            term: [own.tolist() for own in postings.entries(number)]
            for number, term in enumerate(postings.terms())
        }
        for postings in every
    ]


def _answers(library: Path) -> list[Any]:
    with lpisearch.open(library) as opened:
        return [
            [(hit.id, hit.score, hit.alike) for hit in opened.search(text, by=by, k=20).hits]
            for text in _QUESTIONS
            for by in ("hybrid", "semantic", "lexical")
        ]


@pytest.mark.parametrize("batches", [(_NEW,), (_NEW, _LATER), (_LATER, _NEW)], ids=str)
def test_an_appended_index_is_the_one_that_is_written_as_a_whole(
    built: Path, put: Put, sound: Callable[..., None], batches: tuple[Any, ...]
) -> None:
    ours, whole = _both(built, put, *batches)
    appended, written = open_index(ours), open_index(whole)
    total = sum(map(len, batches))
    assert (appended.manifest.appended, written.manifest.appended) == (total, 0)
    assert (appended.manifest.format, written.manifest.format) == (5, 1)
    assert appended.manifest.passages == written.manifest.passages
    assert appended.manifest.folded == written.manifest.folded
    same: tuple[str, ...] = (
        "document_rows",
        "content_hashes",
        "taken_in",
        "distinct_terms",
        "document_lengths",
    )
    same += ("sequence_starts", "lexicon", "written_words", "written_documents", "plain_spellings")
    same += ("field_document_lengths", "field_name_sizes", "passage_owners", "passage_spans")
    for name in same:
        np.testing.assert_array_equal(appended.arrays[name], written.arrays[name], name)
    np.testing.assert_allclose(appended.vectors, written.vectors, atol=1e-6)
    assert _entries(appended) == _entries(written)
    np.testing.assert_array_equal(appended.twins, written.twins)
    terms = [np.array(one.postings.terms()) for one in (appended, written)]
    for prefix in ("", "passage_"):
        own = [
            names[one.arrays[f"{prefix}sequence_terms"]].tolist()
            for names, one in zip(terms, (appended, written), strict=True)
        ]
        assert own[0] == own[1]
    for found, expected in zip(_answers(ours), _answers(whole), strict=True):
        assert [hit[::2] for hit in found] == [hit[::2] for hit in expected]
        scores = [[score for _, score, _ in hits] for hits in (found, expected)]
        np.testing.assert_allclose(scores[0], scores[1], atol=2e-5)
    sound()


def test_many_appended_documents_are_written_together(
    built: Path, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, whole = _both(built, put, _NEW)
    monkeypatch.setattr(additions, "_APPENDED_SHARE", 0.1)
    put(_LATER, name="later", prune=False)
    monkeypatch.setattr(additions, "APPEND_FROM", 1_000_000)
    put(_LATER, name="later", prune=False, into=whole)
    rewritten, written = open_index(ours), open_index(whole)
    assert rewritten.manifest.appended == 0
    assert rewritten.arrays.keys() == written.arrays.keys()
    for name, array in written.arrays.items():
        if name not in {"vectors", "passage_vectors", "strongest_terms", "strongest_counts"}:
            np.testing.assert_array_equal(rewritten.arrays[name], array, name)


@pytest.mark.parametrize("change", ["changed", "deleted"])
def test_changed_and_deleted_documents_are_not_appended(
    built: Path, put: Put, records: list[dict[str, Any]], change: str
) -> None:
    put(_NEW[:2], name="new")
    assert open_index(built).manifest.appended == 2
    if change == "changed":
        records = [records[0] | {"text": "star planet moon"}, *records[1:]]
    put(records[: None if change == "changed" else -1])
    index = open_index(built)
    assert index.manifest.appended == 0
    assert len(index.document_rows) == (44 if change == "changed" else 43)


def test_a_first_long_document_is_not_appended(indexed: Path, put: Put) -> None:
    put(_NEW[:2], name="new")
    assert open_index(indexed).manifest.appended == 2
    put(_NEW[4:], name="long")
    index = open_index(indexed)
    assert index.manifest.appended == 0
    assert index.passages is not None


def test_rows_are_written_behind_those_of_the_same_file(built: Path, put: Put) -> None:
    (before,) = index_folder(built).iterdir()
    inode, hidden = (before / "vectors.npy").stat().st_ino, built.parent / "kept"
    shutil.copytree(before, hidden / before.name, copy_function=os.link)
    with lpisearch.open(built) as opened:
        found = opened.search("boat", k=3).hits
        put(_NEW, name="new")
        (after,) = index_folder(built).iterdir()
        assert (after / "vectors.npy").stat().st_ino == inode
        _, arrays = index_format.open_folder(hidden / before.name)  # the longer files fit it still
        assert len(arrays["vectors"]) == 42
        assert len(found) == 3
        assert opened.search("xyzzy").hits[0].id == "new/sea"
    assert lpisearch.open(built).status()["indexes"][0]["appended"] == 5


def test_rows_that_another_folder_may_have_are_not_overwritten(built: Path, put: Put) -> None:
    (before,) = index_folder(built).iterdir()
    hidden = built.parent / "kept" / before.name
    shutil.copytree(before, hidden, copy_function=os.link)
    with (before / "vectors.npy").open("ab") as stream:  # as an update that did not end
        stream.write(b"of others" * 1000)
    others = (hidden / "vectors.npy").read_bytes()
    put(_NEW, name="new")
    (after,) = index_folder(built).iterdir()
    assert (hidden / "vectors.npy").read_bytes() == others
    assert (after / "vectors.npy").stat().st_size < len(others)
    assert open_index(built).manifest.appended == 5


@pytest.mark.parametrize("at", [0.2, 0.99])
def test_damage_is_found_in_either_part(built: Path, put: Put, at: float) -> None:
    put(_NEW, name="new")
    (folder,) = index_folder(built).iterdir()
    path = folder / "sequence_terms.npy"
    data = bytearray(path.read_bytes())
    data[int(len(data) * at) if at > 0.5 else 200] ^= 1
    path.write_bytes(data)
    (finding,) = [one for one in lpisearch.open(built).examine() if one.check.startswith("index “")]
    assert not finding.ok
    assert finding.detail.endswith("is damaged: sequence_terms.npy is corrupt.")


def test_nothing_is_written_through_a_link(built: Path, put: Put) -> None:
    (folder,) = index_folder(built).iterdir()
    foreign = built.parent / "foreign.npy"
    (folder / "vectors.npy").rename(foreign)
    (folder / "vectors.npy").symlink_to(foreign)
    before = foreign.read_bytes()
    report = put(_NEW, name="new")
    assert report.added == 5
    assert len(report.index_notes) == 1
    assert foreign.read_bytes() == before


_STEPS = ["publish", "_write", "_link", "_extend", "_write_bytes", "sync_folder", "Path.rename"]


@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("step", [*_STEPS, "SQLIndexes.save", "sweep"])
def test_a_kill_at_each_step_of_appending(
    built: Path, put: Put, sound: Callable[..., None], step: str, how: str
) -> None:
    put(_LATER, name="later", prune=False)
    child = os.fork()
    if child == 0:  # pragma: no cover (the child is killed)
        try:
            _die_at(step, how)
            put(_NEW, name="new", prune=False)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    sound()
    is_new = step == "sweep"
    assert len(open_index(built).document_rows) == (48 if is_new else 43)
    assert lpisearch.open(built).search("anchors aboard").hits[0].id == "later/1"
    put([*_NEW, {"id": "last", "text": "boat of the last"}], name="new", prune=False)
    index = open_index(built)
    assert (len(index.document_rows), index.manifest.appended) == (49, 7)
    assert len(list(index_folder(built).iterdir())) == 1
    assert lpisearch.open(built).search("xyzzy quoin").hits[0].id == "new/sea"
    sound()


def _die_at(step: str, how: str) -> None:
    """Kill this process before or after the second call of a step, or the only one."""
    home: Any = {"Path.rename": Path, "SQLIndexes.save": SQLIndexes}.get(step, index_format)
    name, calls = step.rsplit(".", maxsplit=1)[-1], iter([False, True])
    original = getattr(home, name)
    once = step not in {"_write", "_link", "_extend"}

    def die(*values: Any, **options: Any) -> Any:
        is_last = once or next(calls)
        if is_last and how == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*values, **options)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(home, name, die)
