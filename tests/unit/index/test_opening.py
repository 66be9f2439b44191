"""Readers beside a build see the old index or the new one, never a damaged one."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lpisearch
from lpisearch.errors import (
    IndexDamaged,
    IndexNotFound,
    IndexNotHere,
    IndexOutdated,
    SubspaceError,
)
from lpisearch.index import format as folders
from lpisearch.index import format as index_format
from lpisearch.index.build import build_index, fit_index
from lpisearch.index.checkpoint import Stages
from lpisearch.index.directory import publish_index
from lpisearch.location import index_folder
from lpisearch.options import IndexOptions
from lpisearch.search.notes import out_of_date
from lpisearch.search.session import Session
from lpisearch.storage import open_store
from lpisearch.storage.reading import SQLDocuments
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lpisearch.model.documents import Filter

READERS = 4
REBUILDS = 12


@pytest.fixture
def session(index_shelf: Callable[..., Path]) -> Iterator[Session]:
    """Open a library that has an index of 2 dimensions."""
    with Session(index_shelf(method="lsi", dims=2)) as session:
        yield session


def test_an_index_is_opened_once(session: Session) -> None:
    with ThreadPoolExecutor(READERS) as pool:
        opened = list(pool.map(lambda _number: session.index(), range(20)))
    assert {id(each) for each in opened} == {id(opened[0])}


def test_a_rebuilt_index_is_opened_anew(session: Session, shelf: Path) -> None:
    """The next reader has the new one; who holds the old one keeps it, although it was removed."""
    before = session.index()
    (folder,) = index_folder(shelf).glob("default-*")
    report = build_index(shelf, IndexOptions(method="lsi", dims=3))
    with session.snapshot() as snapshot:
        assert snapshot.entry is not None
        assert snapshot.entry.folder == Path(report.folder).name
        assert snapshot.require_engine().index.vectors.shape == (40, 3)
    assert before.vectors.shape == (40, 2)
    assert float(abs(before.vectors).sum()) > 0
    assert not folder.exists()


def test_without_an_index_there_is_none(shelf: Path) -> None:
    with Session(shelf) as session:
        with session.snapshot() as snapshot:
            assert snapshot.engine is None
        with pytest.raises(IndexNotFound, match="no index “other”"):
            session.index("other")
    with pytest.raises(IndexNotFound, match="no index “default”"):
        open_index(shelf)


def test_a_missing_folder_is_damage(session: Session, shelf: Path) -> None:
    shutil.rmtree(next(index_folder(shelf).iterdir()))
    with pytest.raises(IndexDamaged, match="the folder is missing") as caught:
        session.index()
    assert caught.value.next_step == 'library.index(method="lsi", dims=2)'
    with session.snapshot() as snapshot:
        assert snapshot.engine is None
        assert isinstance(snapshot.trouble, IndexDamaged)


def test_a_library_and_its_index_are_moved(
    session: Session, shelf: Path, sound: Callable[..., None]
) -> None:
    """Alone, the library says that its index is not here, not that it is damaged."""
    session.close()
    moved, old = shelf.with_name("work.db"), index_folder(shelf)
    copy = lpisearch.open(shelf).back_up()
    shelf.rename(moved)
    for alone in (moved, copy):
        with lpisearch.open(alone) as library:
            (index,) = library.status()["indexes"]
            assert index["state"] == "not built here"
            assert f"no {index_folder(alone)}. {old} has it: rename that." in index["note"]
            assert 'Next: library.index(method="lsi", dims=2)' in index["note"]
            answer = library.search("boat")
            assert answer.by == "lexical"
            assert "not built here" in answer.notes[0]
            with pytest.raises(IndexNotHere):
                library.vectors()
        sound(alone)
    old.rename(index_folder(moved))
    with lpisearch.open(moved) as library:
        assert library.status()["indexes"][0]["state"] == "ready"
        assert library.search("boat").by == "hybrid"
    assert "move that too" in lpisearch.open(copy).status()["indexes"][0]["note"]
    lpisearch.open(copy).index(method="lsi", dims=2)
    assert lpisearch.open(copy).status()["indexes"][0]["state"] == "ready"


def test_an_index_that_lacks_an_array_is_of_an_earlier_version(shelf: Path) -> None:
    build_index(shelf, IndexOptions(method="lsi", dims=2))
    index = open_index(shelf)
    fewer = {name: array for name, array in index.arrays.items() if name != "posting_places"}
    with open_store(shelf, writable=True) as store:
        publish_index(shelf, store, replace(index, arrays=fewer))
    with pytest.raises(IndexOutdated, match="older lpisearch and lacks posting_places") as caught:
        open_index(shelf)
    assert caught.value.next_step == 'library.index(method="lsi", dims=2)'


def test_a_folder_that_comes_back_under_its_name_is_no_damage(
    session: Session, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = next(index_folder(shelf).glob("default-*"))
    away = shelf.with_name("away")
    opens = index_format.open_verified

    def vanished(wanted: Path) -> Any:
        monkeypatch.undo()
        folder.rename(away)
        try:
            return opens(wanted)
        finally:
            away.rename(folder)

    monkeypatch.setattr(index_format, "open_verified", vanished)
    assert session.index() is not None


def test_documents_and_index_are_of_one_moment(
    session: Session, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens = index_format.open_verified

    def rebuilt(folder: Path) -> Any:
        monkeypatch.undo()
        build_index(shelf, IndexOptions(method="lsi", dims=3))
        return opens(folder)

    monkeypatch.setattr(index_format, "open_verified", rebuilt)
    with session.snapshot() as snapshot:
        (entry,) = snapshot.transaction.indexes.entries()
        assert snapshot.entry == entry
        assert snapshot.require_engine().index.vectors.shape == (40, 3)


def test_readers_beside_a_rebuilding_writer_meet_no_damage(shelf: Path) -> None:
    build_index(shelf, IndexOptions(method="lsi", dims=2))
    index = fit_index(shelf, IndexOptions(method="lsi", dims=2), Stages(lambda _name: None))
    ended = threading.Event()

    def read(number: int) -> list[str]:
        complaints: list[str] = []
        with Session(shelf) as kept:
            while not ended.is_set():
                with Session(shelf) as fresh:
                    try:
                        index = (kept if number % 2 else fresh).index()
                        assert index.vectors.shape == (40, 2)
                    except SubspaceError as error:
                        complaints.append(str(error))
        return complaints

    with ThreadPoolExecutor(READERS) as pool:
        readers = [pool.submit(read, number) for number in range(READERS)]
        try:
            with open_store(shelf, writable=True) as store:
                for number in range(REBUILDS):
                    manifest = replace(index.manifest, created=f"{number}")
                    publish_index(shelf, store, replace(index, manifest=manifest))
        finally:
            ended.set()
        assert [reader.result() for reader in readers] == [[]] * READERS


def test_the_folder_before_goes_after_the_commit_is_on_disk(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_index(shelf, IndexOptions(method="lsi", dims=2))
    seen: list[tuple[set[str], str]] = []
    sweep = folders.sweep

    def watched(parent: Path, keep: set[str]) -> None:
        with open_store(shelf) as store, store.reading() as snapshot:
            (entry,) = snapshot.indexes.entries()
        seen.append((keep, entry.folder))
        sweep(parent, keep)

    monkeypatch.setattr(folders, "sweep", watched)
    report = build_index(shelf, IndexOptions(method="lsi", dims=3))
    name = Path(report.folder).name
    assert seen == [({name}, name)]


def test_opening_reads_no_array_that_the_build_has_written(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = build_index(shelf, IndexOptions(method="lsi", dims=2))
    compared: list[Path] = []
    digest = index_format.file_digest

    def watched(path: Path, *part: Any) -> str:
        compared.append(path)
        return digest(path, *part)

    monkeypatch.setattr(folders, "file_digest", watched)
    open_index(shelf)
    assert not compared
    (path,) = Path(report.folder).glob("loadings.npy")
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)
    open_index(shelf)
    assert path in compared
    compared.clear()
    open_index(shelf)
    assert not compared


def test_who_opens_an_index_as_soon_as_it_is_named_compares_nothing(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers beside a writer need not wait until the index before is swept away."""
    compared: list[Path] = []
    sweep = folders.sweep

    def opened_before(parent: Path, keep: set[str]) -> None:
        with monkeypatch.context() as watched:
            watched.setattr(folders, "file_digest", lambda path, *_: compared.append(path))
            open_index(shelf)
        sweep(parent, keep)

    monkeypatch.setattr(folders, "sweep", opened_before)
    build_index(shelf, IndexOptions(method="lsi", dims=2))
    assert not compared


def test_documents_are_counted_once_for_each_state(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To count a million documents takes longer than to answer; what came since is noticed."""
    build_index(shelf, IndexOptions(method="lsi", dims=2))
    counted: list[Filter] = []
    count = SQLDocuments.count_and_sum

    def watched(documents: SQLDocuments, wanted: Filter) -> tuple[int, int]:
        counted.append(wanted)
        return count(documents, wanted)

    monkeypatch.setattr(SQLDocuments, "count_and_sum", watched)
    with Session(shelf) as session:
        for _ in range(3):
            with session.snapshot() as snapshot:
                assert out_of_date(snapshot) == ""
        assert len(counted) == 1
        lpisearch.open(shelf).delete("sea/0")
        with session.snapshot() as snapshot:
            assert "out of date" in out_of_date(snapshot)
