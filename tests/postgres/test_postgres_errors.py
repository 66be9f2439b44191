"""What goes wrong with a server is stated, with a next step, and without a password."""

import socket
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from lpisearch.cli.app import app
from lpisearch.errors import (
    DriverMissing,
    LibraryDamaged,
    LibraryError,
    LibraryLocked,
    LibraryTooNew,
    LibraryUnreachable,
    LibraryUnwritable,
    NotALibrary,
    ServerTooOld,
)
from lpisearch.library import Library
from lpisearch.location import Address
from lpisearch.storage import create_store, open_store, writer_lock
from lpisearch.storage.postgres import database, schema
from lpisearch.storage.postgres.database import translated
from lpisearch.storage.store import Store
from tests.servers import Server

_SECRET = "k3y-to_all"  # noqa: S105 (of nobody)


def _said(error: LibraryError) -> str:
    assert error.next_step
    told = "".join(traceback.format_exception(error))
    assert _SECRET not in told + str(error)
    return str(error)


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(LibraryUnreachable) as found:
            open_store(Address(f"postgresql://me:{_SECRET}@127.0.0.1:{port}/notes"))
    assert "start the server" in _said(found.value)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{_SECRET}@host:5x/notes",
        f"postgresql://me:{_SECRET}@ho st/notes",
        f"postgresql://me:%zz{_SECRET}@host/notes",
        f"postgresql://me:a/b{_SECRET}@host/notes",
        f"postgresql://host/notes?pass={_SECRET}&password={_SECRET}",
        f"postgresql://[me:{_SECRET}@host/notes",
    ],
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(LibraryUnreachable) as found:
        open_store(Address(url))
    _said(found.value)


def test_no_database_and_no_user(server: Server) -> None:
    with pytest.raises(LibraryUnreachable) as found:
        create_store(server.address("absent"))
    assert "createdb absent" in _said(found.value)
    with pytest.raises(LibraryUnreachable) as found:
        open_store(server.address(user=f"nobody:{_SECRET}"))
    assert "check the user and password" in _said(found.value)


def test_rights_that_are_missing(address: Address, server: Server) -> None:
    name = address.name.partition(".")[2]
    server.run(f"CREATE ROLE reader_{name} LOGIN")
    server.run(f"GRANT USAGE ON SCHEMA {name} TO reader_{name}")
    other = Address(address.url.replace("tests@", f"reader_{name}:{_SECRET}@"))
    with pytest.raises(LibraryUnreachable) as found:
        create_store(other)
    assert "GRANT" in _said(found.value)
    create_store(address).close()
    server.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO reader_{name}")
    with open_store(other) as store, store.reading() as snapshot:
        assert snapshot.documents.keys() == []
    with (
        open_store(other, writable=True) as store,
        pytest.raises(LibraryUnreachable),
        store.writing() as transaction,
    ):
        transaction.settings.set("x", {})


def test_the_rights_that_are_asked_for(
    address: Address, server: Server, folder: Callable[..., Path]
) -> None:
    create_store(address).close()
    name = address.name.partition(".")[2]
    page = (Path(__file__).parents[2] / "docs" / "postgresql.md").read_text(encoding="utf-8")
    grants = page.partition("```sql\n")[2].partition("```")[0]
    for who in ("reader", "writer"):
        server.run(f"CREATE ROLE {name}_{who} LOGIN")
        grants = grants.replace(who, f"{name}_{who}")
    for grant in grants.replace("public", name).split(";")[:-1]:
        server.run(grant)
    reader, writer = (
        Address(address.url.replace("tests@", f"{name}_{who}@")) for who in ("reader", "writer")
    )
    root = folder({f"{n}.txt": f"ship boat harbour {'sea ' * (n % 3)}{n}" for n in range(6)})
    with Library(writer) as library:
        assert library.ingest(root).added == 6
        library.index(dims=2)
        assert library.label("0.txt", add="mine").added == 1
    with Library(reader) as library:
        assert not library.search("ship").notes
        assert all(finding.ok for finding in library.examine())


