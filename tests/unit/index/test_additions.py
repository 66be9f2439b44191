"""Documents that are appended to an index, and the same index written as a whole."""

from __future__ import annotations

import os
import random
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
from lpisearch.index.positions import Sequences
from lpisearch.location import index_folder
from lpisearch.model.documents import Filter
from lpisearch.options import IndexOptions, SearchOptions
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
    copy = _copied(library)
    for number, batch in enumerate(batches):
        assert put(batch, name=f"batch{number}", prune=False).index_notes == []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(additions, "APPEND_FROM", 1_000_000)
            put(batch, name=f"batch{number}", prune=False, into=copy)
    return library, copy


def _copied(library: Path) -> Path:
    copy = library.parent / "copy" / library.name
    copy.parent.mkdir()
    shutil.copy(library, copy)
    shutil.copytree(index_folder(library), index_folder(copy))
    return copy


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


def _in_order(index: SubspaceIndex, prefix: str) -> list[str]:
    """Return the words of all units, one after the other."""
    sequences = Sequences.of_arrays(index.arrays, prefix)
    assert sequences is not None
    numbers, _ = sequences.of_units(np.arange(len(sequences.starts) - 1))
    return [index.postings.term(number) for number in numbers.tolist()]


def _code_arrays(index: SubspaceIndex) -> list[Any]:
    return [array for name, array in index.arrays.items() if "code_" in name]


def _answers(library: Path) -> list[Any]:
    with lpisearch.open(library) as opened:
        return [
            [(hit.id, hit.score, hit.alike) for hit in opened.search(text, by=by, k=20).hits]
            for text in _QUESTIONS
            for by in ("hybrid", "semantic", "lexical")
        ]


