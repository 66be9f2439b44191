"""Jobs: their queue, and a file that names those a server did not finish.

The file of each library is in the user's state folder.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING, Any

from lpisearch.errors import LpiSearchError
from lpisearch.files import whole_file
from lpisearch.location import Address, Location, real_path
from lpisearch.model.codec import json_text
from lpisearch.web.builds import BuildFailed
from lpisearch.web.problems import Refusal, problem_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    Work = Callable[["Job"], Any]


MOST_WAITING = 20
_LOG = logging.getLogger("lpisearch.web")


class Jobs:
    """The jobs of a server; of those that have ended, the last `most_ended` are listed.

    Jobs that write and jobs that read have a queue and a thread each.
    """

    def __init__(self, library: Location, most_ended: int = 100) -> None:
        self._file = jobs_file(library)
        self._most_ended = most_ended
        self._changed = Condition()
        self._jobs: dict[str, Job] = {job.id: job for job in interrupted(self._file)}
        self._waiting: dict[bool, deque[tuple[Job, Work]]] = {True: deque(), False: deque()}
        self._threads: dict[bool, Thread] = {}
        self._closing = Event()

    @property
    def is_closing(self) -> bool:
        """Whether the server is shutting down."""
        return self._closing.is_set()

    def start(
        self, kind: str, asked: dict[str, Any], work: Work, *, writes: bool, python: bool = False
    ) -> Job:
        """Queue a job, unless too many are waiting or the server is shutting down."""
        with self._changed:
            if self._closing.is_set() or len(self._waiting[writes]) >= MOST_WAITING:
                raise Refusal(503, "Too many jobs are waiting, or the server is shutting down.")
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
        """Return the jobs, newest first."""
        with self._changed:
            return list(reversed(self._jobs.values()))

    def get(self, name: str) -> Job:
        """Return a job by its id."""
        with self._changed:
            job = self._jobs.get(name)
        if job is None:
            raise Refusal(404, f"No such job: “{name[:100]}”.")
        return job

    def stop(self, name: str) -> Job:
        """Stop a job; a running one stops when it next reports progress, or with its process."""
        job = self.get(name)
        with self._changed:
            job.end()
            if job.state == WAITING:
                job.change(state=STOPPED, ended=now())
                for waiting in self._waiting.values():  # its place is free
                    with suppress(StopIteration):
                        waiting.remove(next(one for one in waiting if one[0] is job))
                keep(self._file, self._jobs.values())
        return job

    def writing(self) -> Job | None:
        """Return the running job that writes, if any."""
        with self._changed:
            running = (job for job in self._jobs.values() if job.state == RUNNING)
            return next((job for job in running if job.kind in WRITERS), None)

    def close(self, seconds: float) -> list[Job]:
        """Wait for running jobs, then stop them and wait again; return those still active.

        Waiting jobs are not started. The next start names them, and those that did not finish.
        """
        with self._changed:
            self._closing.set()
            self._changed.notify_all()
            self._changed.wait_for(self._is_idle, seconds)
            for job in self._jobs.values():
                job.end()
            self._changed.wait_for(self._is_idle, seconds)
            return [job for job in self._jobs.values() if job.is_under_way]

    def announce_end(self) -> None:
        """Start no more jobs, and end the streams of events."""
        self._closing.set()

    def _is_idle(self) -> bool:
        return not any(job.state == RUNNING for job in self._jobs.values())

    def _forget(self) -> None:
        """Remove the oldest ended jobs from the list."""
        ended = [name for name, job in self._jobs.items() if not job.is_under_way]
        for name in ended[: max(0, len(ended) - self._most_ended)]:
            del self._jobs[name]

    def _run(self, writes: bool) -> None:  # noqa: FBT001 (of a thread)
        waiting = self._waiting[writes]
        while True:
            with self._changed:
                self._changed.wait_for(lambda: waiting or self._closing.is_set())
                if self._closing.is_set():
                    return
                job, work = waiting.popleft()
                job.change(state=RUNNING, begun=now())
                keep(self._file, self._jobs.values())
            ended = self._done(job, work)
            with self._changed:
                # A job that the shutdown stopped was interrupted: the next start names it.
                if not (self._closing.is_set() and ended["state"] == STOPPED):
                    job.change(ended=now(), **ended)
                    keep(self._file, self._jobs.values())
                else:
                    job.change(state=WAITING)
                self._changed.notify_all()

    def _done(self, job: Job, work: Work) -> dict[str, Any]:
        """Do a job; return its outcome."""
        try:
            result = work(job)
        except Stopped:
            return {"state": STOPPED}
        except LpiSearchError as error:
            return {"state": FAILED, "problem": problem_facts(error, python=job.python)}
        except BuildFailed as error:
            return {"state": FAILED, "problem": error.problem}
        except Refusal as error:
            return {"state": FAILED, "problem": {"status": error.status, "detail": error.detail}}
        except Exception:  # noqa: BLE001 (a defect ends the job, not the server)
            _LOG.exception("A job of the kind “%s” failed", job.kind)
            problem = {"status": 500, "detail": "Unexpected error; see the server log."}
            return {"state": FAILED, "problem": problem}
        is_stopped = job.is_unwanted and not self.is_closing
        return {"result": result, "state": STOPPED if is_stopped else DONE}


WRITERS = ("ingest", "index", "predict")


STATES = ("waiting", "running", "done", "failed", "stopped", "interrupted")
WAITING, RUNNING, DONE, FAILED, STOPPED, INTERRUPTED = STATES
IN_PROGRESS = (WAITING, RUNNING)


class Stopped(Exception):
    """The job is to stop; completed work is saved."""


def now() -> str:
    """Return the time as text."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(eq=False)
