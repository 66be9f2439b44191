"""Job queue: one writing and one reading job at a time."""

from __future__ import annotations

import logging
import secrets
from collections import deque
from functools import partial
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING, Any

from lpisearch.errors import LpiSearchError
from lpisearch.web.jobs.job import DONE, FAILED, RUNNING, STOPPED, WAITING, Job, Stopped, now
from lpisearch.web.jobs.kept import interrupted, jobs_file, keep
from lpisearch.web.problems import Refused, facts_of, status_of
from lpisearch.web.words import spoken

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.places import Place

    Work = Callable[[Job], Any]

MOST_WAITING = 20
_LOG = logging.getLogger("lpisearch.web")


class Jobs:
    """The jobs of a server.

    Parameters
    ----------
    library
        The database file.
    kept
        How many that have ended are still told of.
    """

    def __init__(self, library: Place, kept: int = 100) -> None:
        self._file = jobs_file(library)
        self._kept = kept
        self._changed = Condition()
        self._jobs: dict[str, Job] = {job.id: job for job in interrupted(self._file)}
        self._waiting: dict[bool, deque[tuple[Job, Work]]] = {True: deque(), False: deque()}
        self._threads: dict[bool, Thread] = {}
        self._closing = Event()

    @property
    def is_closing(self) -> bool:
        """Whether the server is ending."""
        return self._closing.is_set()

    def start(
        self, kind: str, asked: dict[str, Any], work: Work, *, writes: bool, python: bool = False
    ) -> Job:
        """Take a job; it is done when those before it are.

        Raises
        ------
        Refused
            Too many wait already, or the server is ending.
        """
        with self._changed:
            if self._closing.is_set() or len(self._waiting[writes]) >= MOST_WAITING:
                raise Refused(503, "Too many jobs are waiting, or the server is shutting down.")
            job = Job(secrets.token_hex(8), kind, asked, python=python)
            self._jobs[job.id] = job
            self._waiting[writes].append((job, work))
            self._forget()
            keep(self._file, self._jobs.values())
            if writes not in self._threads:
                name = "writes" if writes else "reads"
                thread = Thread(target=partial(self._run, writes), name=f"jobs-{name}", daemon=True)
                self._threads[writes] = thread
                thread.start()
            self._changed.notify_all()
        return job

    def all(self) -> list[Job]:
        """Return the jobs, the newest first."""
        with self._changed:
            return list(reversed(self._jobs.values()))

    def get(self, name: str) -> Job:
        """Return a job.

        Raises
        ------
        Refused
        """
        with self._changed:
            job = self._jobs.get(name)
        if job is None:
            raise Refused(404, f"No such job: “{name[:100]}”.")
        return job

    def stop(self, name: str) -> Job:
        """Let a job end; one that runs does so when it next tells of itself."""
        job = self.get(name)
        with self._changed:
            job.is_unwanted = True
            if job.state == WAITING:
                job.change(state=STOPPED, ended=now())
                keep(self._file, self._jobs.values())
        return job

    def writing(self) -> Job | None:
        """Return the job that writes now, if one does."""
        with self._changed:
            return next(
                (
                    job
                    for job in self._jobs.values()
                    if job.state == RUNNING and job.kind in WRITERS
                ),
                None,
            )

    def close(self, seconds: float) -> list[Job]:
        """Let what runs finish in so many seconds, then ask it to end; return what did not.

        What waits is not begun; it is named at the next start, like what did not finish.
        """
        with self._changed:
            self._closing.set()
            self._changed.notify_all()
            self._changed.wait_for(self._is_idle, seconds)
            for job in self._jobs.values():
                job.is_unwanted = True
            self._changed.wait_for(self._is_idle, seconds)
            return [job for job in self._jobs.values() if job.is_under_way]

    def announce_end(self) -> None:
        """Say that the server ends: no job is begun, and nobody need wait to be told of one."""
        self._closing.set()

    def _is_idle(self) -> bool:
        return not any(job.state == RUNNING for job in self._jobs.values())

    def _forget(self) -> None:
        """Forget the oldest of those that have ended."""
        ended = [name for name, job in self._jobs.items() if not job.is_under_way]
        for name in ended[: max(0, len(ended) - self._kept)]:
            del self._jobs[name]

    def _run(self, writes: bool) -> None:  # noqa: FBT001 (of a thread)
        waiting = self._waiting[writes]
        while True:
            with self._changed:
                self._changed.wait_for(lambda: waiting or self._closing.is_set())
                if self._closing.is_set():
                    return
                job, work = waiting.popleft()
                if job.state != WAITING:
                    continue
                job.change(state=RUNNING, begun=now())
                keep(self._file, self._jobs.values())
            ended = self._done(job, work)
            with self._changed:
                # What a server that ends has stopped was interrupted: the next start names it.
                if not (self._closing.is_set() and ended["state"] == STOPPED):
                    job.change(ended=now(), **ended)
                    keep(self._file, self._jobs.values())
                else:
                    job.change(state=WAITING)
                self._changed.notify_all()

    def _done(self, job: Job, work: Work) -> dict[str, Any]:
        """Do a job; return how it ended."""
        try:
            return {"result": work(job), "state": DONE}
        except Stopped:
            return {"state": STOPPED}
        except LpiSearchError as error:
            facts = facts_of(error, python=job.python)
            detail = spoken(error.what, python=job.python)
            said = {"status": status_of(error), "detail": detail, **facts}
            return {"state": FAILED, "problem": said}
        except Refused as error:
            return {"state": FAILED, "problem": {"status": error.status, "detail": error.detail}}
        except Exception:  # noqa: BLE001 (a defect ends the job, not the server)
            _LOG.exception("A job of the kind “%s” failed", job.kind)
            said = {"status": 500, "detail": "Unexpected error; see the server log."}
            return {"state": FAILED, "problem": said}


WRITERS = ("ingest", "index", "predict")
