"""One job: request, progress and outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

WAITING, RUNNING, DONE, FAILED, STOPPED, INTERRUPTED = (
    "waiting",
    "running",
    "done",
    "failed",
    "stopped",
    "interrupted",
)
STATES = (WAITING, RUNNING, DONE, FAILED, STOPPED, INTERRUPTED)
UNDER_WAY = (WAITING, RUNNING)


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
        return self.state in UNDER_WAY

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
