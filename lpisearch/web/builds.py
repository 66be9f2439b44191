"""Jobs that compute for long, each in a process that can be ended at any moment.

Building an index, evaluating and finding dimensions look at nothing while they compute, so they run
in a process of their own, which is ended when its job is stopped. An index is then as it was: it is
replaced as a whole, at the end. The process gets one line of JSON and gives several:

```text
→ {"library": …, "kind": …, "body": …, "within": […], "python": …}
← {"progress": {…}}                            any number of times, then one of
← {"result": …}
← {"problem": {…}}                             as in RFC 9457
```

It ends when its stdin closes, so that none outlives its server.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from lpisearch.errors import LpiSearchError
from lpisearch.files import limited_reading
from lpisearch.location import Address, Location
from lpisearch.model.answers import DimensionReport
from lpisearch.model.codec import from_json, json_text, to_json
from lpisearch.model.reports import IndexReport, Report
from lpisearch.options import DimensionOptions, IndexOptions
from lpisearch.web.problems import problem_facts, render_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lpisearch.library import Library
    from lpisearch.web.jobs import Job


class Build(NamedTuple):
    """A kind of job: what it gets and gives, and what it does."""

    body: Any
    result: Any
    run: Callable[[Library, Any, Callable[..., None]], Any]


def _index(library: Library, options: IndexOptions, report: Callable[..., None]) -> IndexReport:
    stages = [""]

    def on_stage(stage: str) -> None:
        stages[0] = stage
        report(stage=stage)

    def on_step(done: int, total: int) -> None:
        report(stage=stages[0], done=done, total=total)

    return library.index(options=options, on_stage=on_stage, on_step=on_step)


def _evaluate(library: Library, body: Any, report: Callable[..., None]) -> Report:
    def on_cell(name: str, done: int, total: int) -> None:
        report(part=name, done=done, total=total)

    kinds = (body.categories, body.clusters, body.retrieval, body.similarity)
    wanted = next((one for one in kinds if one is not None), None)
    options = {"options": body.options, "wanted": wanted, "over": body.over}
    return library.evaluate(body.what, on_cell=on_cell, **options)


def _dimensions(
    library: Library, options: DimensionOptions, report: Callable[..., None]
) -> DimensionReport:
    return library.dimensions(options, on_stage=lambda stage: report(stage=stage))


def _builds() -> dict[str, Build]:
    from lpisearch.web.api.tasks import EvaluateRequest  # which imports this module

    return {
        "index": Build(IndexOptions, IndexReport, _index),
        "evaluate": Build(EvaluateRequest, Report, _evaluate),
        "dimensions": Build(DimensionOptions, DimensionReport, _dimensions),
    }


def result_type(kind: str) -> Any:
    """Return the type of what a kind of job gives; None for another kind of job."""
    build = _builds().get(kind)
    return None if build is None else build.result


class BuildFailed(Exception):
    """The process reported a problem, or ended without a result."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem.get("detail", ""))
        self.problem = problem


def run_apart(
    job: Job, library: Location, kind: str, body: Any, within: Iterable[Path] = ()
) -> Any:
    """Do a job in a process, and return its result; its end is that of the process."""
    request = {
        "library": library.url if isinstance(library, Address) else str(library.absolute()),
        "kind": kind,
        "body": to_json(body),
        "within": [str(folder) for folder in within],
        "python": job.python,
    }
    command = [sys.executable, "-P", "-m", "lpisearch.web.builds"]
    # A session of its own, so that what it starts ends with it, and Ctrl-C is for the server.
    with subprocess.Popen(  # noqa: S603 (our own program, no shell)
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            job.set_end(partial(_end, process))
            return _followed(job, process, request, _builds()[kind].result)
        finally:
            job.set_end(None)
            _end(process)


def _followed(
    job: Job, process: subprocess.Popen[bytes], request: dict[str, Any], result: Any
) -> Any:
    requests, answers = process.stdin, process.stdout
    assert requests is not None  # noqa: S101 (a pipe)
    assert answers is not None  # noqa: S101 (a pipe)
    with suppress(OSError):  # it was ended already; nothing stays in a buffer, to fail when closed
        os.write(requests.fileno(), json.dumps(request).encode() + b"\n")
    for line in answers:
        match json.loads(line):
            case {"progress": progress}:
                job.report(**progress)
            case {"result": value}:
                return from_json(result, value)
            case {"problem": problem}:
                raise BuildFailed(problem)
    job.report(**job.progress)  # if it was stopped
    detail = f"The process of the job ended with status {process.wait()} (out of memory?)."
    raise BuildFailed({"status": 500, "detail": detail})


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


_PROGRESS_SECONDS = 0.1


def main() -> None:
    """Do the job of stdin."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints goes to the log
    request = json.loads(sys.stdin.readline())
    Thread(target=_end_with, args=(sys.stdin,), daemon=True).start()
    answer = _answer(request, answers)
    answers.write(f"{json_text(answer)}\n")
    answers.flush()
    os._exit(0)  # nothing is left to be done, and threads of libraries need not be waited for


def _answer(request: dict[str, Any], answers: IO[str]) -> dict[str, Any]:
    from lpisearch.library import open_library

    shown = [0.0]

    def report(**progress: Any) -> None:
        now = time.monotonic()
        if now - shown[0] >= _PROGRESS_SECONDS:
            shown[0] = now
            answers.write(f"{json_text({'progress': progress})}\n")
            answers.flush()

    build, python = _builds()[request["kind"]], request["python"]
    try:
        body = from_json(build.body, request["body"])
        with (
            limited_reading(map(Path, request["within"])),
            open_library(request["library"]) as library,
        ):
            result = build.run(library, body, report)
    except LpiSearchError as error:
        return {"problem": problem_facts(error, python=python)}
    return {"result": render_messages(to_json(result), python=python)}


def _end_with(requests: IO[str]) -> None:
    """End this process when its server has gone."""
    requests.read()
    os._exit(1)


if __name__ == "__main__":
    main()
