"""The whole program on a library in PostgreSQL: what a file gives, a database gives."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from lpisearch.admin.maintenance import examine
from lpisearch.cli.app import app
from lpisearch.errors import BadOption, LibraryNotFound
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.library import Library, default_path
from lpisearch.location import Address, parse_location
from lpisearch.model.documents import Filter
from lpisearch.options import ClassifyOptions, IngestOptions, SearchOptions
from tests.servers import Server

Folder = Callable[..., Path]


def _documents(library: Library) -> list[Any]:
    return [(one.id, one.title, one.text, one.labels, one.split) for one in library]


def test_a_file_and_a_database_give_the_same(
    shelf: Library, library: Path, tmp_path: Path, records: list[dict[str, Any]]
) -> None:
    with Library(library) as file:
        file.ingest(tmp_path / "notes", labels="folder")
        assert sorted(_documents(file)) == sorted(_documents(shelf))
        for text in ("ship harbour", '"' + " ".join(records[0]["text"].split()[:2]) + '"', "-ship"):
            found, expected = (each.search(text, by="lexical", k=40) for each in (shelf, file))
            assert {hit.id: round(hit.score, 6) for hit in found} == {
                hit.id: round(hit.score, 6) for hit in expected
            }
        for where in (Filter(labels=("sea",)), Filter(path="sky/*"), Filter(path="mus?c/[0-9]*")):
            options = SearchOptions(where=where, k=40)
            found, expected = (each.search("star", options=options) for each in (shelf, file))
            assert sorted(hit.id for hit in found) == sorted(hit.id for hit in expected)
        shelf.index(dims=4)
        file.index(dims=4)
        ids = [[hit.id for hit in each.search("ship", k=10)] for each in (shelf, file)]
        assert ids[0] == ids[1]


def test_a_second_run_reads_what_changed(
    shelf: Library, tmp_path: Path, sound_at: Callable[[Address], None]
) -> None:
    root = tmp_path / "notes"
    assert shelf.ingest(root, labels="folder").unchanged == 40
    (root / "sea" / "0.txt").write_text("A lighthouse.", encoding="utf-8")
    (root / "sea" / "4.txt").unlink()
    report = shelf.ingest(root, labels="folder")
    assert (report.updated, report.unchanged, report.missing) == (1, 38, 1)
    report = shelf.ingest(root, labels="folder", options=IngestOptions(prune=True))
    assert report.removed == 1
    assert len(shelf) == 39
    assert isinstance(shelf.path, Address)
    sound_at(shelf.path)


def test_what_is_labelled_predicted_and_exported(
    shelf: Library, folder: Folder, tmp_path: Path
) -> None:
    assert shelf.label("sea/0.txt", add="mine").added == 1
    shelf.index(dims=4)
    every = ClassifyOptions(confidence=0.0)
    shelf.ingest(folder({"new.txt": "ship harbour tide"}, "others"), labels="none")
    assert shelf.predict_labels(options=every).predicted == 1
    assert shelf.entries(path="new.txt")[0].predicted
    assert shelf.forget_predicted() == 1
    target = tmp_path / "all.jsonl"
    assert shelf.export(target) == 41
    with Library(tmp_path / "again.db") as again:
        again.ingest(target)
        assert {one[0]: one[2] for one in _documents(again)} == {
            one[0]: one[2] for one in _documents(shelf)
        }


def test_a_copy_is_a_file(shelf: Library, tmp_path: Path, sound: Callable[..., None]) -> None:
    shelf.label("sea/0.txt", add="mine")
    copy = shelf.back_up(tmp_path / "copy.db")
    sound(copy)
    with Library(copy) as file:
        assert sorted(_documents(file)) == sorted(_documents(shelf))
    with pytest.raises(BadOption, match="already exists"):
        shelf.back_up(copy)


def test_doctor_finds_and_mends_what_was_changed(
    shelf: Library, server: Server, sound_at: Callable[[Address], None]
) -> None:
    assert isinstance(shelf.path, Address)
    schema = shelf.path.name.partition(".")[2]
    for change in (
        "UPDATE {}.documents SET text = 'x' WHERE external_id = 'sea/0.txt'",
        "UPDATE {}.labels SET name = 'x' WHERE document_id = 2",
        "UPDATE {}.sources SET mtime_ns = 7 WHERE id = 3",
        "UPDATE {}.document_tokens SET tokens = 'x' WHERE document_id = 4",
        "UPDATE {}.document_terms SET terms = 'x:1' WHERE document_id = 5",
        "DELETE FROM {}.document_terms WHERE document_id = 6",
    ):
        server.run(change.format(schema))
        found = [finding.check for finding in examine(shelf.path) if not finding.ok]
        assert found, change
        shelf.examine(repair=True)
        sound_at(shelf.path)
    assert shelf.document("sea/0.txt").text != "x"


def test_tables_that_were_changed_are_named(shelf: Library, server: Server) -> None:
    assert shelf.schema_differences() == []
    assert isinstance(shelf.path, Address)
    server.run(f"ALTER TABLE {shelf.path.name.partition('.')[2]}.labels ADD COLUMN colour TEXT")
    assert shelf.schema_differences() != []
    assert not all(finding.ok for finding in shelf.examine())


def test_the_command_line_takes_an_address(
    address: Address, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = address.url.replace("tests@", "tests:geheim@")
    root = folder({"a.txt": "A letter about ships."})

    def run(*words: str) -> str:
        result = CliRunner().invoke(app, words)
        assert "geheim" not in result.output + result.stderr
        return result.output

    assert "No library found" in run("--db", url, "status")
    assert '"added": 1' in run("--db", url, "ingest", str(root), "--json")
    monkeypatch.setenv("LPISEARCH_DB", url)
    assert str(default_path()) == str(address)
    status = json.loads(run("status", "--json"))
    assert (status["documents"], status["library"]) == (1, str(address))
    assert "letter" in run("query", "ships")
    assert "postgresql://tests@" in run("config")
    assert "no folder for a settings file" in run("config", "set", "k", "3", "--beside")


def test_nothing_is_made_by_looking(address: Address, server: Server) -> None:
    with pytest.raises(LibraryNotFound):
        Library(address).status()
    found = server.run(
        f"SELECT count(*) FROM pg_tables WHERE schemaname = '{address.name.partition('.')[2]}'"
    )
    assert found == [(0,)]


def test_files_of_another_machine_are_not_gone(
    address: Address, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = folder({"x.txt": "of the first"}, "first")
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    run_ingest(address, [str(first)], IngestOptions())
    monkeypatch.undo()
    (first / "x.txt").rename(first.parent / "away")
    second = folder({"x.txt": "of the second"}, "second")
    run_ingest(address, [str(second)], IngestOptions(prune=True))
    report = run_ingest(address, [str(first), str(second)], IngestOptions(prune=True))
    assert (report.removed, report.missing) == (0, 0)
    with Library(address) as library:
        assert sorted(one.text for one in library) == ["of the first", "of the second"]


def test_a_text_says_what_an_address_is() -> None:
    assert parse_location("notes.db").name == "notes.db"
    shown = {
        "postgresql://me:secret@host:5432/notes": "postgresql://me@host:5432/notes",
        "postgres://me:a@b:c/d@host/notes": "postgres://me@host/notes",
        "postgresql://host/notes?password=secret&x=1": "postgresql://host/notes?password=***&x=1",
        "postgresql:///notes?host=/tmp": "postgresql:///notes?host=/tmp",
    }
    for url, text in shown.items():
        place = parse_location(url)
        assert isinstance(place, Address)
        assert (str(place), place.name) == (text, "notes")
        assert "secret" not in repr(place) + place.key
    schema = Address("postgresql://host/notes?options=-csearch_path%3Dmine")
    assert schema.name == "notes.mine"
    assert os.fspath(parse_location(b"x".decode())) == "x"  # type: ignore[arg-type]


@pytest.mark.parametrize("url", ["mysql://me:geheim@host/x", "postgresql:me:geheim@host/x"])
def test_what_was_meant_for_an_address_is_no_file(url: str) -> None:
    result = CliRunner().invoke(app, ["--db", url, "status"])
    assert result.exit_code == 1
    assert "the address is invalid" in result.stderr
    assert "geheim" not in result.output + result.stderr
    assert parse_location("POSTGRESQL://host/notes") == Address("postgresql://host/notes")


def test_no_password_is_written_into_settings(tmp_path: Path) -> None:
    url = "postgresql://me:geheim@host/notes"
    result = CliRunner().invoke(app, ["config", "set", "library", url])
    assert result.exit_code == 2
    assert "~/.pgpass" in result.stderr
    assert "geheim" not in result.output + result.stderr
    assert not list(tmp_path.rglob("config.toml"))


def test_the_planner_knows_a_large_ingest(
    address: Address, tmp_path: Path, sound_at: Callable[[Address], None]
) -> None:
    records = (json.dumps({"id": f"n{n}", "text": f"ship number {n}"}) for n in range(1000))
    (tmp_path / "many.jsonl").write_text("\n".join(records), encoding="utf-8")
    with Library(address) as library:
        library.ingest(tmp_path / "many.jsonl")
    with psycopg.connect(address.url) as connection:
        found = connection.execute(
            "SELECT reltuples FROM pg_class WHERE oid = 'document_terms'::regclass"
        ).fetchone()
    assert found == (1000.0,)
    sound_at(address)


def test_an_ingest_needs_no_vacuum(
    address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `statement_timeout` may end it: the documents are there, and so is the rest of the run."""
    tried: list[str] = []

    def fails(*_words: Any, **_settings: Any) -> Any:
        tried.append("vacuum")
        raise psycopg.errors.QueryCanceled

    monkeypatch.setattr("lpisearch.ingest.ingestion._VACUUM_DOCUMENTS", 1)
    monkeypatch.setattr("lpisearch.storage.postgres.store.connect", fails)
    (tmp_path / "one.txt").write_text("A lighthouse.", encoding="utf-8")
    with Library(address) as library:
        assert library.ingest(tmp_path / "one.txt").added == 1
    assert tried


def test_texts_are_compressed_as_the_server_can(address: Address, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("A lighthouse and a ship. " * 1000, encoding="utf-8")
    with Library(address) as library:
        library.ingest(tmp_path / "long.txt")
    with psycopg.connect(address.url) as connection:
        found = connection.execute("SELECT pg_column_compression(text) FROM documents").fetchone()
        able = connection.execute(
            "SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'"
        ).fetchone()
    assert found == ("lz4" if able == (True,) else "pglz",)
