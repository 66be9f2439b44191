from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import LibraryLocked, LibraryUnwritable
from lpisearch.location import index_folder
from lpisearch.storage import open_store, writer_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typer.testing import Result

_HOLDER = """
import sys, time
from pathlib import Path
from lpisearch.storage import writer_lock
with writer_lock(Path(sys.argv[1]), "ingest", 0):
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def _held_elsewhere(library: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(library)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_the_lock_is_free_again_after_use(library: Path) -> None:
    with pytest.raises(ZeroDivisionError), writer_lock(library, "first", 0):
        raise ZeroDivisionError
    with writer_lock(library, "second", 0):
        pass


def test_a_second_writer_learns_who_holds_the_library(library: Path) -> None:
    """Without waiting, the message names the library, the command, the process and since when."""
    with _held_elsewhere(library) as holder:
        with pytest.raises(LibraryLocked) as caught, writer_lock(library, "second", 0):
            pass
        said = str(caught.value)
        assert str(library) in said
        assert f"lpisearch ingest (process {holder.pid} on " in said
        assert "since 20" in said
        assert "wait_seconds" in said


def test_the_lock_goes_with_a_killed_holder(library: Path) -> None:
    with _held_elsewhere(library) as holder:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        with writer_lock(library, "second", 0):
            pass


def test_a_second_writer_waits(library: Path) -> None:
    with ExitStack() as first:
        first.enter_context(writer_lock(library, "first", 0))
        timer = threading.Timer(0.3, first.close)
        timer.start()
        begun = time.monotonic()
        with writer_lock(library, "second", 20):
            waited = time.monotonic() - begun
        timer.join()
    assert 0.2 < waited < 10


def test_waiting_ends(library: Path) -> None:
    """A writer that waits in vain gives up after its time."""
    with _held_elsewhere(library):
        begun = time.monotonic()
        with pytest.raises(LibraryLocked), writer_lock(library, "second", 0.3):
            pass
        assert 0.3 <= time.monotonic() - begun < 5


def test_a_full_disk_does_not_stop_the_lock(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_file: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", refuse)
    with writer_lock(library, "first", 0):
        monkeypatch.undo()
        with pytest.raises(LibraryLocked, match="another process"), writer_lock(library, "x", 0):
            pass


def test_a_missing_folder_is_stated(library: Path) -> None:
    lost = library.parent / "nowhere" / "library.db"
    with pytest.raises(LibraryUnwritable, match=str(lost)), writer_lock(lost, "first", 0):
        pass


def test_the_lock_file_goes_with_its_holder(library: Path) -> None:
    lock = library.with_name("library.db.lock")
    lock.write_text("remains of a kill")
    with writer_lock(library, "first", 0):
        assert '"first"' in lock.read_text()
    assert not lock.exists()


@pytest.mark.parametrize("kind", ["symlink", "hard link", "pipe"])
def test_a_planted_lock_file_is_refused(library: Path, kind: str) -> None:
    lock, precious = library.with_name("library.db.lock"), library.with_name("precious")
    precious.write_text("precious")
    if kind == "symlink":
        lock.symlink_to(precious)
    elif kind == "hard link":
        lock.hardlink_to(precious)
    else:
        os.mkfifo(lock)
    with pytest.raises(LibraryUnwritable, match=str(library)), writer_lock(library, "first", 0):
        pass
    assert precious.read_text() == "precious"


@pytest.fixture
def names(shelf: Path, tmp_path: Path) -> dict[str, Path]:
    """Return other names of a library."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link.db").symlink_to(shelf)
    (tmp_path / "folder").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "hard.db").hardlink_to(shelf)
    return {
        "symlink": tmp_path / "elsewhere" / "link.db",
        "linked folder": tmp_path / "folder" / shelf.name,
        "dots": tmp_path / "elsewhere" / ".." / shelf.name,
        "relative": Path(os.path.relpath(shelf)),
        "hard link": tmp_path / "hard.db",
    }


@pytest.mark.parametrize(
    "name", ["symlink", "linked folder", "dots", "relative", "hard link", "bound file"]
)
def test_all_names_of_a_library_are_one_lock(
    shelf: Path, names: dict[str, Path], tmp_path: Path, name: str
) -> None:
    bound = tmp_path / "elsewhere" / "bound.db"
    if name == "bound file":
        bound.touch()
        mount = ["mount", "--bind", str(shelf), str(bound)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("only root may bind files, and not everywhere")
    try:
        other = names.get(name, bound)
        with _held_elsewhere(shelf), pytest.raises(LibraryLocked), writer_lock(other, "x", 0.1):
            pass
        with _held_elsewhere(other), pytest.raises(LibraryLocked), writer_lock(shelf, "x", 0.1):
            pass
        with writer_lock(other, "x", 0):
            pass
    finally:
        if bound.exists():
            subprocess.run(["umount", "--lazy", bound], capture_output=True, check=False)


def test_a_library_of_two_hard_links_is_read_and_not_written(
    shelf: Path, names: dict[str, Path], cli: Callable[..., Result]
) -> None:
    before = shelf.read_bytes()
    done = cli("docs", "delete", "sea/0")
    assert done.exit_code == 1
    assert "has 2 hard links" in done.stderr
    assert "work on a copy: lpisearch db backup" in done.stderr
    assert shelf.read_bytes() == before
    assert cli("status").exit_code == 0
    names["hard link"].unlink()
    assert cli("docs", "delete", "sea/0").exit_code == 0


def test_the_index_of_one_name_is_the_index_of_all(
    shelf: Path, names: dict[str, Path], cli: Callable[..., Result]
) -> None:
    names.pop("hard link").unlink()
    assert cli("--db", names["symlink"], "index", "--method", "lsi", "--dims", "5").exit_code == 0
    for name in (shelf, *names.values()):
        done = cli("--db", name, "query", "ship sail", "--by", "semantic", "--json")
        assert done.exit_code == 0, done.stderr
        assert index_folder(name) == index_folder(shelf)
    assert not (names["symlink"].parent / "link.index").exists()


def test_closing_the_lock_leaves_the_locks_of_readers(shelf: Path) -> None:
    look = (
        "import fcntl, sys; stream = open(sys.argv[1], 'r+b'); "
        "fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB, 512, 1 << 30)"
    )

    def is_locked() -> bool:
        words = [sys.executable, "-c", look, str(shelf)]
        return subprocess.run(words, capture_output=True, check=False).returncode != 0

    with open_store(shelf) as store, store.reading() as snapshot:
        assert snapshot.documents.keys()
        assert is_locked()
        with writer_lock(shelf, "first", 0):
            pass
        with open_store(shelf):
            pass
        assert is_locked()
    assert not is_locked()
    with writer_lock(shelf, "second", 0):
        pass
