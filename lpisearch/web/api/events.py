"""Job progress as server-sent events.

`event: progress` and, last, `event: end`, each with the job as JSON (without what it gave). A
connection holds no thread, and ends with the server.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse

from lpisearch.records.wire import json_text
from lpisearch.web.state import state_of
from lpisearch.web.words import spoken_value

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from lpisearch.web.jobs.job import Job
    from lpisearch.web.jobs.running import Jobs

_LOOK_SECONDS = 0.1
_ALIVE_LOOKS = 150


async def job_events(request: Request) -> StreamingResponse:
    """Tell of a job as it goes on."""
    jobs = state_of(request).jobs
    job = jobs.get(str(request.path_params["id"]))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(jobs, job), headers=headers, media_type="text/event-stream")


async def _events(jobs: Jobs, job: Job) -> AsyncIterator[str]:
    seen, quiet = -1, 0
    while True:
        version, is_under_way = job.version, job.is_under_way
        if not is_under_way or jobs.is_closing:
            yield _event("end", job)
            return
        if version != seen:
            seen, quiet = version, 0
            yield _event("progress", job)
        quiet += 1
        if quiet % _ALIVE_LOOKS == 0:
            yield ": still here\n\n"
        await asyncio.sleep(_LOOK_SECONDS)


def _event(kind: str, job: Job) -> str:
    data = json_text(spoken_value(job.record(brief=True), python=job.python))
    return f"id: {job.version}\nevent: {kind}\ndata: {data}\n\n"
