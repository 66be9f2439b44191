"""Indexes of a library in a database: where their files are, and who has which."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lpisearch.errors import BadOption, IndexDamaged, IndexUnwritable, VectorsUnavailable
from lpisearch.index.directory import IndexLocation
from lpisearch.library import Library
from lpisearch.location import Address
from lpisearch.storage import open_store, writer_lock
from lpisearch.storage.postgres.pgvector import table_of
from tests.servers import Server, programs_of, running


def _place(library: Library) -> IndexLocation:
    with library._session.reading() as snapshot:
        return IndexLocation.of(library.path, snapshot)


def _folders(place: IndexLocation) -> list[str]:
    return sorted(path.name for path in place.folder.glob("*") if path.name != ".lpisearch")


def test_an_index_in_the_database_is_fetched_once(
    shelf: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shelf.index(dims=3)
    expected = [hit.id for hit in shelf.search("ship")]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    with Library(shelf.path) as other:
        place = _place(other)
        assert place.is_cache
        assert tmp_path in place.folder.parents
        assert [index["state"] for index in other.status()["indexes"]] == ["not here yet"]
        assert [hit.id for hit in other.search("ship")] == expected
        (folder,) = _folders(place)
        facts = (place.folder / folder).stat().st_ino
    with Library(shelf.path) as other:
        assert other.search("ship")
        assert (place.folder / folder).stat().st_ino == facts
        assert [index["state"] for index in other.status()["indexes"]] == ["ready"]


def test_files_that_are_lost_or_changed_are_stated(
    shelf: Library, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shelf.index(dims=3)
    assert isinstance(shelf.path, Address)
    schema = shelf.path.name.partition(".")[2]
    for number, change in enumerate((
        "UPDATE {}.index_files SET content = 'x' WHERE name = 'vectors.npy'",
        "DELETE FROM {}.index_files WHERE name = 'manifest.json'",
        "DELETE FROM {}.index_files",
    )):  # fmt: skip
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"machine{number}"))
        server.run(change.format(schema))
        with Library(shelf.path) as other:
            assert "Searching by words only" in " ".join(other.search("ship").notes)
            assert not all(finding.ok for finding in other.examine())
            assert _folders(_place(other)) == []


def test_a_server_goes_on_with_the_index_before(
    shelf: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Until the new one has been fetched, the old one answers; then the new one does."""
    shelf.index(dims=3)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    released = threading.Event()
    fetch = IndexLocation._fetch

    def slow(place: IndexLocation, *words: object) -> None:
        released.wait(60)
        fetch(place, *words)  # type: ignore[arg-type]

    with Library(shelf.path) as other:
        assert other.vectors()[1].shape[1] == 3
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "builder"))
        shelf.index(dims=2)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
        monkeypatch.setattr(IndexLocation, "_fetch", slow)
        assert other.vectors()[1].shape[1] == 3
        assert other.search("ship")
        released.set()
        deadline = time.monotonic() + 60
        while other.vectors()[1].shape[1] == 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert other.vectors()[1].shape[1] == 2
        assert len(_folders(_place(other))) == 1


