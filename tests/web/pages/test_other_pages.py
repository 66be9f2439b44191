"""Map, topics, labels, classification, evaluation, jobs: each page says what it should."""

import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from lpisearch.web.pages.templates import StateCache
from tests.web.pages.conftest import token_of


@pytest.mark.parametrize(
    ("address", "heading"),
    [
        ("/help", "Help"),
        ("/topics", "Topics"),
        ("/labels", "Labels"),
        ("/classify", "Classify"),
        ("/evaluation", "Evaluation"),
        ("/library", "library.db"),
        ("/library/health", "Health"),
    ],
)
def test_each_page_has_its_heading(page: TestClient, address: str, heading: str) -> None:
    shown = page.get(address)
    assert shown.status_code == 200
    assert f">{heading}</h1>" in shown.text
    assert shown.text.count("<h1") == 1


@pytest.mark.parametrize("projection", ["neighbours", "plane"])
def test_points_of_the_map(page: TestClient, projection: str) -> None:
    asked = {"projection": projection}
    data = page.get("/map/data", params=asked | {"id": "sea/0"}).json()
    points = np.frombuffer(page.get("/map/points", params=asked).content, "<u2").reshape(-1, 4)
    assert len(points) == data["documents"]
    assert data["documents"] + data["unplaced"] == 47
    assert points[:, 2].min() >= 1
    assert points[:, 2].max() == len(data["topics"])
    assert points[:, 3].max() == len(data["labels"])
    assert data["chosen"] is not None
    (found,) = page.get("/map/documents", params=asked | {"at": str(data["chosen"])}).json()
    assert found["id"] == "sea/0"


def test_a_question_lights_up_points(page: TestClient) -> None:
    lit = page.get("/map/lit", params={"q": "ship"}).json()["lit"]
    first = page.get("/map/documents", params={"at": str(lit[0])}).json()
    assert lit
    assert first
    assert page.get("/map/lit").json() == {"lit": []}
    assert page.get("/map/documents", params={"at": "a,-1,99999,1e3,٣"}).json() == []


def test_a_text_is_classified(page: TestClient) -> None:
    token = token_of(page, "/classify")
    sent = {"csrf_token": token, "text": "the ship lies at anchor in the harbour"}
    shown = page.post("/upload/classify", data=sent, files={"file": ("", b"")}).text
    assert "sea</h2>" in shown
    file = ("../../note.txt", b"bread and flour and butter in the oven")
    shown = page.post("/upload/classify", data={"csrf_token": token}, files={"file": file}).text
    assert "kitchen</h2>" in shown
    file = ("x.nothing", b"\x00\x01")
    answer = page.post("/upload/classify", data={"csrf_token": token}, files={"file": file})
    assert answer.status_code == 200


def test_a_library_without_an_index_says_so(own_page: Callable[..., TestClient]) -> None:
    client = own_page()
    assert "harbour" in client.get("/", params={"q": "harbour"}).text
    for address in ("/topics", "/map/place"):
        shown = client.get(address)
        assert shown.status_code in {404, 409}
        assert "Next:" in shown.text
    assert client.get("/map/data").json()["trouble"]


def test_files_are_brought_in_and_indexed(
    own_page: Callable[..., TestClient], folder_of_files: Path
) -> None:
    client = own_page()
    token = token_of(client)
    sent = {"csrf_token": token}
    files = [("files", ("tide.txt", b"The tide turns")), ("files", ("mast.txt", b"A mast"))]
    assert client.post("/upload/files", data=sent, files=files).status_code == 200
    _wait(client)
    assert (
        client.post("/library/ingest", data=sent | {"path": str(folder_of_files)}).status_code
        == 200
    )
    _wait(client)
    assert client.post("/library/index", data=sent | {"method": "lsi"}).status_code == 200
    shown = _wait(client)
    assert shown.count('<span class="ok">done</span>') == 3
    assert "<td>lsi</td>" in client.get("/library").text
    assert "tide.txt" in client.get("/", params={"q": "tide turns"}).text


def test_a_folder_elsewhere_is_refused(own_page: Callable[..., TestClient], tmp_path: Path) -> None:
    client = own_page()
    token = token_of(client)
    for path in ("/etc", "..", str(tmp_path), ""):
        answer = client.post("/library/ingest", data={"csrf_token": token, "path": path})
        assert answer.status_code in {403, 422}
    assert "No jobs since the server started" in client.get("/library/jobs").text


def test_what_is_kept_is_made_once() -> None:
    kept, numbers = StateCache(), count()
    made = [kept.get("map", state, lambda: next(numbers)) for state in ("a", "a", "b", "b")]
    assert made == [0, 0, 1, 1]
    assert kept.peek("map", "a") is None
    for number in range(40):
        kept.get(number, "a", lambda: 1)
    assert kept.peek(0, "a") is None


def _wait(client: TestClient) -> str:
    for _ in range(300):
        shown = client.get("/library/jobs").text
        if "<progress" not in shown:
            return shown
        time.sleep(0.05)
    pytest.fail("the job does not end")
