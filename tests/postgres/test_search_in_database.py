"""An index that the database searches: the answers of one in a folder, and no folder."""

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lpisearch.errors import (
    BadOption,
    IndexNotOwned,
    LibraryError,
    LibraryUnreachable,
    VectorsUnavailable,
)
from lpisearch.index.build import build_index
from lpisearch.library import Library
from lpisearch.location import Address
from lpisearch.options import IndexOptions
from lpisearch.storage.postgres import search_tables
from tests.servers import Server, programs_of, running, start, stop

_QUERIES = ("ship harbour", "bread and butter", '"north wind"', "letter -ship", "harbr", "garden")
_TABLES = "SELECT relname FROM pg_class WHERE relname LIKE 'lpisearch\\_index\\_%\\_units'"


@pytest.fixture(scope="module")
def vector_server() -> Iterator[Server]:
    """Give a server that has pgvector."""
    with running(programs_of(pgvector=True)) as found:
        yield found


@pytest.fixture
def place(vector_server: Server, request: pytest.FixtureRequest) -> Address:
    """Give a database of its own to each test."""
    name = f"of{abs(hash(request.node.name))}"
    vector_server.run(f"CREATE DATABASE {name}")
    return vector_server.address(name)


@pytest.fixture
def root(folder: Callable[..., Path], records: list[dict[str, Any]]) -> Path:
    """Write the records, and a long document that has passages."""
    files = {f"topic{n % 4}/{record['id']}.txt": record["text"] for n, record in enumerate(records)}
    chapters = [f"Chapter {n}\n\n{record['text']} " * 30 for n, record in enumerate(records[:12])]
    return folder(files | {"topic0/book.txt": "\n\n".join(chapters)})


def _fill(place: Address | Path, root: Path, **options: Any) -> Library:
    library = Library(place)
    library.ingest(root, labels="folder")
    library.index(dims=3, **options)
    return library


def test_answers_are_those_of_an_index_in_a_folder(
    place: Address, root: Path, tmp_path: Path
) -> None:
    with _fill(tmp_path / "file.db", root) as file, _fill(place, root, in_database=True) as stored:
        assert file.status()["indexes"][0]["passages"]
        for text in _QUERIES:
            for options in ({}, {"by": "lexical"}, {"by": "semantic"}, {"label": "topic1"}):
                expected = file.search(text, k=50, **options)  # type: ignore[arg-type]
                found = stored.search(text, k=50, **options)  # type: ignore[arg-type]
                case = (text, options)
                scores = {hit.id: hit.score for hit in expected}
                assert {hit.id for hit in found} == scores.keys(), case
                for hit in found:
                    assert hit.score == pytest.approx(scores[hit.id], abs=0.01), case
                assert found.by == expected.by, case
        ids = [hit.id for hit in file.similar("topic0/book.txt", k=5)]
        assert [hit.id for hit in stored.similar("topic0/book.txt", k=5)] == ids
        queries = [(text, text) for text in ("ship harbour", "garden")]
        runs = [dict(library.batch(queries)) for library in (file, stored)]
        for text, _ in queries:
            of_file, of_database = (dict(run[text]) for run in runs)
            assert of_database == pytest.approx(of_file, abs=0.01)
        first = stored.search("ship harbour")[0]
        reason = stored.reason("ship harbour", first.id)
        assert reason.score == pytest.approx(first.score, abs=1e-5)
        vectors = [library.vectors()[1] for library in (file, stored)]
        assert vectors[1] == pytest.approx(vectors[0], abs=1e-5)


