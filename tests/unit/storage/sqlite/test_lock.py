from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import LibraryLocked, LibraryUnwritable
from lpisearch.storage import writer_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
    """One writer after the other gets the lock, also after an error of the first."""
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
    """A writer that is killed leaves no lock behind."""
    with _held_elsewhere(library) as holder:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        with writer_lock(library, "second", 0):
            pass


def test_a_second_writer_waits(library: Path) -> None:
    """A second writer gets the lock when the first lets go, within its time."""
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
    """Where the holder cannot sign the lock file, it holds the lock all the same."""

    def refuse(_file: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", refuse)
    with writer_lock(library, "first", 0):
        monkeypatch.undo()
        with pytest.raises(LibraryLocked, match="another process"), writer_lock(library, "x", 0):
            pass


def test_a_missing_folder_is_stated(library: Path) -> None:
    """A folder that cannot hold the lock is a stated error with the library's path."""
    lost = library.parent / "nowhere" / "library.db"
    with pytest.raises(LibraryUnwritable, match=str(lost)), writer_lock(lost, "first", 0):
        pass


def test_the_lock_file_does_not_grow(library: Path) -> None:
    """Each holder replaces what the one before it wrote."""
    sizes = set()
    for _ in range(3):
        with writer_lock(library, "first", 0):
            pass
        sizes.add(library.with_name("library.db.lock").stat().st_size)
    assert len(sizes) == 1
