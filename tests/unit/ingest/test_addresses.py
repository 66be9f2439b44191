from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.errors import NothingThere, PackageMissing
from lpisearch.files import limited_reading
from lpisearch.ingest import discovery
from lpisearch.ingest.discovery import AddressUnreadable, Discovery, is_address, public_address
from lpisearch.messages import system_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lpisearch.model.documents import IngestReport

    Ingest = Callable[..., IngestReport]
    Sql = Callable[..., list[Any]]

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def store() -> Iterator[Any]:
    """Return an empty store in memory."""
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]
    yield memory
    memory.store.clear()


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note every address that is downloaded."""
    from lpisearch.ingest import extraction

    names: list[str] = []
    whole = discovery.download

    def download(address: str, target: Path) -> None:
        names.append(address)
        whole(address, target)

    monkeypatch.setattr(extraction, "download", download)
    return names


def _lines(*texts: str) -> bytes:
    return "".join(json.dumps({"id": text[:3], "text": text}) + "\n" for text in texts).encode()


def test_objects_below_an_address_are_ingested_once(
    ingest: Ingest, store: Any, sql: Sql, fetched: list[str]
) -> None:
    store.pipe("/bucket/letters/ann.txt", b"A letter about ships.")
    store.pipe("/bucket/letters/more/records.jsonl", _lines("one ship", "two boats"))
    store.pipe("/bucket/letters/.hidden/x.txt", b"hidden")
    store.pipe("/bucket/other.txt", b"not below")
    report = ingest("memory://bucket/letters")
    assert (report.added, report.left_out) == (3, {"hidden": 1})
    assert {name for (name,) in sql("SELECT external_id FROM documents")} == {
        "ann.txt",
        "one",
        "two",
    }
    (path,) = sql("SELECT path FROM documents WHERE external_id = 'ann.txt'")[0]
    assert path == "memory:///bucket/letters/ann.txt"
    assert len(fetched) == 2
    assert ingest("memory://bucket/letters").unchanged == 3
    assert len(fetched) == 2


def test_changed_objects_are_read_again_and_gone_ones_pruned(
    ingest: Ingest, store: Any, fetched: list[str]
) -> None:
    for name in "abc":
        store.pipe(f"/bucket/{name}.txt", f"A note {name}.".encode())
    ingest("memory://bucket")
    fetched.clear()
    store.pipe("/bucket/a.txt", b"A longer note.")
    store.rm("/bucket/b.txt")
    report = ingest("memory://bucket")
    assert (report.updated, report.unchanged, report.missing) == (1, 1, 1)
    assert fetched == ["memory:///bucket/a.txt"]
    report = ingest("memory://bucket", prune=True)
    assert (report.removed, report.unchanged) == (1, 2)


def test_a_single_object_and_a_folder_beside_it(
    ingest: Ingest, store: Any, tmp_path: Path, sql: Sql
) -> None:
    store.pipe("/bucket/x.jsonl", _lines("one ship"))
    (tmp_path / "local.txt").write_text("A local note.", encoding="utf-8")
    assert ingest("memory://bucket/x.jsonl", tmp_path / "local.txt").added == 2
    assert ingest(tmp_path / "local.txt").missing == 0
    assert sql("SELECT count(*) FROM documents") == [(2,)]


def test_a_failed_download_is_tried_again(
    ingest: Ingest, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.pipe("/bucket/a.txt", b"A note.")
    store.pipe("/bucket/b.txt", b"Another note.")
    whole = type(store).get_file

    def fail(self: Any, path: str, target: str) -> None:
        if path.endswith("a.txt"):
            raise RuntimeError("the token is no longer valid")
        whole(self, path, target)

    with monkeypatch.context() as patched:
        patched.setattr(type(store), "get_file", fail)
        report = ingest("memory://bucket")
    assert report.added == 1
    assert "no longer valid" in str(report.failures[0].reason)
    assert ingest("memory://bucket").added == 1


def test_an_interrupted_run_continues(
    ingest: Ingest, store: Any, fetched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lpisearch.ingest import ingestion

    for number in range(30):
        store.pipe(f"/bucket/{number:02}.txt", f"Note {number}.".encode())
    whole = ingestion._Reader._read_file
    read = []

    def stop(self: Any, extracted: Any) -> None:
        read.append(extracted)
        if len(read) > 20:
            raise KeyboardInterrupt
        whole(self, extracted)

    with monkeypatch.context() as patched:
        patched.setattr(ingestion._Reader, "_read_file", stop)
        with pytest.raises(KeyboardInterrupt):
            ingest("memory://bucket", batch_documents=5)
    fetched.clear()
    report = ingest("memory://bucket")
    assert (report.unchanged + report.added, 9 <= len(fetched) <= 15) == (30, True)


@pytest.mark.usefixtures("store")
def test_errors_name_the_address_without_its_secrets(
    monkeypatch: pytest.MonkeyPatch, ingest: Ingest
) -> None:
    with pytest.raises(NothingThere, match="memory://nothing"):
        ingest("memory://nothing")
    signed = "https://user:word@host/x.jsonl?signature=abc"
    assert public_address(signed) == "https://host/x.jsonl"

    def fail(address: str) -> None:
        raise RuntimeError(f"{address} is not there")

    monkeypatch.setattr(discovery, "_listed", fail)
    with pytest.raises(AddressUnreadable) as caught:
        list(Discovery().files([signed]))
    assert "abc" not in str(caught.value)
    assert "word" not in str(caught.value)
    assert caught.value.next_step


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("403, url='https://user:w%40rd@host/x.jsonl?signature=abc%2F'"),
        OSError("Cannot fetch https://user:w@rd@host/x.jsonl?signature=abc/"),
        FileNotFoundError("https://user:w@rd@host/x.jsonl?signature=abc/"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_a_store_says_of_a_download_shows_no_secret(
    store: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception
) -> None:
    def fail(_self: Any, _path: str, _target: str) -> None:
        raise error

    monkeypatch.setattr(type(store), "get_file", fail)
    with pytest.raises(OSError) as caught:  # noqa: PT011 (its type does not matter)
        discovery.download("memory://bucket/x", tmp_path / "x")
    reason = system_reason(caught.value)
    assert not any(secret in reason for secret in ("rd@", "w%40", "abc", "user"))


def test_names_of_objects_may_have_the_signs_of_a_query(
    ingest: Ingest, store: Any, sql: Sql
) -> None:
    for name in ("note#1.txt", "note#2.txt", "why?.txt", "a@b.txt"):
        store.pipe(f"/bucket/{name}", f"A note {name}.".encode())
    assert ingest("memory://bucket").added == 4
    assert ("note#2.txt",) in sql("SELECT external_id FROM documents")


def test_packages_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(PackageMissing, match="fsspec"):
        list(Discovery().files(["s3://bucket/x"]))


def test_addresses_are_refused_where_folders_are_given(store: Any, tmp_path: Path) -> None:
    store.pipe("/bucket/a.txt", b"A note.")
    with limited_reading([tmp_path]), pytest.raises(NothingThere):
        list(Discovery().files(["memory://bucket"]))


@pytest.mark.parametrize("path", ["s3://b/x", "https://h/x.jsonl", "gs://b", "az://c/x"])
def test_addresses_are_told_from_paths(path: str) -> None:
    assert is_address(path)
    assert not is_address(path.replace("://", ":/"))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"size": 3, "mtime": 5.0}, (3, 5_000_000_000, 0)),
        ({"size": 3, "updated": "1970-01-01T00:00:07Z"}, (3, 7_000_000_000, 0)),
        ({"size": 3, "LastModified": datetime.fromtimestamp(9, UTC)}, (3, 9_000_000_000, 0)),
        ({"size": 3, "Last-Modified": "Thu, 01 Jan 1970 00:00:02 GMT"}, (3, 2_000_000_000, 0)),
    ],
)
def test_times_of_all_stores(facts: dict[str, Any], expected: tuple[int, int, int]) -> None:
    assert discovery._facts_of(facts) == expected


def test_an_etag_tells_of_changes() -> None:
    first, second = (discovery._facts_of({"size": 3, "ETag": tag}) for tag in ("x", "y"))
    assert first[:2] == second[:2] == (3, 0)
    assert 0 < first[2] != second[2] < 1 << 63
