"""Worker processes that serve one socket, and the process that watches them.

The first process forks them, so that they share what it has imported. It serves nothing itself,
starts a worker in the place of one that dies, and ends them all on SIGTERM
or Ctrl-C. A worker ends by itself when the first process has gone, killed or not.
"""

from __future__ import annotations

import gc
import logging
import os
import select
import signal
import time
import warnings
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

from lpisearch.errors import LpiSearchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_LOG = logging.getLogger("lpisearch.web")
_LOOK_SECONDS = 1.0
_END_SECONDS = 40.0  # that workers have to end: responses, and twice the patience with jobs
_YOUNG_SECONDS, _MOST_YOUNG = 2.0, 5
_SIGNALS = ("SIGTERM", "SIGINT", "SIGCHLD")


class WorkersUnavailable(LpiSearchError):
    """The system cannot fork processes."""

    def __init__(self) -> None:
        super().__init__(
            "Several workers need a system that forks processes (Linux or macOS).",
            "serve with one worker, or start several servers behind a proxy",
        )


class WorkersFailed(LpiSearchError):
    """Workers end as soon as they start."""

    def __init__(self, status: int) -> None:
        super().__init__(
            f"The workers end as soon as they start, the last with status {status}.",
            "see the messages above, or serve with one worker",
        )


class Workers:
    """Processes that each call `serve`, which returns when its process is to end.

    Parameters
    ----------
    number
        How many processes there are at any time.
    serve
        Serves until SIGTERM; gets the number of the worker.
    on_death
        Is called with the number of a worker that died.
    """

    def __init__(
        self,
        number: int,
        serve: Callable[[int], object],
        on_death: Callable[[int], None] = lambda _number: None,
    ) -> None:
        if not hasattr(os, "fork"):
            raise WorkersUnavailable
        self._number, self._serve, self._on_death = number, serve, on_death
        self._workers: dict[int, tuple[int, float]] = {}  # pid: its number, and when it began
        self._died_young = 0
        self._is_ending = False

    def run(self) -> None:
        """Start the workers, and watch them until SIGTERM or Ctrl-C; raises `WorkersFailed`."""
        gc.collect()
        gc.freeze()  # so that the collector of a worker does not write to memory that all share
        self._life = os.pipe()  # its end for writing is open in this process alone
        try:
            with self._signals() as wakes:
                for number in range(self._number):
                    self._start(number)
                while not self._is_ending:
                    select.select([wakes], [], [], _LOOK_SECONDS)
                    with suppress(BlockingIOError):
                        os.read(wakes, 1 << 10)
                    self._replace()
        finally:
            self._end()
            for descriptor in self._life:
                os.close(descriptor)

    def _start(self, number: int) -> None:
        with warnings.catch_warnings():  # threads of BLAS, which start again by themselves
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid:
            self._workers[pid] = number, time.monotonic()
            return
        status = 1
        try:
            for name in _SIGNALS:
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            os.close(self._life[1])
            Thread(target=_end_with, args=(self._life[0],), daemon=True).start()
            self._serve(number)
            status = 0
        except BaseException:  # noqa: BLE001 (the process ends in any case)
            _LOG.exception("A worker failed")
        finally:
            logging.shutdown()
            os._exit(status)  # what this process would clean up belongs to the first

    def _replace(self) -> None:
        """Start a worker in the place of each that has died."""
        for pid, (number, began) in list(self._workers.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if not done or self._is_ending:
                continue
            del self._workers[pid]
            self._on_death(number)
            _LOG.warning("Worker %d (process %d) died: %s", number, pid, _cause(status))
            if time.monotonic() - began < _YOUNG_SECONDS:
                self._died_young += 1
                if self._died_young >= _MOST_YOUNG:
                    raise WorkersFailed(os.waitstatus_to_exitcode(status))
                time.sleep(self._died_young * _LOOK_SECONDS / _MOST_YOUNG)
            else:
                self._died_young = 0
            self._start(number)

    @contextmanager
    def _signals(self) -> Iterator[int]:
        """Yield a descriptor that becomes readable when a worker dies or the server is to end."""
        wakes, woken = os.pipe()
        for descriptor in (wakes, woken):
            os.set_blocking(descriptor, False)

        def end(_signal: int, _frame: Any) -> None:
            self._is_ending = True

        handlers = (end, end, lambda _signal, _frame: None)
        numbers = [getattr(signal, name) for name in _SIGNALS]
        before = [signal.signal(*pair) for pair in zip(numbers, handlers, strict=True)]
        descriptor_before = signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        try:
            yield wakes
        finally:
            signal.set_wakeup_fd(descriptor_before)
            for pair in zip(numbers, before, strict=True):
                signal.signal(*pair)
            os.close(wakes)
            os.close(woken)

    def _end(self) -> None:
        """End the workers; kill those that do not."""
        deadline = time.monotonic() + _END_SECONDS
        for pid in self._workers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        while self._workers:
            for pid in list(self._workers):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    del self._workers[pid]
                elif time.monotonic() > deadline:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)


def _cause(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return signal.Signals(-code).name if code < 0 else f"status {code}"


def _end_with(life: int) -> None:
    """End this process when the first one has gone."""
    os.read(life, 1)
    os.kill(os.getpid(), signal.SIGTERM)