@pytest.fixture
def as_role(address: Address, server: Server) -> Callable[..., Address]:
    """Return the maker of an address of a new role that owns the schema."""
    name = address.name.partition(".")[2]

    def make(*settings: str) -> Address:
        server.run(f"CREATE ROLE {name}_owner LOGIN")
        server.run(f"ALTER SCHEMA {name} OWNER TO {name}_owner")
        for setting in settings:
            server.run(f"ALTER ROLE {name}_owner SET {setting}")
        return Address(address.url.replace("tests@", f"{name}_owner@"))

    return make


def test_limits_of_a_role_end_nothing(
    as_role: Callable[..., Address], folder: Callable[..., Path]
) -> None:
    limits = ("statement_timeout = 1", "idle_in_transaction_session_timeout = 1")
    place = as_role(*limits, "default_transaction_isolation = 'serializable'")
    words = "ship boat harbour anchor"
    root = folder({f"{n}.txt": f"{words} {n} {'tide ' * (n % 5)}" for n in range(300)})
    with Library(place) as library:
        assert library.ingest(root).added == 300
        library.index(dims=2)
        assert library.search("ship").hits
        assert all(finding.ok for finding in library.examine())
    asked = Address(f"{place.url}%20-cstatement_timeout%3D1")
    with Library(asked) as library, pytest.raises(LibraryUnreachable) as found:
        library.examine(repair=True)
    assert "raise statement_timeout" in _said(found.value)


def test_transactions_that_are_read_only_by_default(
    as_role: Callable[..., Address], server: Server, folder: Callable[..., Path]
) -> None:
    place = as_role()
    role = place.url.partition("//")[2].partition("@")[0]
    root = folder({f"{n}.txt": f"ship boat harbour {n}" for n in range(4)})
    with Library(place) as library:
        library.ingest(root)
    server.run(f"ALTER ROLE {role} SET default_transaction_read_only = on")
    with Library(place) as library:
        assert library.search("ship", by="lexical").hits
        with pytest.raises(LibraryUnwritable) as found:
            library.label("0.txt", add="mine")
    assert "default_transaction_read_only" in _said(found.value)


def test_a_schema_of_the_user_s_name_shadows_nothing(
    new_address: Callable[[], Address], server: Server, folder: Callable[..., Path]
) -> None:
    name = new_address().name.partition(".")[2]
    server.run(f"CREATE DATABASE of_{name}")
    place = server.address(f"of_{name}")
    root = folder({f"{n}.txt": f"ship boat harbour {n}" for n in range(4)})
    with Library(place) as library:
        library.ingest(root)
        ours = [hit.id for hit in library.search("ship", by="lexical")]
        server.run("CREATE SCHEMA tests", place.name)
        for table in ("documents", "settings", "state_mark", "document_terms", "alembic_version"):
            server.run(
                f"CREATE TABLE tests.{table} AS TABLE public.{table} WITH NO DATA", place.name
            )
        assert [hit.id for hit in library.search("ship", by="lexical")] == ours
    with Library(place) as library:
        assert [hit.id for hit in library.search("ship", by="lexical")] == ours
        assert library.label("0.txt", add="mine").added == 1
        assert server.run("SELECT name FROM public.labels", place.name) == [("mine",)]
    shadow = Address(f"{place.url}?options=-csearch_path%3Dtests")
    with Library(shadow) as library, pytest.raises(LibraryError):
        library.search("ship")
    for table in ("document_tokens", "labels"):
        server.run(f"CREATE TABLE tests.{table} AS TABLE public.{table}", place.name)
    with pytest.raises(LibraryUnreachable) as found:
        open_store(place)
    assert "name one of them" in _said(found.value)
    with Library(Address(f"{place.url}?options=-csearch_path%3Dpublic")) as library:
        assert [hit.id for hit in library.search("ship", by="lexical")] == ours


