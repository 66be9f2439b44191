"""Health, readiness, and measurements in the text form of Prometheus."""

import os
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from starlette.testclient import TestClient

import lpisearch
from lpisearch.errors import LibraryUnreachable
from lpisearch.location import Address
from lpisearch.web.metrics import Metrics, Sample, as_text

_TOKEN, _READER = "a-token-that-nobody-guesses", "another-that-only-reads"
_LINE = re.compile(r'(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\.)*",?)*)\})? (-?[0-9.e+-]+)')


def parsed(text: str) -> dict[tuple[str, str], float]:
    """Return the samples of a text by name and labels; each belongs to the type above it."""
    found: dict[tuple[str, str], float] = {}
    family = ""
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            family, kind = line.split()[2:]
            assert kind in {"counter", "gauge", "histogram"}
            assert kind != "counter" or family.endswith("_total")
        elif not line.startswith("# HELP "):
            match = _LINE.fullmatch(line)
            assert match is not None, line
            assert match[1].startswith(family)
            key = match[1], match[2] or ""
            assert key not in found
            found[key] = float(match[3])
    return found


def _get(client: TestClient) -> dict[tuple[str, str], float]:
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return parsed(answer.text)


def test_what_is_measured(client: TestClient) -> None:
    for _ in range(3):
        assert client.get("/api/v1/search?q=ship").status_code == 200
    client.get("/api/v1/search?limit=x")
    client.get("/nothing")
    found = _get(client)
    assert found["lpisearch_requests_total", 'kind="search",code="200"'] == 3
    assert found["lpisearch_requests_total", 'kind="search",code="422"'] == 1
    assert found["lpisearch_requests_total", 'kind="page",code="404"'] == 1
    assert found["lpisearch_request_seconds_count", 'kind="search"'] == 4
    assert found["lpisearch_request_seconds_bucket", 'kind="search",le="+Inf"'] == 4
    buckets = [value for (name, labels), value in found.items() if "_bucket" in name]
    assert sum(b < a for a, b in pairwise(buckets)) <= 3  # where the next kind begins
    assert found["lpisearch_documents", ""] == 40
    assert found["lpisearch_index_documents", 'index="default"'] == 40
    assert found["lpisearch_index_age_seconds", 'index="default"'] > 0
    assert found["lpisearch_index_out_of_date", 'index="default"'] == 0
    assert found["lpisearch_library_up", ""] == 1
    assert found["lpisearch_build_info", f'version="{lpisearch.__version__}"'] == 1
    assert ("lpisearch_jobs", 'state="running"') in found


def test_measurements_need_a_token(serve: Callable[..., TestClient]) -> None:
    """Where there is one: that which may only read is enough. Health and readiness need none."""
    client = serve(token=_TOKEN, read_token=_READER)
    assert client.get("/metrics").status_code == 401
    for token, status in ((_TOKEN, 200), (_READER, 200), ("wrong", 401)):
        headers = {"authorization": f"Bearer {token}"}
        assert client.get("/metrics", headers=headers).status_code == status
    for path in ("/health", "/ready"):
        assert client.get(path).status_code == 200


def test_a_server_says_whether_it_is_ready(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    state: Any = client.app.state.lpisearch  # type: ignore[attr-defined]
    assert (client.get("/ready").text, client.get("/health").text) == ("ready\n", "ok\n")
    state.starting.set()
    assert client.get("/ready").status_code == 503
    state.starting.clear()

    def fails(_library: object) -> str:
        raise LibraryUnreachable(Address("postgresql://me@there/x"), "it is away", "start it")

    with monkeypatch.context() as patch:
        patch.setattr(lpisearch.Library, "state", fails)
        patch.setattr(lpisearch.Library, "status", fails)
        answer = client.get("/ready")
        assert (answer.status_code, answer.text) == (503, "the library cannot be read\n")
        assert _get(client)["lpisearch_library_up", ""] == 0
    assert client.get("/ready").status_code == 200
    state.jobs.announce_end()
    assert client.get("/ready").text == "the server is ending\n"
    assert client.get("/health").status_code == 200


@pytest.mark.skipif(not hasattr(os, "fork"), reason="several workers need fork")
def test_the_requests_of_all_workers_are_summed() -> None:
    """Also those of one that has died."""
    metrics = Metrics(3)
    for worker in range(3):
        pid = os.fork()
        if not pid:
            for _ in range(5):
                metrics.add(worker, {"type": "http", "path": "/api/v1/search"}, 200, 0.02)
            metrics.note(worker, 7)
            os._exit(0)
        os.waitpid(pid, 0)
    metrics.note_restart(1)
    found = parsed(as_text(metrics.samples()))
    assert found["lpisearch_requests_total", 'kind="search",code="200"'] == 15
    assert found["lpisearch_request_seconds_sum", 'kind="search"'] == pytest.approx(0.3)
    assert found["lpisearch_connections", 'worker="2"'] == 7
    assert found["lpisearch_worker_restarts_total", ""] == 1


def test_labels_are_escaped() -> None:
    hostile = 'a"b\\c\nd'
    text = as_text([Sample("index_documents", 1, {"index": hostile})])
    assert list(parsed(text)) == [("lpisearch_index_documents", r'index="a\"b\\c\nd"')]