class Job:
    """One job; its thread changes it, and any thread reads it."""

    id: str
    kind: str  # "ingest", "index", "evaluate", "predict" or "dimensions"
    asked: dict[str, Any] = field(default_factory=dict)  # the request, as JSON
    state: str = WAITING  # "interrupted" if the server ended first
    asked_at: str = field(default_factory=now)
    begun: str = ""
    ended: str = ""
    progress: dict[str, Any] = field(default_factory=dict)
    result: Any = None  # a record or a JSON value
    problem: dict[str, Any] | None = None  # as in RFC 9457
    version: int = 0  # the number of changes
    is_unwanted: bool = False  # it is to stop
    python: bool = False  # messages name calls as Python does
    _end: Callable[[], object] | None = None  # ends its process

    def change(self, **values: Any) -> None:
        """Set fields, and count the change."""
        for name, value in values.items():
            setattr(self, name, value)
        self.version += 1

    def end(self) -> None:
        """Let the job stop as soon as it can."""
        self.is_unwanted = True
        if (end := self._end) is not None:
            end()

    def set_end(self, end: Callable[[], object] | None) -> None:
        """Set what ends the process that does the job; call it if the job is to stop already."""
        self._end = end
        if self.is_unwanted and end is not None:
            end()

    def report(self, **progress: Any) -> None:
        """Report progress; raise `Stopped` if the job is to stop."""
        if self.is_unwanted:
            raise Stopped
        self.change(progress=progress)

    @property
    def is_under_way(self) -> bool:
        """Whether it has not ended yet."""
        return self.state in IN_PROGRESS

    def record(self, *, brief: bool = False) -> dict[str, Any]:
        """Return the job as JSON, with its result unless `brief`."""
        return {name: getattr(self, name) for name in (_BRIEF if brief else (*_BRIEF, "result"))}


_PRIVATE, _PRIVATE_FOLDER = 0o600, 0o700
_BRIEF = ("id", "kind", "state", "asked", "asked_at", "begun", "ended", "progress", "problem")
_SAVED = ("id", "kind", "asked", "asked_at", "begun")


def jobs_file(library: Location) -> Path:
    """Return the path of the file of a library."""
    from platformdirs import user_state_path

    place = library if isinstance(library, Address) else real_path(library)
    digest = hashlib.sha256(str(place).encode("utf-8", "surrogateescape")).hexdigest()
    return user_state_path("lpisearch", appauthor=False) / "jobs" / f"{digest[:32]}.json"


def keep(file: Path, jobs: Iterable[Job]) -> None:
    """Save the unfinished jobs; a failure matters only after a crash, and is ignored."""
    saved = [{name: getattr(job, name) for name in _SAVED} for job in jobs if job.is_under_way]
    with suppress(OSError):
        if not saved:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_FOLDER)
        with whole_file(file, _PRIVATE) as stream:
            stream.write(json_text(saved).encode())


def interrupted(file: Path) -> list[Job]:
    """Return the jobs that were unfinished when the last server ended."""
    try:
        saved = json.loads(file.read_bytes())
        return [Job(**{name: one[name] for name in _SAVED}, state=INTERRUPTED) for one in saved]
    except (OSError, ValueError, KeyError, TypeError):
        return []