@pytest.fixture(params=[(1, 5), (7, 7)], ids=["plain", "packed"])
def formats(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Pack rows and the order of words, too; return the formats as built and with additions."""
    as_built, added = request.param
    if as_built > 1:
        monkeypatch.setattr("lpisearch.index.subspace.PACKED_FROM", 10)
        monkeypatch.setattr("lpisearch.index.positions._OTHER", 20)
    return as_built, added


@pytest.mark.parametrize("batches", [(_NEW,), (_NEW, _LATER), (_LATER, _NEW)], ids=str)
def test_an_appended_index_is_the_one_that_is_written_as_a_whole(
    formats: tuple[int, int],
    built: Path,
    put: Put,
    sound: Callable[..., None],
    batches: tuple[Any, ...],
) -> None:
    as_built, added = formats
    ours, whole = _both(built, put, *batches)
    appended, written = open_index(ours), open_index(whole)
    total = sum(map(len, batches))
    assert (appended.manifest.appended, written.manifest.appended) == (total, 0)
    assert (appended.manifest.format, written.manifest.format) == (added, as_built)
    assert {one.dtype.str for one in _code_arrays(appended)} == (
        {"<i4", "<i8"} if as_built > 1 else set()
    )
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
    for prefix in ("", "passage_"):
        assert _in_order(appended, prefix) == _in_order(written, prefix)
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


def _steps(records: list[dict[str, Any]], seed: int) -> list[list[dict[str, Any]]]:
    """Return the records after each of several steps that add, change and delete some."""
    chance = random.Random(seed)  # noqa: S311 (moments, not secrets)
    words = [*_WORDS.split(), "xyzzy", "abacus", "quoin", "café"]
    now = {str(record["id"]): record for record in records}
    steps = []
    for number in range(4):
        for kind in chance.sample(["add", "change", "delete"], 3):
            for at in range(2):
                some = chance.choice(sorted(now))
                text = " ".join(chance.choices(words, k=chance.choice([6, 30, 700])))
                if kind == "add":
                    some = f"added/{number}-{at}"
                if kind == "delete":
                    del now[some]
                elif chance.random() < 0.3:  # nearly the same as another
                    now[some] = now.get(some, {}) | {"id": some, "text": records[at]["text"]}
                else:
                    title = " ".join(chance.sample(words, 2))
                    now[some] = now.get(some, {}) | {"id": some, "title": title, "text": text}
        steps.append(list(now.values()))
    return steps


def _all_answers(library: Path) -> list[Any]:
    """Return answers of every kind."""
    labelled = Filter(labels=("sea",))
    with lpisearch.open(library) as opened:
        some = [hit.id for hit in opened.search("boat", k=3).hits]
        texts = (*_QUESTIONS, '"harbour boat"', '"tide sail" -star', "harb*", "harbuor")
        asked = [(text, options) for text in texts for options in _OPTIONS]
        answers = [opened.search(text, **options) for text, options in asked]
        answers += [
            opened.similar(name, by=by, k=60, collapse=False) for name in some for by in _LEGS
        ]
        runs = opened.batch(
            [("q", "boat tide"), ("r", "xyzzy abacus")], options=SearchOptions(k=60)
        )
        found = [(answer.total, [(hit.id, hit.score) for hit in answer.hits]) for answer in answers]
        found += [(0, run) for _, run in runs]
        facets = [opened.facets(), opened.facets(where=labelled), answers[0].facets]
        classes = [opened.classify(text) for text in _QUESTIONS]
        topics = opened.topics(number=3)
        status = opened.status()["indexes"][0]
        facts = [status[name] for name in ("documents", "passages", "folded_in")]
        return [found, facets, classes, (topics.documents, topics.unplaced), facts]


_LEGS = ("hybrid", "semantic", "lexical")
_OPTIONS: tuple[dict[str, Any], ...] = (
    *({"by": by, "k": 60, "facets": True, "collapse": False} for by in _LEGS),
    *({"by": by, "k": 60, "where": Filter(labels=("sea",)), "collapse": False} for by in _LEGS),
)


@pytest.mark.parametrize("seed", range(4))
def test_changed_and_deleted_documents_are_as_if_all_were_written(
    built: Path, put: Put, sound: Callable[..., None], records: list[dict[str, Any]], seed: int
) -> None:
    copy = _copied(built)
    for step in _steps(records, seed):
        put(step)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(additions, "APPEND_FROM", 1_000_000)
            put(step, into=copy)
        ours, whole = open_index(built), open_index(copy)
        assert (ours.manifest.format, whole.manifest.format) == (6, 1)
        assert len(ours.removed) == ours.manifest.removed > 0
        assert ours.n_documents == len(whole.document_rows)
        for one, other in zip(_entries(ours), _entries(whole), strict=True):
            sizes = [
                {term: len(own[0]) for term, own in each.items() if own[0]} for each in (one, other)
            ]
            assert sizes[0] == sizes[1]
        for name in set(whole.postings.terms()) | set(ours.postings.terms()):
            numbers = [one.postings.find(name) for one in (ours, whole)]
            assert (numbers[0] < 0) == (numbers[1] < 0)
        assert _groups(ours) == _groups(whole)
        _compare(_all_answers(built), _all_answers(copy))
        sound()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(additions, "APPEND_FROM", 1_000_000)
        for library in (built, copy):
            put(_LATER, name="later", into=library)
    ours, whole = open_index(built), open_index(copy)
    assert (ours.manifest.removed, ours.manifest.format) == (0, 1)
    assert ours.arrays.keys() == whole.arrays.keys()
    assert _entries(ours) == _entries(whole)
    for name in ("document_rows", "content_hashes", "taken_in", "passage_owners", "passage_spans"):
        np.testing.assert_array_equal(ours.arrays[name], whole.arrays[name], name)
    _compare(_all_answers(built), _all_answers(copy))


def _compare(ours: list[Any], whole: list[Any]) -> None:
    assert ours[1:] == whole[1:]
    for (total, found), (expected_total, expected) in zip(ours[0], whole[0], strict=True):
        assert total == expected_total
        scores = dict(expected)
        assert {name for name, _ in found} == scores.keys()
        own = [[score for _, score in found], [scores[name] for name, _ in found]]
        np.testing.assert_allclose(own[0], own[1], rtol=1e-6, atol=2e-5)


def _groups(index: SubspaceIndex) -> set[frozenset[int]]:
    """Return the keys of the documents of each group of near duplicates."""
    keys: dict[int, set[int]] = {}
    for key, leader in zip(index.document_rows.tolist(), index.twins.tolist(), strict=True):
        if key >= 0:
            keys.setdefault(leader, set()).add(key)
    return set(map(frozenset, keys.values()))


def test_many_removed_documents_have_all_written_together(
    built: Path, put: Put, monkeypatch: pytest.MonkeyPatch, records: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(additions, "_APPENDED_SHARE", 0.1)
    for gone, removed in ((2, 2), (4, 4), (5, 0)):
        put(records[gone:])
        manifest = open_index(built).manifest
        assert (manifest.removed, manifest.appended) == (removed, 0)
        assert lpisearch.open(built).status()["indexes"][0]["documents"] == 42 - gone


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
@pytest.mark.parametrize("is_change", [False, True], ids=["added", "changed"])
def test_a_kill_at_each_step_of_appending(
    built: Path, put: Put, sound: Callable[..., None], step: str, how: str, *, is_change: bool
) -> None:
    put([*_LATER, *_GONE], name="later", prune=False)
    name, new = ("later", [_CHANGED, *_NEW]) if is_change else ("new", _NEW)
    child = os.fork()
    if child == 0:  # pragma: no cover (the child is killed)
        try:
            _die_at(step, how)
            put(new, name=name, prune=is_change)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    sound()
    index, is_new = open_index(built), step == "sweep"
    assert index.manifest.removed == (2 if is_new and is_change else 0)
    assert index.n_documents == 44 + 5 * is_new - (is_change and is_new)
    if not is_change:
        assert lpisearch.open(built).search("anchors aboard").hits[0].id == "later/1"
    put([*new, {"id": "last", "text": "boat of the last"}], name=name, prune=is_change)
    index = open_index(built)
    assert index.n_documents == 50 - is_change
    assert (index.manifest.appended, index.manifest.removed) == (8 + is_change, 2 * is_change)
    assert len(list(index_folder(built).iterdir())) == 1
    with lpisearch.open(built) as opened:
        assert opened.search("xyzzy quoin").hits[0].id == "new/sea"
        assert opened.search("moonlit").hits[0].id == ("later/1" if is_change else "later/2")
    sound()


_GONE = [{"id": "later/2", "text": "moonlit harbour"}]
_CHANGED = {"id": "later/1", "title": "Zebra", "text": "moonlit boats"}


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
