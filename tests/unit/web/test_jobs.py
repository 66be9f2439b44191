"""Jobs: one writer at a time, progress, stopping, and what is left at the end."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lpisearch.errors import NothingToIndex
from lpisearch.library import server_records
from lpisearch.storage.servers import ServerRecords
from lpisearch.web.jobs import (
    DONE,
    FAILED,
    INTERRUPTED,
    MOST_WAITING,
    RUNNING,
    STOPPED,
    WAITING,
    Job,
    Jobs,
    adopt,
)
from lpisearch.web.problems import Refusal


@pytest.fixture
def records(library: Path) -> Callable[[], ServerRecords]:
    """Return a maker of what the servers of one library share, each as another process has it."""
    return lambda: server_records(library, library.with_name("servers") / "records.db")


@pytest.fixture
def jobs(records: Callable[[], ServerRecords]) -> Iterator[Jobs]:
    """Return the jobs of a server."""
    made = Jobs(records(), most_ended=3)
    yield made
    made.close(1)


@pytest.fixture
def others(records: Callable[[], ServerRecords]) -> Iterator[Jobs]:
    """Return the jobs as another process has them."""
    made = Jobs(records(), most_ended=3)
    yield made
    made.close(1)


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


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


@pytest.mark.parametrize("process", ["jobs", "others"])
def test_a_job_is_stopped(
    jobs: Jobs, others: Jobs, request: pytest.FixtureRequest, process: str
) -> None:
    """By its own process or by another."""
    stopping: Jobs = request.getfixturevalue(process)
    begun = threading.Event()

    def endless(job: Job) -> None:
        begun.set()
        while True:
            job.report(stage="on and on")

    first = jobs.start("ingest", {}, endless, writes=True)
    second = jobs.start("index", {}, lambda _job: 1, writes=True)
    assert begun.wait(20)
    stopping.stop(second.id)
    stopping.stop(first.id)
    assert _until_ended(first, jobs).state == STOPPED
    assert _until_ended(second, jobs).state == STOPPED
    assert second.begun == ""
    _until(lambda: {each.state for each in others.all()} == {STOPPED})


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


def test_what_did_not_finish_is_named_at_the_next_start(
    records: Callable[[], ServerRecords],
) -> None:
    begun = threading.Event()

    def endless(job: Job) -> None:
        begun.set()
        while True:
            job.report(documents=1)

    first = Jobs(records())
    job = first.start("ingest", {"paths": ["a"]}, endless, writes=True)
    waits = first.start("index", {}, lambda _job: 1, writes=True)
    assert begun.wait(20)
    assert first.close(0.05) == [job, waits]
    with pytest.raises(Refusal):
        first.start("index", {}, lambda _job: 1, writes=True)
    second = Jobs(records())
    named = [(each.id, each.kind, each.asked, each.state) for each in second.interrupted()]
    assert named == [
        (waits.id, "index", {}, INTERRUPTED),
        (job.id, "ingest", {"paths": ["a"]}, INTERRUPTED),
    ]
    _until_ended(second.start("index", {}, lambda _job: 1, writes=True), second)
    second.close(1)
    third = Jobs(records())
    assert third.interrupted() == []
    assert [each.state for each in third.all()] == [DONE, INTERRUPTED, INTERRUPTED]


def test_a_job_that_is_nearly_done_is_finished(records: Callable[[], ServerRecords]) -> None:
    made, begun = Jobs(records()), threading.Event()

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


def test_records_may_be_damaged(library: Path, records: Callable[[], ServerRecords]) -> None:
    """A file of records that is none is no reason not to start."""
    file = library.with_name("servers") / "records.db"
    file.parent.mkdir()
    for content in (b"", b"{", b"[1]" * 10_000):
        file.write_bytes(content)
        made = Jobs(records())
        assert made.all() == []
        _until_ended(made.start("index", {}, lambda _job: 1, writes=True), made)
        made.close(1)


def test_jobs_of_an_earlier_version_are_taken_over(
    tmp_path: Path, records: Callable[[], ServerRecords]
) -> None:
    file = tmp_path / "jobs.json"
    one = {"id": "a1", "kind": "ingest", "asked": {"paths": ["x"]}, "asked_at": "2026", "begun": ""}
    for content in (b"", b"{", b"[1]", b'[{"id": "x"}]', json.dumps([one]).encode()):
        file.write_bytes(content)
        adopt(records(), file)
    (named,) = Jobs(records()).interrupted()
    assert (named.id, named.state, named.asked) == ("a1", INTERRUPTED, {"paths": ["x"]})
    assert not file.exists()


def test_another_process_sees_a_job(jobs: Jobs, others: Jobs) -> None:
    begun, go = threading.Event(), threading.Event()

    def counts(job: Job) -> dict[str, int]:
        job.report(documents=5)
        begun.set()
        assert go.wait(20)
        return {"added": 5}

    job = jobs.start("ingest", {"paths": ["a"]}, counts, writes=True)
    assert begun.wait(20)
    _until(lambda: others.get(job.id).progress == {"documents": 5})
    assert [each.id for each in others.all()] == [job.id]
    writing = others.writing()
    assert writing is not None
    assert (writing.id, writing.asked) == (job.id, {"paths": ["a"]})
    go.set()
    _until(lambda: others.get(job.id).state == DONE)
    assert others.get(job.id).result == {"added": 5}
    with pytest.raises(Refusal, match="No such job"):
        others.get("another")


def test_one_process_writes_at_a_time(jobs: Jobs, others: Jobs) -> None:
    """Jobs that write run in the order in which they were queued, whichever process does them."""
    order, go = list[str](), threading.Event()

    def waits(name: str) -> Callable[[Job], None]:
        def work(_job: Job) -> None:
            order.append(name)
            assert go.wait(20)

        return work

    queued = [
        (one, one.start("ingest", {}, waits(name), writes=True))
        for name, one in (("a", jobs), ("b", others), ("c", jobs), ("d", others))
    ]
    _until(lambda: order == ["a"])
    assert [job.state for _, job in queued[1:]] == [WAITING] * 3
    go.set()
    for one, job in queued:
        _until_ended(job, one)
    assert order == ["a", "b", "c", "d"]


def test_a_job_whose_process_is_silent_is_interrupted(
    records: Callable[[], ServerRecords], jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was killed keeps no other from writing."""
    gone = records()
    assert gone.add_job("a1", Job("a1", "index").facts(), is_writer=True, most_waiting=9)
    assert gone.begin_job("a1")
    job = jobs.start("index", {}, lambda _job: 1, writes=True)
    assert jobs.get("a1").state == RUNNING
    monkeypatch.setattr("lpisearch.storage.servers._SILENT_SECONDS", -1.0)
    assert jobs.get("a1").state == INTERRUPTED
    monkeypatch.setattr("lpisearch.storage.servers._SILENT_SECONDS", 1.0)
    assert _until_ended(job, jobs).state == DONE


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