@pytest.mark.parametrize("table", ["alembic_version", "settings", "state_mark", "documents"])
def test_a_view_is_not_asked(address: Address, server: Server, table: str) -> None:
    create_store(address).close()
    name = address.name.partition(".")[2]
    server.run(f"ALTER TABLE {name}.{table} RENAME TO away")
    columns = "generate_series(1, 1e12::bigint) AS name, pg_sleep(600)::text AS version_num"
    server.run(f"CREATE VIEW {name}.{table} AS SELECT {columns}")
    with pytest.raises(NotALibrary, match="not a plain table"):
        open_store(address)


@pytest.mark.parametrize("stated", ["0001", "0002", "0003", "0004", "0005", "0006"])
def test_a_revision_older_than_the_tables(address: Address, server: Server, stated: str) -> None:
    create_store(address).close()
    name = address.name.partition(".")[2]
    server.run(f"UPDATE {name}.alembic_version SET version_num = '{stated}'")
    with pytest.raises(LibraryDamaged, match=stated):
        open_store(address)


def test_another_program_s_tables_stay(address: Address, server: Server) -> None:
    server.run(f"CREATE TABLE {address.name.partition('.')[2]}.theirs (x INT)")
    with pytest.raises(NotALibrary) as found:
        create_store(address)
    assert "CREATE SCHEMA" in _said(found.value)


def test_libraries_of_other_programs_and_times(address: Address, server: Server) -> None:
    create_store(address).close()
    name = address.name.partition(".")[2]
    server.run(f"UPDATE {name}.alembic_version SET version_num = '9999'")
    with pytest.raises(LibraryTooNew):
        open_store(address)
    server.run(f"UPDATE {name}.alembic_version SET version_num = 'what'")
    with pytest.raises(LibraryDamaged):
        open_store(address)


def test_servers_that_will_not_do(
    address: Address, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "LEAST_VERSION", 99)
    with pytest.raises(ServerTooOld) as found:
        create_store(address)
    assert "99 or newer is required" in _said(found.value)
    monkeypatch.undo()
    server.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(ServerTooOld) as found:
        create_store(server.address("latin"))
    assert "UTF8" in _said(found.value)


def test_a_connection_that_is_lost(shelf: Library, server: Server) -> None:
    assert isinstance(shelf.path, Address)

    def write(store: Store) -> None:
        with store.writing() as transaction:
            transaction.changes.delete([1])
            server.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name LIKE 'lpisearch%'"
            )
            transaction.changes.delete([2])

    with create_store(shelf.path) as store:
        with pytest.raises(LibraryUnreachable) as found:
            write(store)
        assert "same command again" in _said(found.value)
        with store.reading() as snapshot:
            assert len(snapshot.documents.keys()) == 40
    assert len(shelf) == 40


def test_a_lock_that_is_lost(address: Address, server: Server) -> None:
    with create_store(address) as store:
        with writer_lock(address, "ingest", 0, ["/data"]):
            server.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name LIKE 'lpisearch ingest%'"
            )
            with pytest.raises(LibraryUnreachable) as found, store.writing():
                pass
        assert "same command again" in _said(found.value)
        with store.writing() as transaction:
            transaction.settings.set("x", {})