def test_a_reader_has_no_folder(
    place: Address, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(place, root, in_database=True).close()
    cache = tmp_path / "cache of another machine"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    with Library(place) as library:
        assert library.search("ship harbour").by == "hybrid"
        assert library.topics()
    assert not cache.exists()


def test_new_documents_and_rebuilt_indexes_are_found(
    place: Address, root: Path, vector_server: Server
) -> None:
    database = place.name.partition(".")[0]
    with _fill(place, root, in_database=True) as library, Library(place) as reader:
        assert not any(hit.id.endswith("quokka.txt") for hit in reader.search("quokka"))
        (root / "quokka.txt").write_text("A quokka in the harbour, and a ship.")
        library.ingest(root)
        assert reader.search("quokka")[0].id == "quokka.txt"
        assert not reader.search("quokka").notes
        library.delete("quokka.txt")
        assert all(hit.id != "quokka.txt" for hit in reader.search("quokka harbour"))
        library.index(dims=2, in_database=True)
        assert reader.vector("ship").shape == (2,)
        assert reader.search("ship").by == "hybrid"
        assert len(vector_server.run(_TABLES, database)) == 2  # this one, and the one before
        library.index(dims=3)  # of other sizes: an equal index has the same name, and so its tables
        library.index(dims=4)
        assert vector_server.run(_TABLES, database) == []
        assert reader.search("ship").by == "hybrid"
        assert library.schema_differences() == []
        assert all(finding.ok for finding in library.examine())


def test_a_large_index_is_searched_by_hnsw(
    place: Address, root: Path, vector_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = place.name.partition(".")[0]
    with _fill(place, root, in_database=True) as library:
        texts = ("ship harbour", "bread")
        exact = [[hit.id for hit in library.search(text, by="semantic")] for text in texts]
        assert all(exact)
        monkeypatch.setattr(search_tables, "EXACT_BELOW", 1)
        (root / "another.txt").write_text("Nothing that matters.")
        library.ingest(root)
        made = vector_server.run("SELECT indexdef FROM pg_indexes", database)
        assert sum("hnsw" in str(row) for row in made) == 1
        vector_server.run(f"ALTER DATABASE {database} SET enable_seqscan = off")
        vector_server.run(f"ALTER DATABASE {database} SET enable_sort = off")
        with Library(place) as reader:
            for text, ids in zip(texts, exact, strict=True):
                assert [hit.id for hit in reader.search(text, by="semantic")][:3] == ids[:3]
                found = [hit.id for hit in reader.search(text, label="topic1")]
                assert found == [hit.id for hit in library.search(text, label="topic1")]


def test_where_it_cannot_be(place: Address, root: Path, tmp_path: Path) -> None:
    with Library(tmp_path / "file.db") as file:
        file.ingest(root)
        with pytest.raises(VectorsUnavailable, match="is a file"):
            file.index(dims=2, in_database=True)
    with Library(place) as library:
        library.ingest(root)
        with pytest.raises(BadOption, match="in_database"):
            library.index(dims=2, in_database=True, index_store=str(tmp_path / "store"))
        assert library.search("ship").by == "lexical"


def test_a_writer_who_does_not_own_the_tables(
    place: Address, root: Path, vector_server: Server
) -> None:
    """Its documents are stored, and it is told what to grant; then it writes as the owner does."""
    database = place.name.partition(".")[0]
    _fill(place, root, in_database=True).close()
    for statement in (
        "CREATE ROLE clerk LOGIN",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO clerk",
        "GRANT USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA public TO clerk",
    ):
        vector_server.run(statement, database)
    owned = f"{_TABLES} AND pg_get_userbyid(relowner) = 'tests'"
    (root / "quokka.txt").write_text("A quokka in the harbour.")
    with Library(vector_server.address(database, user="clerk")) as library:
        report = library.ingest(root)
        assert report.added == 1
        (note,) = report.index_notes
        assert "tables of tests, which clerk may write after GRANT tests TO clerk" in note
        assert library.document("quokka.txt").text
        assert library.search("harbour").by == "hybrid"
        with pytest.raises(IndexNotOwned):
            library.index(dims=2, in_database=True)
        vector_server.run("GRANT tests TO clerk", database)
        assert library.ingest(root).index_notes == []
        assert library.search("quokka")[0].id == "quokka.txt"
        assert len(vector_server.run(owned, database)) == 2
        vector_server.run("REVOKE tests FROM clerk", database)
        library.index(dims=2)  # in no tables: those of the owner are left to the owner
        assert library.search("harbour").by == "hybrid"
    with Library(place) as library:
        library.index(dims=3)
        assert vector_server.run(_TABLES, database) == []


@pytest.mark.timeout(400)
def test_a_build_or_a_database_that_is_killed(root: Path, processes: Any) -> None:
    """What answers is the index before or the new one, and never half of one."""
    programs = programs_of(pgvector=True)
    with running(programs, durable=True) as first, _fill(first.address(), root) as library:
        server, place = first, first.address()
        for dims in (3, 2):  # the first one also imports what all need
            begun = time.monotonic()
            whole = processes.Process(target=_build, args=(place, dims))
            whole.start()
            whole.join()
        lasted, killed = time.monotonic() - begun, 0
        for moment in range(4):
            process = processes.Process(target=_build, args=(place, 3 + moment))
            process.start()
            process.join(lasted * (moment + 1) / 6)
            killed += process.is_alive()
            if moment % 2:
                process.kill()
            else:
                server.kill()
                with pytest.raises(LibraryUnreachable):
                    library.search("ship")
                pid = start(programs, server.folder, durable=True)
                server = replace(server, pid=pid)
            process.join(60)
            assert process.exitcode in ({0, -signal.SIGKILL} if moment % 2 else {0})
            assert library.search("ship").by == "hybrid"
            assert library.vector("ship").shape[0] in range(2, 4 + moment)
            assert len(server.run(_TABLES)) <= 2
            assert [finding for finding in library.examine() if not finding.ok] == []
        stop(server.folder)
        assert killed


def _build(place: Address, dims: int) -> None:
    try:
        build_index(place, IndexOptions(dims=dims, in_database=True))
    except LibraryError as error:
        if not error.next_step:
            raise
