"""Jobs in a process of their own: they can be ended at any moment, and end with their server."""

import signal
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lpisearch import Library
from lpisearch.model.reports import IndexReport
from lpisearch.web.jobs import DONE, FAILED, STOPPED, Job
from tests.serving import get_json, serving

_LONG = {"what": "classify", "categories": {"train": [0.5], "repeats": 1000}}
_MOST_SECONDS = 10  # to stop, also on a machine with other work


def _when(client: TestClient, job: str, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    deadline = time.monotonic() + 60
    while not is_so(found := client.get(f"/api/v1/jobs/{job}").json()):
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return dict(found)


def _ended(client: TestClient, job: str) -> dict[str, Any]:
    return _when(client, job, lambda seen: seen["state"] not in {"waiting", "running"})


def _started(client: TestClient, kind: str, body: dict[str, Any]) -> str:
    return str(client.post(f"/api/v1/jobs/{kind}", json=body).json()["id"])


def test_a_build_that_runs_is_stopped(client: TestClient) -> None:
    """One that computes, long before it would be done."""
    job = _started(client, "evaluate", _LONG)
    _when(client, job, lambda seen: bool(seen["progress"]))
    begun = time.monotonic()
    client.delete(f"/api/v1/jobs/{job}")
    assert _ended(client, job)["state"] == STOPPED
    assert time.monotonic() - begun < _MOST_SECONDS


def test_a_stopped_build_leaves_the_old_index(client: TestClient, opened: Library) -> None:
    """One that waits, here for another writer, looks at nothing else either."""
    from lpisearch.storage import writer_lock

    before, vectors = opened.status()["indexes"], opened.vectors()[1]
    with writer_lock(opened.path, "ingest", 1):
        job = _started(client, "index", {"options": {"method": "lsi", "dims": 2}})
        _when(client, job, lambda seen: seen["state"] == "running")
        time.sleep(1)
        begun = time.monotonic()
        client.delete(f"/api/v1/jobs/{job}")
        assert _ended(client, job)["state"] == STOPPED
        assert time.monotonic() - begun < _MOST_SECONDS
    assert opened.status()["indexes"] == before
    assert (opened.vectors()[1] == vectors).all()
    assert all(finding.ok for finding in opened.examine())
    again = _ended(client, _started(client, "index", {"options": {"method": "lsi", "dims": 2}}))
    assert (again["state"], again["result"]["dims"]) == (DONE, 2)


def test_a_build_reports_what_the_library_does(client: TestClient) -> None:
    done = _ended(client, _started(client, "index", {"options": {"dims": 3}}))
    assert (done["state"], done["result"]["dims"]) == (DONE, 3)
    jobs = client.app.state.lpisearch.jobs  # type: ignore[attr-defined]
    assert isinstance(jobs.get(done["id"]).result, IndexReport)
    wrong = _ended(client, _started(client, "index", {"options": {"method": "nonsense"}}))
    assert (wrong["state"], wrong["problem"]["fields"]) == (FAILED, ["method"])
    assert wrong["problem"]["type"] == "urn:lpisearch:bad-option"


def test_a_build_whose_process_dies_is_stated(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[bool] = []
    set_end = Job.set_end

    def kill(job: Job, end: Callable[[], object] | None) -> None:
        set_end(job, end)
        if end is not None:
            end()
            killed.append(True)

    monkeypatch.setattr(Job, "set_end", kill)
    failed = _ended(client, _started(client, "index", {}))
    assert killed == [True]
    assert (failed["state"], failed["problem"]["status"]) == (FAILED, 500)
    assert "status -9" in failed["problem"]["detail"]


@pytest.mark.skipif(not Path("/proc").exists(), reason="lists processes")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_build_outlives_its_server(shelf: Path, number: signal.Signals) -> None:
    """Here a build that waits for another writer."""
    from lpisearch.storage import writer_lock

    with writer_lock(shelf, "ingest", 1), serving(shelf) as (server, address):
        asked = urllib.request.Request(  # noqa: S310 (our own server)
            f"{address}api/v1/jobs/index", b"{}", {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(asked, timeout=30):  # noqa: S310 (our own server)
            pass
        while not (builds := _children(server.pid)):
            time.sleep(0.05)
        begun = time.monotonic()
        server.send_signal(number)
        server.wait(60)
        assert time.monotonic() - begun < 10 + _MOST_SECONDS  # it has ten seconds to finish
        while any(map(_is_alive, builds)):
            assert time.monotonic() - begun < 10 + 2 * _MOST_SECONDS
            time.sleep(0.05)
    with serving(shelf) as (_, address):
        jobs: Any = get_json(f"{address}api/v1/jobs")["jobs"]
        assert [each["state"] for each in jobs] == ["interrupted"]


def _children(process: int) -> list[int]:
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return [int(pid) for each in lists for pid in each.read_text("ascii").split()]


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(") ")[2][0] != "Z"
    except OSError:
        return False
