"""Jobs: their queue, and their records, which all servers of a library share.

The process that is asked for a job does it. Its record tells the other processes, on this machine
or another, how far it is; they list it, follow it and stop it.
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
from lpisearch.location import Address, Location, real_path
from lpisearch.model.codec import from_json, to_json
from lpisearch.model.documents import PredictionReport
from lpisearch.web.builds import BuildFailed, result_type
from lpisearch.web.problems import Refusal, problem_facts, render_messages

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.library import JobRow, SavedJob, ServerRecords

    Work = Callable[["Job"], Any]


MOST_WAITING = 20
_LOG = logging.getLogger("lpisearch.web")
_SAVE_SECONDS, _TURN_SECONDS = 0.5, 0.2


class Jobs:
    """The jobs of a library; of those that have ended, the last `most_ended` are listed.

    Of the jobs that write, one runs at a time, whichever process does it. Those that read have a
    queue and a thread in each process.
    """

    def __init__(self, records: ServerRecords, most_ended: int = 100) -> None:
        self._records = records
        self._most_ended = most_ended
        self._changed = Condition()
        self._jobs: dict[str, Job] = {}  # of this process
        self._waiting: dict[bool, deque[tuple[Job, Work]]] = {True: deque(), False: deque()}
        self._threads: dict[str, Thread] = {}
        self._closing = Event()

    @property
    def is_closing(self) -> bool:
        """Whether the server is shutting down."""
        return self._closing.is_set()

    def start(
        self, kind: str, asked: dict[str, Any], work: Work, *, writes: bool, python: bool = False
    ) -> Job:
        """Queue a job, unless too many are waiting or the server is shutting down."""
        job = Job(secrets.token_hex(8), kind, asked, python=python)
        added = not self._closing.is_set() and self._records.add_job(
            job.id, job.facts(), is_writer=writes, most_waiting=MOST_WAITING
        )
        if not added:
            raise Refusal(503, "Too many jobs are waiting, or the server is shutting down.")
        self._records.forget_jobs(self._most_ended)
        with self._changed:
            self._forget()
            self._jobs[job.id] = job
            self._waiting[writes].append((job, work))
            self._run_thread("saves", self._save_all)
            self._run_thread(f"writes {writes}", partial(self._run, writes))
            self._changed.notify_all()
        return job

    def _run_thread(self, name: str, work: Callable[[], None]) -> None:
        if name not in self._threads:
            self._threads[name] = Thread(target=work, name=f"jobs-{name}", daemon=True)
            self._threads[name].start()

    def all(self) -> list[Job]:
        """Return the jobs of all servers, newest first; those of others without their results."""
        rows = self._records.jobs()
        with self._changed:
            return [self._jobs.get(row.id) or _job_of(row) for row in rows]

    def own(self) -> list[Job]:
        """Return the jobs that this process does or has done, newest first."""
        with self._changed:
            return list(reversed(self._jobs.values()))

    def get(self, name: str) -> Job:
        """Return a job by its id."""
        with self._changed:
            job = self._jobs.get(name)
        if job is None:
            row = self._records.job(name)
            if row is None:
                raise Refusal(404, f"No such job: “{name[:100]}”.")
            return _job_of(row)
        return job

    def stop(self, name: str) -> Job:
        """Stop a job; a running one stops when it next reports progress, or with its process."""
        with self._changed:
            own = self._jobs.get(name)
        if own is None:
            self.get(name)
            self._records.stop_job(name)
            return self.get(name)
        self._stop(own)
        self._save(own)
        return own

    def _stop(self, job: Job) -> None:
        with self._changed:
            job.end()
            if job.state == WAITING:
                job.change(state=STOPPED, ended=now())
                for waiting in self._waiting.values():  # its place is free
                    with suppress(StopIteration):
                        waiting.remove(next(one for one in waiting if one[0] is job))

    def forget(self, name: str) -> None:
        """Remove an ended job of this process from the list."""
        with self._changed:
            self._jobs.pop(name, None)
        with suppress(LpiSearchError):
            self._records.forget_job(name)

    def writing(self) -> Job | None:
        """Return the running job that writes, if any."""
        running = (job for job in self.all() if job.state == RUNNING)
        return next((job for job in running if job.kind in WRITERS), None)

    def interrupted(self) -> list[Job]:
        """Return the jobs that a server did not finish, and that no start has named yet."""
        with suppress(LpiSearchError):
            names = self._records.note_interrupted()
            return [job for job in self.all() if job.id in names]
        return []

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
            left = [job for job in self._jobs.values() if job.is_under_way]
        if self._jobs:
            with suppress(LpiSearchError):
                self._records.save_jobs([one.row() for one in self._unsaved()])
                self._records.release_jobs()
        self._records.close()
        return left

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

    def _unsaved(self) -> list[Job]:
        return [job for job in self.own() if job.version != job.saved and job.state != WAITING]

    def _save(self, *jobs: Job) -> set[str]:
        """Save jobs, and say that this process lives; return the ids of those that are to stop.

        What cannot be saved now is saved later.
        """
        versions = [(job, job.version, job.row()) for job in jobs]
        try:
            unwanted = self._records.save_jobs([row for _, _, row in versions])
        except LpiSearchError:
            return set()
        for job, version, _ in versions:
            job.saved = version
        return unwanted

    def _save_all(self) -> None:
        """Save what changes, as long as a job is under way."""
        while not self._closing.wait(_SAVE_SECONDS):
            with self._changed:
                self._changed.wait_for(
                    lambda: (
                        self._closing.is_set()
                        or any(
                            job.is_under_way or job.version != job.saved
                            for job in self._jobs.values()
                        )
                    )
                )
            unwanted = self._save(*self._unsaved())
            for job in self.own():
                if job.id in unwanted and not job.is_unwanted:
                    self._stop(job)

    def _run(self, writes: bool) -> None:  # noqa: FBT001 (of a thread)
        waiting = self._waiting[writes]
        while True:
            with self._changed:
                self._changed.wait_for(lambda: waiting or self._closing.is_set())
                if self._closing.is_set():
                    return
                job, work = waiting[0]
            if not self._begin(job):
                continue
            outcome = self._done(job, work)
            with self._changed:
                # A job that the shutdown stopped was interrupted: the next start names it.
                stopped = self._closing.is_set() and outcome["state"] == STOPPED
                job.change(**({"state": WAITING} if stopped else {"ended": now(), **outcome}))
            if not stopped:
                self._save(job)
            with self._changed:
                self._changed.notify_all()

    def _begin(self, job: Job) -> bool:
        """Let the first of those that wait run, once it is its turn among all servers."""
        try:
            is_turn = self._records.begin_job(job.id)
        except LpiSearchError:  # the database is away for now
            is_turn = False
        if is_turn is False:
            self._closing.wait(_TURN_SECONDS)
            return False
        with self._changed:
            queue = self._waiting[True], self._waiting[False]
            for waiting in queue:
                if waiting and waiting[0][0] is job:
                    waiting.popleft()
            if is_turn and job.state == WAITING:
                job.change(state=RUNNING, begun=now())
            elif job.state == WAITING:  # its record says that it has ended
                job.change(state=STOPPED, ended=now())
        return job.state == RUNNING

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


WRITERS = ("ingest", "index", "predict", "retokenise")


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
    saved: int = -1  # the version that its record has
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

    def facts(self) -> dict[str, Any]:
        """Return what is stored of the job but for its result, as JSON."""
        facts = {name: getattr(self, name) for name in _STORED}
        stored: dict[str, Any] = render_messages(to_json(facts), python=self.python)
        return stored

    def row(self) -> SavedJob:
        """Return its record."""
        result = render_messages(to_json(self.result), python=self.python)
        return self.id, self.state, self.facts(), result


_BRIEF = ("id", "kind", "state", "asked", "asked_at", "begun", "ended", "progress", "problem")
_ADOPTED = ("id", "kind", "asked", "asked_at", "begun")
_STORED = (*_BRIEF, "version", "python")


def _job_of(row: JobRow) -> Job:
    """Return a job of another process as it was when it was last saved."""
    facts = {name: value for name, value in row.facts.items() if name in _STORED}
    job = Job(**facts | {"state": row.state})
    kind = PredictionReport if job.kind == "predict" else result_type(job.kind)
    job.result = row.result if kind is None or row.result is None else from_json(kind, row.result)
    return job


def adopt(records: ServerRecords, file: Path) -> None:
    """Take over the unfinished jobs that a server of version 0.4 or earlier left in a file."""
    try:
        saved = json.loads(file.read_bytes())
        facts = [Job(**{name: one[name] for name in _ADOPTED}).facts() for one in saved]
    except (OSError, ValueError, KeyError, TypeError):
        return
    with suppress(LpiSearchError, OSError):
        for each in facts:
            records.add_job(each["id"], each, is_writer=False, most_waiting=MOST_WAITING)
        records.release_jobs()
        file.unlink()


def state_file(library: Location, kind: str) -> Path:
    """Return the path of a file of a library in the user's state folder."""
    from platformdirs import user_state_path

    place = library if isinstance(library, Address) else real_path(library)
    digest = hashlib.sha256(str(place).encode("utf-8", "surrogateescape")).hexdigest()
    return user_state_path("lpisearch", appauthor=False) / kind / digest[:32]