def test_who_waits_too_long(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_WRITE_SECONDS", 0.2)
    with (
        create_store(address) as first,
        create_store(address) as second,
        first.writing() as transaction,
    ):
        transaction.settings.set("x", {})
        with pytest.raises(LibraryLocked), second.writing():
            pass
        with second.reading() as snapshot:
            assert snapshot.settings.get("x") is None


@pytest.mark.parametrize(
    ("state", "kind", "words"),
    [
        ("53100", LibraryUnwritable, "the server's disk is full"),
        ("25006", LibraryUnwritable, "standby"),
        ("53300", LibraryUnreachable, "max_connections"),
        ("40001", LibraryLocked, "another program"),
        ("57014", LibraryUnreachable, "statement_timeout"),
        ("25P03", LibraryUnreachable, "start the server"),
        ("XX001", LibraryDamaged, "damaged"),
        ("57P01", LibraryUnreachable, "start the server"),
        ("28P01", LibraryUnreachable, "check the user and password"),
    ],
)
def test_what_a_server_says_becomes_an_error(state: str, kind: type[Exception], words: str) -> None:
    place = Address(f"postgresql://me:{_SECRET}@host/notes")
    error = psycopg.errors.lookup(state)(f"no use with {_SECRET}")
    found = translated(place, error)
    assert isinstance(found, kind)
    assert isinstance(found, LibraryError)
    assert words in _said(found)


def test_a_full_disk_that_lets_nobody_in() -> None:
    place = Address(f"postgresql://me:{_SECRET}@host/notes")
    found = translated(place, psycopg.OperationalError("FATAL:  could not write init file"))
    assert isinstance(found, LibraryError)
    assert "free some disk space" in _said(found)


def test_a_defect_is_no_error_of_the_server() -> None:
    assert translated(Address("postgresql://host/notes"), psycopg.errors.SyntaxError("x")) is None


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(DriverMissing, match=r"lpisearch\[postgres\]"):
        open_store(Address("postgresql://host/notes"))


def test_passwords_are_nowhere(
    address: Address, folder: Callable[..., Path], tmp_path: Path, server: Server
) -> None:
    url = address.url.replace("tests@", f"tests:{_SECRET}@")
    root = folder({f"{n}.txt": f"ship {'boat' * (n % 3)} harbour {n}" for n in range(12)})
    store = tmp_path / "indexes"
    said = []
    for words in (
        ["ingest", str(root), "--json"],
        ["index", "--dims", "2", "--json"],
        ["index", "--dims", "2", "--index-store", str(store), "--json"],
        ["status", "--json"],
        ["query", "ship", "--json"],
        ["doctor", "--json"],
        ["--debug", "docs", "show", "absent"],
        ["db", "backup", str(tmp_path / "copy.db")],
    ):
        result = CliRunner().invoke(app, ["--db", url, *words])
        said.append(result.output + result.stderr + repr(result.exception))
    assert _SECRET not in "".join(said)
    assert _SECRET not in repr(Library(Address(url))) + repr(Address(url))
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    written += [path for path in __import__("pathlib").Path(
        __import__("os").environ["XDG_CACHE_HOME"]).rglob("*") if path.is_file()]  # fmt: skip
    assert any("manifest.json" in path.name for path in written)
    assert not [path for path in written if _SECRET.encode() in path.read_bytes()]
    name = address.name.partition(".")[2]
    for table in ("settings", "sources", "indexes", "failures", "source_hosts"):
        assert _SECRET not in str(server.run(f"SELECT * FROM {name}.{table}"))


def test_who_holds_the_lock_is_named(address: Address) -> None:
    reached: list[Any] = []

    def take(purpose: str, *folders: str) -> None:
        try:
            with writer_lock(address, purpose, 0, folders):
                reached.append((purpose, *folders))
        except LibraryLocked as error:
            reached.append(str(error))

    with writer_lock(address, "ingest", 0, ["/data/a", "/data/b/c"]):
        cases = (["/data/d"], ["/data/a"], ["/data/a/x"], ["/data/b"], ["/data/b/d"])
        threads = [threading.Thread(target=take, args=("ingest", *case)) for case in cases]
        for thread in threads:
            thread.start()
            thread.join()
        take("index")
    assert reached[0] == ("ingest", "/data/d")
    assert reached[4] == ("ingest", "/data/b/d")
    assert all("lpisearch ingest (process" in reached[at] for at in (1, 2, 3, 5))
    take("index")
    assert reached[-1] == ("index",)
