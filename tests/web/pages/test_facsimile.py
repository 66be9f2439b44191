"""The look of a document: its page as an image, as a web page, and what opens its file."""

import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lpisearch.library import Library
from lpisearch.location import shipped_folder
from lpisearch.model.answers import Mark
from lpisearch.model.documents import BLOCKS, Document, Original, Section
from lpisearch.web.pages.facsimile import _boxes, _markup, _matches_by_page
from tests.web.pages.conftest import token_of

DOCUMENTS = shipped_folder("sample_corpus") / "documents"


@pytest.fixture
def looks(own_page: Callable[..., TestClient]) -> TestClient:
    """Return a client of a library with a PDF file, a web page and a hostile one."""
    client = own_page(roots=(DOCUMENTS,))
    _library(client).ingest(DOCUMENTS / "astronomy")
    return client


def _library(client: TestClient) -> Library:
    library: Library = client.app.state.lpisearch.library  # type: ignore[attr-defined]
    return library


def test_a_page_of_a_pdf_is_an_image_with_marks(looks: TestClient) -> None:
    name = "two-minutes-of-night.pdf"
    text = looks.get("/document", params={"id": name, "q": "stubble"}).text
    link = re.findall(r'href="(/document/original\?[^"]+)"', text)[0].replace("&amp;", "&")
    shown = looks.get(link).text
    assert "1 match on this page" in shown
    image = re.findall(r'<image href="([^"]+)" width="(\d+)"', shown)[0]
    answer = looks.get(image[0].replace("&amp;", "&"))
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert struct.unpack(">I", answer.content[16:20])[0] == int(image[1])
    assert len(re.findall(r'<rect x="\d+" y="\d+"', shown)) == 1


def test_a_web_page_is_shown_without_scripts(looks: TestClient) -> None:
    shown = looks.get("/document/original", params={"id": "along-the-terminator.html", "q": "moon"})
    assert shown.text.count("<mark>Moon</mark>") >= 2
    assert "<h2>Along the terminator</h2>" in shown.text
    assert shown.headers["content-security-policy"].startswith("default-src 'none'")


def test_what_has_no_look_is_not_found(looks: TestClient) -> None:
    for path, name in (
        ("original", "harbour.txt"),
        ("page", "along-the-terminator.html"),
        ("image", "two-minutes-of-night.pdf"),
        ("original", "no such document"),
    ):
        assert looks.get(f"/document/{path}", params={"id": name}).status_code == 404


def test_a_file_that_is_gone_is_stated(looks: TestClient, tmp_path: Path) -> None:
    file = tmp_path / "gone.html"
    file.write_text("<p>The boat is gone.</p>")
    _library(looks).ingest(file)
    file.write_bytes(b"<b><div>" * 3000)
    shown = looks.get("/document/original", params={"id": "gone.html"})
    assert "is nested too deeply to be shown" in shown.text
    file.unlink()
    shown = looks.get("/document/original", params={"id": "gone.html"})
    assert shown.status_code == 404
    assert "no longer exists" in shown.text


def test_markup_is_of_known_tags_in_their_places() -> None:
    evil = '"><script>alert(1)</script>'
    elements = [
        ("h4", ""), ("", "A <b>"), ("/h4", ""), ("h1", ""), ("/h1", ""), ("script", ""), ("", evil),
        ("a", f"https://x/{evil}"), ("", "x"), ("/a", ""), ("td", ""), ("", "c"), ("/td", ""),
        ("ul", ""), ("p", ""), ("", "in a list"), ("/p", ""), ("", "bare"), ("li", ""), ("", "one"),
        ("/li", ""), ("/ul", ""), ("/table", ""), ("th", '2" onclick'), ("p", ""), ("", "left"),
    ]  # fmt: skip
    starts = [0] * len(elements)
    text = max((value for _, value in elements), key=len)
    made = str(_markup([(tag, value) for tag, value in elements], text, starts, ()))
    tags = re.findall(r"</?([a-z0-9]+)", made)
    assert set(tags) <= {*BLOCKS, "a", "span"}
    assert "<script" not in made
    assert "onclick" not in made
    assert made.startswith("<h2>")
    assert "<ul><li><p>" in made
    assert made.count("<p>") == made.count("</p>")


