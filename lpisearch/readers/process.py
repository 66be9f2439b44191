"""Parent side of a worker process: requests and exit status."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from lpisearch.errors import ReaderError
from lpisearch.messages import from_plain
from lpisearch.readers.transport import receive
from lpisearch.settings import MEBIBYTE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.transport import Frame

FILES_PER_WORKER = 1000
"""A worker is then replaced, so that leaks of an extractor do not add up."""

_LOOK_SECONDS = 0.5
_BUFFER_BYTES = 256 * 1024


class WorkerProcess:
    """One worker process and the talk with it.

    Parameters
    ----------
    memory_bytes
        Its address space, where the system can limit it.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._files_left = FILES_PER_WORKER
        self._deadline = inf
        # -P keeps modules in the current folder, which may hold anything, from being imported.
        # A session of its own keeps Ctrl-C from it: the parent ends it.
        self._process = subprocess.Popen(  # noqa: S603 - our own program, no shell
            [sys.executable, "-P", "-m", "lpisearch.readers.worker", str(memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=_BUFFER_BYTES,
            start_new_session=True,
        )
        self._requests = cast("BinaryIO", self._process.stdin)
        self._answers = cast("BinaryIO", self._process.stdout)

    @property
    def usable(self) -> bool:
        """Whether it can take another file."""
        return self._files_left > 0 and self._process.poll() is None

    def packs(self, request: dict[str, Any]) -> Iterator[Frame]:
        """Send a request; yield the packs of its answer.

        Whoever stops before the end, or meets an error, is left with a worker that is not usable.

        Raises
        ------
        ReaderError, OSError
        """
        self._files_left -= 1
        done, too_late = threading.Event(), threading.Event()
        watch = threading.Thread(target=self._watch, args=(done, too_late), daemon=True)
        watch.start()
        whole = False
        try:
            self._send(request)
            yield from self._receive(request)
            whole = True
        except _Failed as failed:
            whole = True
            raise failed.error from None
        except _WorkerLost as error:
            if too_late.is_set():
                raise ReaderError(f"gave no response in {request['silent']:g} s") from error
            raise ReaderError(_ending(self._process.wait(), request["seconds"])) from error
        finally:
            done.set()
            watch.join()
            if too_late.is_set() or not whole:
                self._files_left = 0
                self.kill()

    def kill(self) -> None:
        """End the process at once; whoever waits for its answer learns that it is gone."""
        self._process.kill()

    def stop(self) -> None:
        """End the process and free what it held."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._answers):
            with suppress(OSError):  # part of a request may wait in the buffer
                pipe.close()

    def _watch(self, done: threading.Event, too_late: threading.Event) -> None:
        """End a process that is silent for too long while somebody waits for it."""
        while not done.wait(min(_LOOK_SECONDS, max(0.01, self._deadline - time.monotonic()))):
            if time.monotonic() > self._deadline:
                too_late.set()
                self.kill()
                return

    def _send(self, request: dict[str, Any]) -> None:
        try:
            self._requests.write(json.dumps(request).encode() + b"\n")
            self._requests.flush()
        except OSError as error:
            raise _WorkerLost from error

    def _receive(self, request: dict[str, Any]) -> Iterator[Frame]:
        # JSON writes a control character of the metadata as six bytes: no honest pack is longer.
        longest = 6 * request["options"]["max_document_bytes"] + MEBIBYTE
        while True:
            self._deadline = time.monotonic() + request["silent"]
            frame = self._frame(longest)
            self._deadline = inf
            if frame.is_pack:
                yield frame
                continue
            match frame.facts():
                case {"done": _}:
                    return
                case {"failed": [what, next_step]}:
                    raise _Failed(ReaderError(from_plain(what), next_step))
                case {"system": [number, message]}:
                    raise _Failed(OSError(number, message, request["source"]["path"]))
                case _:
                    # What it still holds is unknown.
                    limit = self._memory_bytes // MEBIBYTE
                    raise ReaderError(f"needs more than {limit} MiB of memory to read")

    def _frame(self, most_bytes: int) -> Frame:
        try:
            frame = receive(self._answers, most_bytes)
        except (OSError, ValueError) as error:  # ValueError: closed by another thread
            raise _WorkerLost from error
        if frame is None:
            self.kill()  # unless it is gone, it writes without end
            raise _WorkerLost
        return frame


class _WorkerLost(Exception):
    """The process ended in the middle of a file."""


class _Failed(Exception):
    """The reader said that it failed; its process is as good as before."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _ending(status: int, seconds: float) -> str:
    """Say how a worker ended: a negative status is the signal that ended it."""
    if status == -getattr(signal, "SIGPROF", 27):
        return f"needs more than {seconds:g} s of CPU time to read"
    if status == -getattr(signal, "SIGKILL", 9):
        return "could not be read: its extractor was killed (out of memory?)"
    if status < 0:
        return f"could not be read: its extractor crashed (signal {-status})"
    return f"could not be read: its extractor ended with status {status}"
