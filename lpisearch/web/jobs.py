"""Jobs, queue, interrupted jobs.

They are kept in the folder for such state of the system, a file for each library.
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
from lpisearch.location import Address, real_path
from lpisearch.model.codec import json_text
from lpisearch.web.problems import Refusal, facts_of, render_message, status_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from lpisearch.location import Location

    Work = Callable[["Job"], Any]


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

    def __init__(self, library: Location, kept: int = 100) -> None:
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
        Refusal
            Too many wait already, or the server is ending.
        """
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
        """Return the jobs, the newest first."""
        with self._changed:
            return list(reversed(self._jobs.values()))

    def get(self, name: str) -> Job:
        """Return a job.

        Raises
        ------
        Refusal
        """
        with self._changed:
            job = self._jobs.get(name)
        if job is None:
            raise Refusal(404, f"No such job: “{name[:100]}”.")
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
            detail = render_message(error.what, python=job.python)
            said = {"status": status_of(error), "detail": detail, **facts}
            return {"state": FAILED, "problem": said}
        except Refusal as error:
            return {"state": FAILED, "problem": {"status": error.status, "detail": error.detail}}
        except Exception:  # noqa: BLE001 (a defect ends the job, not the server)
            _LOG.exception("A job of the kind “%s” failed", job.kind)
            said = {"status": 500, "detail": "Unexpected error; see the server log."}
            return {"state": FAILED, "problem": said}


WRITERS = ("ingest", "index", "predict")


WAITING, RUNNING, DONE, FAILED, STOPPED, INTERRUPTED = (
    "waiting",
    "running",
    "done",
    "failed",
    "stopped",
    "interrupted",
)
STATES = (WAITING, RUNNING, DONE, FAILED, STOPPED, INTERRUPTED)
IN_PROGRESS = (WAITING, RUNNING)


class Stopped(Exception):
    """Somebody wants the job to end; what it finished is kept."""


def now() -> str:
    """Return the time as it is written down."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(eq=False)
class Job:
    """One job. It is changed by the thread that does it, and read by any.

    Attributes
    ----------
    id
        Unlike that of any other job.
    kind
        "ingest", "index", "evaluate", "predict" or "dimensions".
    asked
        What was asked for, as JSON.
    state
        One of `STATES`; "interrupted" where the server ended before the job did.
    asked_at, begun, ended
        When; "" before that.
    progress
        How far it has come, as JSON.
    result
        What it gave, as JSON; None before it has.
    problem
        Why it failed, as RFC 9457 has it.
    version
        How often it has changed.
    is_unwanted
        Whether somebody wants it to end.
    python
        Whether who asked wants calls to be said as Python has them.
    """

    id: str
    kind: str
    asked: dict[str, Any] = field(default_factory=dict)
    state: str = WAITING
    asked_at: str = field(default_factory=now)
    begun: str = ""
    ended: str = ""
    progress: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    problem: dict[str, Any] | None = None
    version: int = 0
    is_unwanted: bool = False
    python: bool = False

    def change(self, **values: Any) -> None:
        """Change some of it."""
        for name, value in values.items():
            setattr(self, name, value)
        self.version += 1

    def tell(self, **progress: Any) -> None:
        """Say how far it has come.

        Raises
        ------
        Stopped
            Nobody wants it any more.
        """
        if self.is_unwanted:
            raise Stopped
        self.change(progress=progress)

    @property
    def is_under_way(self) -> bool:
        """Whether it has not ended."""
        return self.state in IN_PROGRESS

    def record(self, *, brief: bool = False) -> dict[str, Any]:
        """Return it as JSON; what it gave only where that is wanted."""
        said = {
            "id": self.id,
            "kind": self.kind,
            "state": self.state,
            "asked": self.asked,
            "asked_at": self.asked_at,
            "begun": self.begun,
            "ended": self.ended,
            "progress": self.progress,
            "problem": self.problem,
        }
        return said if brief else said | {"result": self.result}


_FOR_ME_ALONE, _FOLDER_FOR_ME_ALONE = 0o600, 0o700
_KEPT = ("id", "kind", "asked", "asked_at", "begun")


def jobs_file(library: Location) -> Path:
    """Return where the jobs of a library are kept."""
    from platformdirs import user_state_path

    place = library if isinstance(library, Address) else real_path(library)
    digest = hashlib.sha256(str(place).encode("utf-8", "surrogateescape")).hexdigest()
    return user_state_path("lpisearch", appauthor=False) / "jobs" / f"{digest[:32]}.json"


def keep(file: Path, jobs: Iterable[Job]) -> None:
    """Write down the jobs that are under way; what cannot be written is not missed before."""
    said = [{name: getattr(job, name) for name in _KEPT} for job in jobs if job.is_under_way]
    with suppress(OSError):
        if not said:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_FOR_ME_ALONE)
        with whole_file(file, _FOR_ME_ALONE) as stream:
            stream.write(json_text(said).encode())


def interrupted(file: Path) -> list[Job]:
    """Return the jobs that were under way when the server ended."""
    try:
        said = json.loads(file.read_bytes())
        return [Job(**{name: each[name] for name in _KEPT}, state=INTERRUPTED) for each in said]
    except (OSError, ValueError, KeyError, TypeError):
        return []