def test_boxes_of_a_mark_are_one_a_line() -> None:
    seen = Original(
        text="ab\\ncd",
        boxes=((0, 0, 5, 9), (5, 1, 9, 9), (0,) * 4, (0, 10, 5, 19), (5, 10, 9, 19)),
    )
    assert [tuple(box) for box in _boxes(seen, [Mark(0, 5)])] == [
        (0, 0, 9, 9, False),
        (0, 10, 9, 9, False),
    ]
    sections = (Section(0, "page", "1"), Section(10, "page", "2"), Section(20, "page", "3"))
    document = Document("", "x" * 30, sections=sections)
    assert _matches_by_page(document, [Mark(12, 13), Mark(25, 26), Mark(27, 28)]) == [
        (2, 1),
        (3, 2),
    ]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Collect the commands that would be started, on a machine with a screen."""
    commands: list[list[str]] = []
    monkeypatch.setattr("lpisearch.viewers._start", lambda words, _location: commands.append(words))
    monkeypatch.setattr("lpisearch.viewers._viewer", lambda: ())
    monkeypatch.setattr("lpisearch.web.pages.facsimile.has_viewer", lambda: True)
    monkeypatch.setattr("sys.platform", "linux")
    return commands


@pytest.fixture
def near(looks: TestClient) -> TestClient:
    """Return a browser on the machine of the server."""
    return TestClient(looks.app, base_url="http://127.0.0.1:8077", client=("127.0.0.1", 1))


def _ask(client: TestClient, what: str, name: str = "along-the-terminator.html") -> Any:
    sent = {"csrf_token": token_of(client), "id": name, "what": what}
    return client.post("/document/open", data=sent, follow_redirects=False)


def test_a_file_and_its_folder_are_opened(near: TestClient, started: list[list[str]]) -> None:
    shown = near.get("/document", params={"id": "along-the-terminator.html"}).text
    assert "Open folder" in shown
    file = DOCUMENTS / "astronomy" / "along-the-terminator.html"
    assert _ask(near, "file").status_code == 303
    assert _ask(near, "folder").status_code == 303
    assert started == [["xdg-open", str(file)], ["xdg-open", str(file.parent)]]


def test_nobody_else_opens_files(
    looks: TestClient,
    near: TestClient,
    own_page: Callable[..., TestClient],
    started: list[list[str]],
) -> None:
    """Neither another machine, nor a request without its page, nor a server that is shared."""
    assert _ask(looks, "file").status_code == 403
    assert "Open folder" not in looks.get("/document?id=along-the-terminator.html").text
    assert near.get("/document/open").status_code == 405
    sent = {"id": "along-the-terminator.html", "what": "file"}
    assert (
        near.post("/document/open", data=sent, headers={"Origin": "https://x"}).status_code == 403
    )
    assert near.post("/document/open", data=sent).status_code in {303, 403}
    started.clear()
    near.get("/library")  # from now on it has a cookie, as browsers do
    assert near.post("/document/open", data=sent).status_code == 403
    token = "a-token-of-sixteen"  # noqa: S105 (of a test)
    for settings in ({"read_only": True}, {"behind_proxy": ("127.0.0.1",), "token": token}):
        app = own_page(**settings).app
        shared = TestClient(app, base_url="http://127.0.0.1:8077", client=("127.0.0.1", 1))
        shared.headers["Authorization"] = f"Bearer {token}"
        assert _ask_without_form(shared).status_code == 403
    assert started == []


def _ask_without_form(client: TestClient) -> Any:
    sent = {"csrf_token": token_of(client, "/classify"), "id": "harbour.txt", "what": "file"}
    return client.post("/document/open", data=sent, follow_redirects=False)


def test_only_files_of_documents_are_opened(
    near: TestClient, started: list[list[str]], tmp_path: Path
) -> None:
    program = tmp_path / "run.py"
    program.write_text("# A program about a harbour.\nprint(1)\n")
    _library(near).ingest(program)
    answer = _ask(near, "file", "run.py")
    assert answer.status_code == 409
    assert "is not opened for safety" in answer.text
    assert _ask(near, "file", "/etc/passwd").status_code == 404
    program.unlink()
    program.symlink_to("/etc/passwd")
    assert _ask(near, "file", "run.py").status_code == 403
    assert started == []
