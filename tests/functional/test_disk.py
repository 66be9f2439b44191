import json
import resource
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lpisearch.errors import LibraryUnwritable
from lpisearch.storage.sqlite.database import connect

Program = Callable[..., subprocess.CompletedProcess[str]]

_NOTES = {"sea/a.txt": "A letter about ships.", "land/b.txt": "A recipe for plum cake."}


@pytest.fixture
def read_only(library: Path) -> Iterator[Callable[[], None]]:
    """Return a switch that takes the right to write to the folder of the library."""
    yield lambda: library.parent.chmod(0o555)
    library.parent.chmod(0o755)


def _big(megabytes: int) -> str:
    words = " ".join(f"word{n}" for n in range(10_000))
    return "".join(
        json.dumps({"id": f"big{n}", "text": f"{n} {words}"}) + "\n" for n in range(megabytes * 10)
    )


def _assert_stated(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
    assert "unexpected" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_a_full_disk(
    library: Path,
    folder: Callable[..., Path],
    ingest: Callable[..., Any],
    sound: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small, big = folder(_NOTES), folder({"big.jsonl": _big(3)}, "big")
    ingest(small)

    def limited(path: Path, *, writable: bool) -> sqlite3.Connection:
        connection = connect(path, writable=writable)
        connection.execute(f"PRAGMA max_page_count = {1_500_000 // 4096}")
        return connection

    monkeypatch.setattr("lpisearch.storage.sqlite.database.connect", limited)
    with pytest.raises(LibraryUnwritable, match=f"{library}: the disk is full"):
        ingest(big, batch_documents=2)
    monkeypatch.undo()
    sound()
    report = ingest(small, big)
    assert report.unchanged > 2
    assert report.unchanged + report.added == 32
    sound()


@pytest.mark.parametrize("limit", [0, 50_000, 400_000])
def test_a_file_that_may_not_grow(
    library: Path, folder: Callable[..., Path], program: Program, limit: int
) -> None:
    root = folder({"big.jsonl": _big(2)})
    done = program(
        "ingest", root, limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    )
    _assert_stated(done, str(library))
    assert json.loads(program("ingest", root, "--json").stdout)["failed"] == 0
    assert json.loads(program("status", "--json").stdout)["documents"] == 20
    assert json.loads(program("doctor", "--json").stdout)["ok"]


def test_standard_input_beyond_the_disk(library: Path, program: Program) -> None:
    limit = 400_000
    done = program(
        "ingest",
        "-",
        input=_big(1),
        limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    _assert_stated(done)
    assert not library.exists()


def test_a_read_only_folder_can_be_read(
    folder: Callable[..., Path], program: Program, read_only: Callable[[], None]
) -> None:
    root = folder(_NOTES)
    program("ingest", root)
    read_only()
    status = json.loads(program("status", "--json").stdout)
    assert status["documents"] == 2
    assert len(json.loads(program("docs", "list", "--json").stdout)) == 2
    assert "plum" in program("docs", "show", "land/b.txt").stdout
    assert program("docs", "export").stdout.count("\n") == 2
    assert program("db", "check").returncode == 0


@pytest.mark.parametrize("words", [
    ("ingest", "notes"), ("docs", "delete", "sea/a.txt"), ("db", "retokenise"), ("db", "backup"),
    ("doctor", "--repair"), ("docs", "export", "notes.jsonl"),
], ids=" ".join)  # fmt: skip
def test_a_read_only_folder_is_not_written(
    library: Path,
    folder: Callable[..., Path],
    program: Program,
    read_only: Callable[[], None],
    words: tuple[str, ...],
) -> None:
    root = folder(_NOTES)
    program("ingest", root)
    before = library.read_bytes()
    (root / "sea" / "a.txt").write_text("Changed.", encoding="utf-8")
    read_only()
    _assert_stated(program(*words, cwd=library.parent), "Cannot write to")
    assert library.read_bytes() == before


def test_a_new_library_in_a_read_only_folder(
    library: Path, folder: Callable[..., Path], program: Program, read_only: Callable[[], None]
) -> None:
    root = folder(_NOTES)
    read_only()
    _assert_stated(program("ingest", root), str(library), "ermission denied")
    assert not library.exists()


def test_doctor_in_a_read_only_folder(
    folder: Callable[..., Path], program: Program, read_only: Callable[[], None]
) -> None:
    program("ingest", folder(_NOTES))
    read_only()
    done = program("doctor", "--json")
    if done.returncode == 0:
        assert json.loads(done.stdout)["ok"]
    else:
        _assert_stated(done)


def test_unfinished_business_in_a_read_only_folder(
    library: Path, folder: Callable[..., Path], program: Program, read_only: Callable[[], None]
) -> None:
    root = folder(_NOTES)
    program("ingest", root)
    whole = library.read_bytes()
    connection = connect(library, writable=True)
    connection.execute("UPDATE documents SET title = 'late'")
    log = library.with_name("library.db-wal")
    kept = log.read_bytes()
    connection.close()
    library.write_bytes(whole)
    log.write_bytes(kept)
    read_only()
    done = program("docs", "list", "--json")
    if done.returncode == 0:
        assert {one["title"] for one in json.loads(done.stdout)} == {"late"}
    else:
        _assert_stated(done, str(library))


def test_an_unreadable_file_and_folder(folder: Callable[..., Path], program: Program) -> None:
    root = folder({**_NOTES, "secret.txt": "x", "vault/c.txt": "y"})
    (root / "secret.txt").chmod(0)
    (root / "vault").chmod(0)
    try:
        done = program("ingest", root, "--json")
        report = json.loads(done.stdout)
        assert (done.returncode, report["added"], report["failed"]) == (0, 2, 2)
        assert {(one["path"], one["reason"]) for one in report["failures"]} == {
            (str(root / "secret.txt"), "permission denied"),
            (str(root / "vault"), "permission denied"),
        }
        assert program("ingest", root, "--strict").returncode == 1
        pruned = json.loads(program("ingest", root, "--prune", "--json").stdout)
        assert pruned["removed"] == 0
    finally:
        (root / "vault").chmod(0o755)


def test_a_folder_that_became_unreadable_is_not_pruned(
    folder: Callable[..., Path], program: Program
) -> None:
    root = folder({"vault/c.txt": "y", "vault/deep/d.txt": "z", **_NOTES})
    assert json.loads(program("ingest", root, "--json").stdout)["added"] == 4
    (root / "vault").chmod(0)
    try:
        report = json.loads(program("ingest", root, "--prune", "--json").stdout)
        assert (report["removed"], report["missing"], report["failed"]) == (0, 0, 1)
    finally:
        (root / "vault").chmod(0o755)


def test_an_unreadable_library(
    library: Path, folder: Callable[..., Path], program: Program
) -> None:
    program("ingest", folder(_NOTES))
    library.chmod(0)
    _assert_stated(program("status"), str(library), "ermission denied")