def test_a_folder_that_servers_share(
    shelf: Library, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shelf.index(dims=3, index_store=str(shared))
    assert isinstance(shelf.path, Address)
    schema = shelf.path.name.partition(".")[2]
    assert server.run(f"SELECT count(*) FROM {schema}.index_files") == [(0,)]
    (library,) = shared.iterdir()
    assert len(_folders(_place(shelf))) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    spelled = Address(shelf.path.url.replace("postgresql:", "postgres:"))
    with Library(spelled) as other:
        assert _place(other).folder == library
        assert other.search("ship")
    assert not (tmp_path / "elsewhere").exists()
    shutil.move(shared, tmp_path / "mounted")
    monkeypatch.setenv("LPISEARCH_INDEX_STORE", str(tmp_path / "mounted"))
    with Library(shelf.path) as other:
        assert other.vectors()[1].shape[1] == 3
    monkeypatch.delenv("LPISEARCH_INDEX_STORE")
    shelf.index(dims=4, index_store="db")
    assert _place(shelf).is_cache
    assert server.run(f"SELECT count(*) > 0 FROM {schema}.index_files") == [(True,)]


def test_all_indexes_move_together(
    shelf: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shelf.index(dims=3)
    shelf.index("lsi", name="other", dims=2)
    first = _place(shelf).folder
    shared = tmp_path / "shared"
    monkeypatch.setattr("lpisearch.index.build.fit_index", _cut_short)
    with pytest.raises(KeyboardInterrupt):
        shelf.index(dims=4, index_store=str(shared))
    assert not first.exists()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    for chosen in ("", "db"):
        if chosen:
            with pytest.raises(KeyboardInterrupt):
                shelf.index(dims=4, index_store=chosen)
        with Library(shelf.path) as other:
            assert other.vectors()[1].shape[1] == 3
            assert other.vectors(index="other")[1].shape[1] == 2
            assert all(finding.ok for finding in other.examine())
    assert not list(shared.iterdir())


def test_a_place_that_cannot_be_written_is_not_chosen(shelf: Library, tmp_path: Path) -> None:
    shelf.index(dims=3)
    (tmp_path / "file").write_text("x")
    for bad in (tmp_path / "file" / "below", "/proc/absent"):
        with pytest.raises(IndexUnwritable):
            shelf.index(dims=2, index_store=str(bad))
    with Library(shelf.path) as other:
        assert other.vectors()[1].shape[1] == 3


def test_a_file_has_its_indexes_beside_it(shelf: Library, library: Path, tmp_path: Path) -> None:
    assert len(shelf) == 40
    with Library(library) as file:
        file.ingest(tmp_path / "notes")
        with pytest.raises(BadOption, match="index_store"):
            file.index(dims=2, index_store=str(tmp_path))
        with pytest.raises(VectorsUnavailable, match="is a file"):
            file.index(dims=2, export_pgvector=True)


@pytest.fixture(scope="module")
def vector_server() -> Iterator[Server]:
    """Give a server that has pgvector."""
    with running(programs_of(pgvector=True)) as found:
        yield found


@pytest.mark.parametrize("schema", ["", "mine"])
def test_vectors_for_other_programs(
    vector_server: Server, folder: Callable[..., Path], records: list[dict[str, str]], schema: str
) -> None:
    if schema:
        vector_server.run(f"CREATE SCHEMA {schema}")
    address = vector_server.address(schema=schema)
    root = folder({f"{record['id']}.txt": record["text"] for record in records})
    with Library(address) as library:
        library.ingest(root)
        report = library.index(dims=3, export_pgvector=True)
        assert "Vectors written to the table lpisearch_vectors." in report.notes
        vector = library.vector("ship harbour")
        expected = [hit.id for hit in library.search("ship harbour", by="semantic", k=5)]
        literal = f"[{','.join(map(str, vector.tolist()))}]"
        table = f"{schema or 'public'}.lpisearch_vectors"
        asked = f"SELECT id FROM {table} ORDER BY embedding <=> '{literal}' LIMIT 5"
        assert [row[0] for row in vector_server.run(asked)] == expected
        vector_server.run("ALTER ROLE tests SET enable_seqscan = off")
        plan = vector_server.run(f"EXPLAIN {asked}")
        vector_server.run("ALTER ROLE tests RESET enable_seqscan")
        assert "lpisearch_vectors_hnsw" in str(plan)
        library.delete(expected[0])
        assert next(row[0] for row in vector_server.run(asked)) == expected[1]
        vector_server.run(f"GRANT SELECT ON {table} TO PUBLIC")
        library.index(dims=2, export_pgvector=True)
        granted = f"SELECT relacl::TEXT FROM pg_class WHERE oid = '{table}'::regclass"
        assert "=r/" in str(vector_server.run(granted))
        where = schema or "public"
        vector_server.run(f"CREATE VIEW {where}.lpisearch_view AS SELECT id FROM {table}")
        with pytest.raises(VectorsUnavailable, match="is used by"):
            library.index(dims=3, export_pgvector=True)
        assert vector_server.run(f"SELECT count(*) FROM {where}.lpisearch_view") == [(39,)]
        vector_server.run(f"DROP VIEW {where}.lpisearch_view")
        library.index("lsi", name="other", dims=2, export_pgvector=True)
        assert library.schema_differences() == []
        assert all(finding.ok for finding in library.examine())
    found = vector_server.run(f"SELECT count(*) FROM {schema or 'public'}.lpisearch_vectors_other")
    assert found == [(39,)]


def test_each_index_has_a_table_of_its_own() -> None:
    assert table_of("default") == "lpisearch_vectors"
    assert table_of("other") == "lpisearch_vectors_other"
    assert len({table_of(name) for name in ("a_b", "a-b", "A_B", "a b")}) == 4


def test_a_server_without_pgvector(shelf: Library, server: Server) -> None:
    if server.run("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
        pytest.skip("this server has it")
    with pytest.raises(VectorsUnavailable, match="pgvector is not installed"):
        shelf.index(dims=2, export_pgvector=True)
    assert shelf.vectors()[1].shape[1] == 2


def test_a_build_that_was_cut_short_goes_on(
    shelf: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lpisearch.index.plan.FILES_FROM", 1)
    with monkeypatch.context() as cut:
        cut.setattr("lpisearch.index.format.publish", _cut_short)
        with pytest.raises(KeyboardInterrupt):
            shelf.index(dims=3)
    unfinished = _place(shelf).folder / ".default.unfinished"
    assert unfinished.is_dir()
    report = shelf.index(dims=3)
    assert report.resumed
    assert not unfinished.exists()
    assert shelf.search("ship")


def test_what_was_fetched_is_not_compared_again(
    shelf: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shelf.index(dims=3)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    with Library(shelf.path) as other:
        assert other.search("ship")
        place = _place(other)
        (folder,) = _folders(place)
        note = json.loads((place.folder / folder / "verified.json").read_bytes())
        inode = (place.folder / folder / "vectors.npy").stat().st_ino
        assert note["vectors.npy"][-1] == inode
        with other._session.reading() as snapshot:
            assert snapshot.index_files is not None
            assert "verified.json" not in snapshot.index_files.names(folder)


def test_who_writes_is_named(shelf: Library) -> None:
    assert shelf.writer() == ""
    with writer_lock(shelf.path, "index", 5):
        assert "index" in shelf.writer()
    assert shelf.writer() == ""


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """Return a folder of someone who opens the library of a stranger."""
    folder = tmp_path / "victim"
    for name in ("photos-0123456789ab", ".partial-0123456789ab"):
        (folder / name).mkdir(parents=True)
        (folder / name / "vectors.npy").write_bytes(b"mine")
    return folder


def _store(library: Library, **choice: str) -> None:
    """Store a location of indexes as one who may write the tables can."""
    with open_store(library.path, writable=True) as store, store.writing() as transaction:
        transaction.settings.set("index_store", choice)


@pytest.mark.parametrize("by", ["name", "folder", "link"])
def test_a_stranger_does_not_choose_where_indexes_are(
    shelf: Library, victim: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, by: str
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    shelf.index(dims=3)
    before = sorted(victim.rglob("*"))
    choices = {
        "name": {"name": f"../../../{'../' * len(tmp_path.parts)}{victim}", "folder": ""},
        "folder": {"name": victim.name, "folder": str(victim.parent)},
        "link": {"name": "linked", "folder": str(tmp_path)},
    }
    (tmp_path / "linked").symlink_to(victim)
    (tmp_path / ".lpisearch").write_text("linked")
    _store(shelf, **choices[by])
    with Library(shelf.path) as other:
        other.search("ship")
        assert other.status()["indexes"]
        if by == "name":  # it has no part in the name of the cache
            other.index(dims=2)
        else:
            with pytest.raises(IndexUnwritable, match=r"no file \.lpisearch") as refused:
                other.index(dims=2)
            assert "index_store" in repr(refused.value.next_step)
        assert sorted(victim.rglob("*")) == before
        other.index(dims=2, index_store=str(tmp_path / "mine"))
        assert other.vectors()[1].shape[1] == 2
    assert sorted(victim.rglob("*")) == before


@pytest.mark.parametrize("name", ["../victim", "a/b", "..", "", "a\\b", "C:x"])
def test_a_shared_folder_has_a_plain_name(shelf: Library, victim: Path, name: str) -> None:
    shelf.index(dims=3)
    _store(shelf, name=name or "/", folder=str(victim))
    before = sorted(victim.parent.rglob("*"))
    with Library(shelf.path) as other:
        assert "Searching by words only" in " ".join(other.search("ship").notes)
        assert [index["state"] for index in other.status()["indexes"]] == ["damaged"]
        assert not all(finding.ok for finding in other.examine())
        with pytest.raises(IndexDamaged):
            other.index(dims=2)
    assert sorted(victim.parent.rglob("*")) == before


@pytest.mark.parametrize("named", ["../victim-0123456789ab", "/etc/a-0123456789ab", "..", "x"])
def test_a_folder_of_an_index_has_a_plain_name(shelf: Library, named: str) -> None:
    shelf.index(dims=3)
    with open_store(shelf.path, writable=True) as store, store.writing() as transaction:
        (entry,) = transaction.indexes.entries()
        transaction.indexes.save(replace(entry, folder=named))
    with Library(shelf.path) as other:
        assert "Searching by words only" in " ".join(other.search("ship").notes)
        assert [index["state"] for index in other.status()["indexes"]] == ["damaged"]
        assert not all(finding.ok for finding in other.examine())
        other.index(dims=2)
        assert other.vectors()[1].shape[1] == 2


def test_files_that_the_manifest_does_not_name_are_not_fetched(
    shelf: Library, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shelf.index(dims=3)
    assert isinstance(shelf.path, Address)
    table = f"{shelf.path.name.partition('.')[2]}.index_files"
    for name in ("../../../evil", "evil.sh", "..", "evil.npy"):
        server.run(
            f"INSERT INTO {table} SELECT DISTINCT folder, '{name}', 0, 'x'::bytea FROM {table}"
        )
    server.run(
        f"INSERT INTO {table} SELECT folder, name, number + 1, content FROM {table} "
        "WHERE name = 'idf.npy'"
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    with Library(shelf.path) as other:
        assert "Searching by words only" in " ".join(other.search("ship").notes)
        server.run(f"DELETE FROM {table} WHERE name = 'idf.npy' AND number = 1")
        assert other.vectors()[1].shape[1] == 3
    assert not [path for path in tmp_path.rglob("*evil*") if "elsewhere" in str(path)]


def test_a_shared_folder_of_an_earlier_version_is_marked_by_its_name(
    shelf: Library, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shelf.index(dims=3, index_store=str(shared))
    (_place(shelf).folder / ".lpisearch").unlink()
    assert shelf.vectors()[1].shape[1] == 3
    with pytest.raises(IndexUnwritable):
        shelf.index(dims=2)
    shelf.index(dims=2, index_store=str(shared))
    shelf.index(dims=4)
    assert len(_folders(_place(shelf))) == 1


def _cut_short(*_words: object, **_named: object) -> Path:
    raise KeyboardInterrupt
