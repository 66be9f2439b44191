"""Map, topics, labels, classification, evaluation, jobs: each page says what it should."""

import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from starlette.testclient import TestClient

from lpisearch.errors import LpiSearchError
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
        ("/advanced", "Advanced"),
        ("/settings", "Settings"),
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
    shown = client.get("/topics")
    assert shown.status_code == 409
    assert "Next:" in shown.text
    assert "has no index" in client.get("/map/place").text
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
    # Two ingests, the index that the second one made due, the requested one, and a map for each.
    assert shown.count('<span class="ok">done</span>') == 6
    assert shown.count("Draw the map") == 2
    assert "<td>lsi</td>" in client.get("/library").text
    assert "tide.txt" in client.get("/", params={"q": "tide turns"}).text


def test_a_folder_elsewhere_is_refused(own_page: Callable[..., TestClient], tmp_path: Path) -> None:
    client = own_page()
    token = token_of(client)
    for path in ("/etc", "..", str(tmp_path), ""):
        answer = client.post("/library/ingest", data={"csrf_token": token, "path": path})
        assert answer.status_code in {403, 422}
    assert "No jobs yet" in client.get("/library/jobs").text


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


def test_a_drop_names_the_files_that_it_skips(own_page: Callable[..., TestClient]) -> None:
    client = own_page()
    sent = {"csrf_token": token_of(client)}
    files = [("files", ("tide.txt", b"The tide turns")), ("files", ("x" * 250 + ".txt", b"Mast"))]
    files.append(("files", ("picture.xyz", b"\x00\x01")))
    assert client.post("/upload/files", data=sent, files=files).status_code == 200
    shown = _wait(client)
    assert "1 added" in shown
    assert "The name is too long." in shown
    assert "unsupported format" in shown
    assert client.post("/upload/files", data=sent, files=files[1:2]).status_code == 422


def test_a_folder_is_chosen_by_its_name(
    own_page: Callable[..., TestClient], folder_of_files: Path
) -> None:
    (folder_of_files / "deep").mkdir(exist_ok=True)
    client = own_page()
    shown = client.get("/library", params={"folder": str(folder_of_files)}).text
    assert ">deep</bdi>" in shown
    assert "one folder up" not in shown
    deep = client.get("/library", params={"folder": str(folder_of_files / "deep")}).text
    assert "one folder up" in deep
    assert client.get("/library", params={"folder": "/etc"}).status_code == 403


