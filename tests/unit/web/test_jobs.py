"""Jobs: one writer at a time, progress, stopping, and what is left at the end."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lpisearch.errors import NothingToIndex
from lpisearch.web.jobs import (
    DONE,
    FAILED,
    INTERRUPTED,
    MOST_WAITING,
    STOPPED,
    WAITING,
    Job,
    Jobs,
    jobs_file,
)
from lpisearch.web.problems import Refusal


@pytest.fixture
def jobs(library: Path) -> Iterator[Jobs]:
    """Return the jobs of a server."""
    made = Jobs(library, most_ended=3)
    yield made
    made.close(1)


def _until_ended(job: Job, jobs: Jobs) -> Job:
    with jobs._changed:
        assert jobs._changed.wait_for(lambda: not job.is_under_way, 20)
    return job


def test_a_job_gives_what_its_work_gives(jobs: Jobs) -> None:
    job = jobs.start("index", {"name": "x"}, lambda one: one.report(stage="a") or 5, writes=True)  # type: ignore[func-returns-value]
    _until_ended(job, jobs)
    assert (job.state, job.result, job.progress) == (DONE, 5, {"stage": "a"})
    assert job.begun
    assert job.ended
    assert jobs.get(job.id) is job


def test_writers_wait_for_each_other(jobs: Jobs) -> None:
    go, begun = threading.Event(), threading.Event()

    def writes(_job: Job) -> None:
        begun.set()
        assert go.wait(20)

    first = jobs.start("ingest", {}, writes, writes=True)
    second = jobs.start("index", {}, lambda _job: 2, writes=True)
    assert begun.wait(20)
    reads = jobs.start("evaluate", {}, lambda _job: 3, writes=False)
    assert _until_ended(reads, jobs).result == 3
    assert jobs.writing() is first
    assert second.state == WAITING
    go.set()
    assert _until_ended(second, jobs).result == 2
    assert jobs.writing() is None


def test_what_fails_is_a_problem(jobs: Jobs) -> None:
    def refused(_job: Job) -> None:
        raise NothingToIndex("There is nothing.", "bring something in")

    def defect(_job: Job) -> None:
        message = "inner workings"
        raise ZeroDivisionError(message)

    job = _until_ended(jobs.start("index", {}, refused, writes=True), jobs)
    assert job.state == FAILED
    assert job.problem is not None
    assert (job.problem["status"], job.problem["next"]) == (409, "bring something in")
    job = _until_ended(jobs.start("index", {}, defect, writes=True), jobs)
    assert job.problem is not None
    assert job.problem["status"] == 500
    assert "inner" not in str(job.problem)


def test_a_job_is_stopped(jobs: Jobs) -> None:
    begun = threading.Event()

    def endless(job: Job) -> None:
        begun.set()
        while True:
            job.report(stage="on and on")

    first = jobs.start("ingest", {}, endless, writes=True)
    second = jobs.start("index", {}, lambda _job: 1, writes=True)
    assert begun.wait(20)
    jobs.stop(second.id)
    jobs.stop(first.id)
    assert _until_ended(first, jobs).state == STOPPED
    assert (second.state, second.begun) == (STOPPED, "")


def test_a_stopped_job_gives_its_place_back(jobs: Jobs) -> None:
    go, begun = threading.Event(), threading.Event()

    def waits(_job: Job) -> None:
        begun.set()
        go.wait(20)

    jobs.start("index", {}, waits, writes=True)
    assert begun.wait(20)
    for _ in range(2 * MOST_WAITING):
        jobs.stop(jobs.start("index", {}, waits, writes=True).id)
    last = jobs.start("index", {}, lambda _job: 7, writes=True)
    go.set()
    assert _until_ended(last, jobs).result == 7


def test_a_job_that_ends_after_it_was_stopped_says_so(jobs: Jobs) -> None:
    go, begun = threading.Event(), threading.Event()

    def deaf(_job: Job) -> int:
        begun.set()
        go.wait(20)
        return 3

    job = jobs.start("ingest", {}, deaf, writes=True)
    assert begun.wait(20)
    jobs.stop(job.id)
    go.set()
    assert (_until_ended(job, jobs).state, job.result) == (STOPPED, 3)


def test_what_did_not_finish_is_named_at_the_next_start(library: Path) -> None:
    begun = threading.Event()

    def endless(job: Job) -> None:
        begun.set()
        while True:
            job.report(documents=1)

    first = Jobs(library)
    job = first.start("ingest", {"paths": ["a"]}, endless, writes=True)
    waits = first.start("index", {}, lambda _job: 1, writes=True)
    assert begun.wait(20)
    assert first.close(0.05) == [job, waits]
    with pytest.raises(Refusal):
        first.start("index", {}, lambda _job: 1, writes=True)
    second = Jobs(library)
    named = [(each.id, each.kind, each.asked, each.state) for each in second.all()]
    assert named == [
        (waits.id, "index", {}, INTERRUPTED),
        (job.id, "ingest", {"paths": ["a"]}, INTERRUPTED),
    ]
    _until_ended(second.start("index", {}, lambda _job: 1, writes=True), second)
    second.close(1)
    assert not jobs_file(library).exists()
    assert Jobs(library).all() == []


def test_a_job_that_is_nearly_done_is_finished(library: Path) -> None:
    made, begun = Jobs(library), threading.Event()

    def short(_job: Job) -> int:
        begun.set()
        threading.Event().wait(0.1)
        return 1

    job = made.start("index", {}, short, writes=True)
    assert begun.wait(20)
    assert made.close(20) == []
    assert (job.state, job.result) == (DONE, 1)


def test_jobs_are_not_kept_for_ever(jobs: Jobs) -> None:
    for number in range(6):
        _until_ended(jobs.start("index", {}, lambda _job, n=number: n, writes=True), jobs)  # type: ignore[misc]
    assert [job.result for job in jobs.all()] == [5, 4, 3, 2]
    go = threading.Event()
    begun = threading.Event()

    def waits(_job: Job) -> None:
        begun.set()
        go.wait(20)

    jobs.start("index", {}, waits, writes=True)
    assert begun.wait(20)
    for _ in range(MOST_WAITING):
        jobs.start("index", {}, waits, writes=True)
    with pytest.raises(Refusal, match="Too many"):
        jobs.start("index", {}, waits, writes=True)
    go.set()


def test_what_is_kept_may_be_spoilt(library: Path) -> None:
    """A file of jobs that says nothing is no reason not to start."""
    file = jobs_file(library)
    file.parent.mkdir(parents=True, exist_ok=True)
    for content in (b"", b"{", b"[1]", b'[{"id": "x"}]'):
        file.write_bytes(content)
        assert Jobs(library).all() == []
    file.unlink()


def _events(client: TestClient, job: str) -> list[tuple[str, dict[str, Any]]]:
    answer = client.get(f"/api/v1/jobs/{job}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    found = []
    for block in answer.text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        found.append((lines["event"], json.loads(lines["data"])))
    return found


def test_the_progress_of_a_job_is_told(client: TestClient, root: Path) -> None:
    (root / "one.txt").write_text("ships and harbours", encoding="utf-8")
    begun = client.post("/api/v1/jobs/ingest", json={"paths": [str(root)]})
    assert begun.status_code == 202
    job = begun.json()
    assert begun.headers["location"] == f"/api/v1/jobs/{job['id']}"
    events = _events(client, job["id"])
    assert events[-1][0] == "end"
    assert events[-1][1]["state"] == DONE
    assert client.get(begun.headers["location"]).json()["result"]["added"] == 1
    assert _events(client, job["id"]) == [("end", events[-1][1])]
    failed = client.post("/api/v1/jobs/index", json={"options": {"method": "nonsense"}}).json()
    problem = _events(client, failed["id"])[-1][1]["problem"]
    assert (problem["status"], problem["fields"]) == (422, ["method"])


def test_what_is_sent_is_brought_in(client: TestClient) -> None:
    sent = client.post("/api/v1/uploads", params={"name": "letters/june.txt"}, content=b"Dear ship")
    assert (sent.status_code, sent.json()["name"]) == (201, "letters/june.txt")
    job = client.post("/api/v1/jobs/ingest", json={"uploads": True}).json()
    assert _events(client, job["id"])[-1][1]["state"] == DONE
    assert client.get("/api/v1/documents/letters/june.txt").json()["text"] == "Dear ship"
    assert client.get("/api/v1/originals/letters/june.txt").content == b"Dear ship"


def test_who_writes_is_said(client: TestClient) -> None:
    from lpisearch.storage import writer_lock

    library = client.app.state.lpisearch.library  # type: ignore[attr-defined]
    assert client.get("/api/v1/status").json()["writer"] == ""
    with writer_lock(library.path, "index", 1):
        said = client.get("/api/v1/status").json()["writer"]
        assert said.startswith("lpisearch index (process ")
        locked = client.post("/api/v1/jobs/index", json={"options": {"wait_seconds": 0.0}}).json()
        problem = _events(client, locked["id"])[-1][1]["problem"]
        assert problem["type"] == "urn:lpisearch:library-locked"
        assert "lpisearch index (process" in problem["detail"]
