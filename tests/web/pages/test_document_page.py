"""The page of a document: its text, its matches, its labels, its file."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from starlette.testclient import TestClient

from lpisearch.location import shipped_folder
from lpisearch.model.answers import Mark
from lpisearch.model.documents import Document
from lpisearch.web.pages.document import PART, paragraphs, part_starts, spots
from lpisearch.web.pages.templates import folders, histogram, pages, pieces, shares
from tests.web.pages.conftest import LONG, token_of


def test_a_document_with_its_matches(page: TestClient) -> None:
    shown = page.get("/document", params={"id": "sea/0", "q": "ship"}).text
    assert "<mark>ship</mark>" in shown
    assert "<rect" in shown.split('id="minimap"')[1].split("</svg>")[0]
    assert "train" in shown or "test" in shown
    assert shown.count('<li dir="auto"><a href="/document?id=') == 6


def test_a_result_opens_at_its_passage(page: TestClient) -> None:
    """The address of a result leads to its passage, and to the results before and after."""
    results = page.get("/", params={"q": "anchor"}).text
    link = re.findall(r'class="open" href="([^"]*hit=2[^"]*)"', results)[0].replace("&amp;", "&")
    shown = page.get(link).text
    assert re.search(r"result 2 of \d+", shown)
    assert 'rel="prev"' in shown
    assert 'rel="next"' in shown
    text = page.get("/document", params={"id": "long", "at": "100000"}).text
    assert re.search(r'<p dir="auto" id="here" class="here">Paragraph', text)
    part = page.get("/document", params={"id": "long"}, headers={"X-Part": "part"}).text
    assert part.lstrip().startswith('<div class="preview-text">')


def test_a_long_text_is_shown_in_parts(page: TestClient) -> None:
    first = page.get("/document", params={"id": "long", "q": "anchor"}).text
    assert len(first) < 1_000_000
    assert 'aria-current="page">1<' in first
    last = page.get("/document", params={"id": "long", "q": "anchor", "part": "999"}).text
    assert "3999. The harbour" in re.sub("<[^>]*>", "", last)


def test_parts_and_paragraphs_lose_nothing() -> None:
    starts = part_starts(Document(title="", text=LONG))
    assert starts == sorted(set(starts))
    assert max(b - a for a, b in pairwise(starts)) <= PART * 1.5
    for text in (LONG, "word " * 5000, "x" * 20_000, "\n\n\n", "", "a\n\nb"):
        seen = "".join(text[a:b] for a, b in paragraphs(text, 0, len(text)))
        assert "".join(seen.split()) == "".join(text.split())


def test_pieces_are_the_text() -> None:
    marks = [Mark(2, 5), Mark(5, 7, 0.5), Mark(9, 20)]
    text = "0123456789abcdef"
    assert "".join(piece.text for piece in pieces(text, marks)) == text
    assert [piece.text for piece in pieces(text, marks, 3, 10)] == ["34", "56", "78", "9"]
    assert pieces("", []) == []


def test_small_pictures() -> None:
    """Bars, spots and numbers of pages are as large as what they stand for."""
    assert [(each.width, each.against) for each in shares([1.0, -1.0])] == [
        (50.0, False),
        (50.0, True),
    ]
    assert histogram([]) == []
    assert list(pages(5, 9)) == [1, 0, 3, 4, 5, 6, 7, 0, 9]
    assert folders("/a/b/c/d.txt") == "b/c/d.txt"
    assert [spot.top for spot in spots([Mark(50, 51)], 0, 100)] == [500.0]
    assert len(list(spots([Mark(n, n + 1) for n in range(5000)], 0, 5000))) <= 400


def test_a_document_that_is_not_there(page: TestClient) -> None:
    shown = page.get("/document", params={"id": "no such thing"})
    assert shown.status_code == 404
    assert "no such thing" in shown.text


def test_labels_are_changed(own_page: Callable[..., TestClient]) -> None:
    client = own_page()
    name = client.get("/").text.split("/document?id=")[1].split('"')[0].split("&amp;")[0]
    token = token_of(client, f"/document?id={name}")
    sent = {"csrf_token": token, "id": name, "add": "lights, sea"}
    shown = client.post("/document/labels", data=sent)
    assert shown.status_code == 200
    assert shown.text.count('aria-label="Remove the label') == 2
    shown = client.post("/document/labels", data={"csrf_token": token, "id": name, "remove": "sea"})
    assert shown.text.count('aria-label="Remove the label') == 1


def test_read_only_changes_nothing(own_page: Callable[..., TestClient]) -> None:
    client = own_page(read_only=True)
    token = token_of(client, "/classify")
    assert 'action="/document/labels"' not in client.get("/document?id=harbour.txt").text
    assert "is read-only" in client.get("/library").text
    for address in ("/document/labels", "/library/index", "/library/ingest", "/upload/files"):
        sent = {"csrf_token": token, "id": "harbour.txt", "add": "x", "path": "/"}
        assert client.post(address, data=sent).status_code == 403


def test_a_write_needs_the_token_of_its_page(own_page: Callable[..., TestClient]) -> None:
    client = own_page()
    client.get("/library")
    sent = {"id": "harbour.txt", "add": "x"}
    assert client.post("/document/labels", data=sent).status_code == 403


def test_the_file_is_a_download(page: TestClient, folder_of_files: Path) -> None:
    shown = page.get("/document", params={"id": "harbour.txt"}).text
    found = re.search(r'href="(/document/file\?id=[^"]+)"', shown)
    assert found is not None
    answer = page.get(found[1])
    assert answer.content == (folder_of_files / "harbour.txt").read_bytes()
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_pdf_opens_at_the_page_of_the_match(own_page: Callable[..., TestClient]) -> None:
    documents = shipped_folder("sample_corpus") / "documents"
    pdf = min(documents.glob("**/*.pdf"))
    client = own_page(roots=(documents,))
    shared = client.app.state.lpisearch  # type: ignore[attr-defined]
    shared.library.ingest(pdf)
    word = shared.library.document(pdf.name).text.split()[5]
    shown = client.get("/document", params={"id": pdf.name, "q": f'"{word}"'}).text
    found = re.search(r'href="(/document/file\?id=[^"#]+)#page=(\d+)"', shown)
    assert found is not None
    assert found[2] == "1"
    answer = client.get(found[1])
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-disposition"].startswith("inline")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.content == pdf.read_bytes()