def test_the_home_folder_is_allowed_after_a_question(
    own_page: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    client = own_page(roots=())
    assert "May this page read the files in" in client.get("/library").text
    token = token_of(client)
    sent = {"csrf_token": token, "allow": "home"}
    assert client.post("/library/allow", data=sent).status_code == 200
    assert f'value="{tmp_path}"' in client.get("/library").text
    assert client.post("/library/allow", data=sent).status_code == 403
    away = own_page(roots=(), host="0.0.0.0", token="x" * 16)  # noqa: S104
    headers = {"Authorization": f"Bearer {'x' * 16}"}
    assert away.post("/library/allow", data=sent, headers=headers).status_code == 403


def test_unknown_addresses_are_pages(page: TestClient) -> None:
    shown = page.get("/nowhere")
    assert shown.status_code == 404
    assert "<h1>Not found</h1>" in shown.text
    assert 'href="/"' in shown.text


def test_the_home_page(page: TestClient) -> None:
    shown = page.get("/").text
    assert "47 documents" in shown
    assert "<h2>Try</h2>" in shown
    assert 'class="home"' not in page.get("/", params={"q": "ship"}).text


def test_searches_are_saved(own_page: Callable[..., TestClient]) -> None:
    client = own_page()
    token = token_of(client, "/library")
    sent = {"csrf_token": token, "search": "/?q=ship&label=sea", "name": "Ships"}
    assert client.post("/saved", data=sent).status_code == 200
    shown = client.get("/").text
    assert '<a href="/?q=ship&amp;label=sea"><bdi>Ships</bdi></a>' in shown
    client.post("/saved", data={"csrf_token": token, "remove": "Ships"})
    assert "Ships" not in client.get("/").text


@pytest.mark.parametrize("name", ["csv", "jsonl", "bib"])
def test_an_answer_is_exported(page: TestClient, name: str) -> None:
    asked = {"q": "ship", "as": name, "alike": "all"}
    shown = page.get("/export", params=asked)
    total = page.get("/api/v1/search", params={"q": "ship", "collapse": "false"}).json()["total"]
    counts = {"csv": shown.text.count("\r\n") - 1, "jsonl": shown.text.count("\n")}
    assert counts.get(name, shown.text.count("@misc{")) == total > 10
    assert page.get("/export", params={"q": "ship", "as": "exe"}).status_code == 422


def test_a_search_is_a_feed(page: TestClient) -> None:
    shown = page.get("/feed", params={"q": "ship"})
    assert shown.headers["content-type"].startswith("application/atom+xml")
    tree = ET.fromstring(shown.content)  # noqa: S314 (our own)
    dates = [one.text for one in tree.iter("{http://www.w3.org/2005/Atom}updated")][1:]
    assert dates == sorted(dates, key=str, reverse=True)


def test_many_results_are_labelled(
    own_page: Callable[..., TestClient], folder_of_files: Path
) -> None:
    client = own_page()
    token = token_of(client, "/library")
    client.post("/library/ingest", data={"csrf_token": token, "path": str(folder_of_files)})
    _wait(client)
    every = client.get("/api/v1/search", params={"q": "ship", "collapse": "false"}).json()
    sent = {"csrf_token": token, "search": "/?q=ship&alike=all", "label": "boats"}
    client.post("/label", data=sent | {"scope": "page"})
    client.post("/label", data=sent | {"scope": "all", "label": "fleet"})
    ids = json.dumps([hit["id"] for hit in every["hits"]][:2])
    client.post("/label", data={"csrf_token": token, "documents": ids, "label": "two"})
    counts = client.get("/api/v1/labels").json()["labels"]
    assert (counts["boats"], counts["fleet"], counts["two"]) == (10, every["total"], 2)


def test_labels_are_renamed_and_merged(
    own_page: Callable[..., TestClient], folder_of_files: Path
) -> None:
    client = own_page()
    token = token_of(client, "/library")
    client.post("/library/ingest", data={"csrf_token": token, "path": str(folder_of_files)})
    _wait(client)
    before = client.get("/api/v1/labels").json()["labels"]
    for old, new in (("sea", "ocean"), ("sky", "ocean")):
        sent = {"csrf_token": token, "label": old, "to": new}
        assert client.post("/labels", data=sent).status_code == 200
    after = client.get("/api/v1/labels").json()["labels"]
    assert not {"sea", "sky"} & after.keys()
    assert after["ocean"] == before["sea"] + before["sky"]


def test_the_language_of_a_library_is_changed(own_page: Callable[..., TestClient]) -> None:
    client = own_page()
    library = client.app.state.lpisearch.library  # type: ignore[attr-defined]
    assert "Each document has its own language" in client.get("/settings").text
    language = library.facets().languages[0].value
    token = token_of(client, "/settings")
    wrong = client.post("/settings", data={"csrf_token": token, "language": "klingon"})
    assert wrong.status_code == 422
    shown = client.post("/settings", data={"csrf_token": token, "language": language})
    assert "Read texts again" in shown.text
    for _ in range(200):
        if library.status()["languages"] == {}:
            break
        time.sleep(0.05)
    assert f"read as {language.capitalize()}" in client.get("/settings").text


def test_a_label_gets_a_colour_that_it_keeps(own_page: Callable[..., TestClient]) -> None:
    client = own_page()
    library = client.app.state.lpisearch.library  # type: ignore[attr-defined]
    library.label("harbour.txt", add=("lights", "sea"))
    token = token_of(client, "/labels")

    def change(label: str, to: str, colour: str = "") -> int:
        sent = {"csrf_token": token, "label": label, "to": to, "colour": colour}
        return client.post("/labels", data=sent).status_code

    def dot(label: str) -> str:
        shown = client.get("/labels").text
        return str(re.findall(rf'dot k(\d+)"></span><bdi>{label}<', shown)[0])

    assert (dot("lights"), dot("sea")) == ("0", "1")
    assert change("lights", "lights", "7") == 200
    assert (dot("lights"), dot("sea")) == ("7", "1")
    assert change("lights", "lamps", "7") == 200
    assert (dot("lamps"), dot("sea")) == ("7", "1")
    assert change("sea", "sea", "99") == 422
    assert "k7" in client.get("/?q=harbour").text


def test_a_folder_is_kept_up_to_date(own_page: Callable[..., TestClient], tmp_path: Path) -> None:
    """A file that comes is added by itself, also by the next server, until watching stops."""
    root = tmp_path / "kept"
    root.mkdir()
    (root / "first.txt").write_text("The first boat.")
    client = own_page(roots=(root,))
    shared = client.app.state.lpisearch  # type: ignore[attr-defined]
    sent = {"csrf_token": token_of(client), "path": str(root), "watch": "yes"}
    assert "Kept up to date" in client.post("/library/ingest", data=sent).text
    _wait_for(lambda: shared.library.document("first.txt"))
    (root / "second.txt").write_text("The second boat.")
    _wait_for(lambda: shared.library.document("second.txt"))
    later = own_page(roots=(root,))
    assert "Kept up to date" in later.get("/library").text
    for each in (client, later):
        sent = {"csrf_token": token_of(each), "folder": str(root)}
        assert "Kept up to date" not in each.post("/library/unwatch", data=sent).text
    outside = {"csrf_token": token_of(client), "path": "/", "watch": "yes"}
    assert client.post("/library/ingest", data=outside).status_code == 403
    assert "Kept up to date" not in client.get("/library").text


def _wait_for(look: Callable[[], object], seconds: float = 60) -> None:
    """Wait until nothing is raised any more."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(LpiSearchError):
            look()
            break
        time.sleep(0.05)
    look()


def test_the_map_is_drawn_as_a_job(
    own_page: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch, folder_of_files: Path
) -> None:
    """Until it is there, the page says so, and the library page lists the job."""
    client = own_page()
    library = client.app.state.lpisearch.library  # type: ignore[attr-defined]
    library.ingest(folder_of_files)
    library.index(dims=8)
    monkeypatch.setattr("lpisearch.web.pages.templates._PATIENCE_SECONDS", 0)
    first = client.get("/map/data")
    assert first.status_code == 202
    assert first.json()["waits"].startswith("Drawing a map of")
    assert "Draw the map" in client.get("/library").text
    for _ in range(600):
        if client.get("/map/data").status_code == 200:
            break
        time.sleep(0.05)
    assert client.get("/map/data").json()["documents"] > 40
