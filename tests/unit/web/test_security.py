"""What a server refuses, whoever asks: one test for each promise of SECURITY.md."""

import asyncio
import inspect
import logging
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

import lpisearch
from lpisearch import Library
from lpisearch.options import ServeLimits, ServeSettings
from lpisearch.storage import servers
from lpisearch.web import security, server
from lpisearch.web.api import ENDPOINTS
from lpisearch.web.problems import HEALTH, METRICS, READY
from lpisearch.web.security import RateLimitMiddleware
from lpisearch.web.state import RateTable

_TOKEN = "a token that nobody guesses"  # noqa: S105 (of a test)
_JSON = {"content-type": "application/json"}
_PAGES = ("/", "/api/v1/", "/api/v1/status", "/nothing", "/static/style.css", "/api/v1/search?k=x")


@pytest.mark.parametrize("path", _PAGES)
def test_every_answer_says_what_a_browser_may_do(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "server" not in headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example:8077",
        "localhost@evil.example",
        "[::1",
        "127.0.0.1:x",
        "localhost/..",
        "",
    ],
)
def test_another_name_is_refused(client: TestClient, host: str) -> None:
    for method, path in (("GET", "/"), ("GET", "/api/v1/status"), ("POST", "/api/v1/classify")):
        assert client.request(method, path, headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost:8077", "[::1]:8077", "10.0.0.7:1", "Notes.example", "LOCALHOST"],
)
def test_our_names_are_known(serve: Callable[..., TestClient], host: str) -> None:
    client = serve(names=("notes.example",))
    assert client.get("/api/v1/status", headers={"host": host}).status_code == 200


_FROM_ELSEWHERE = (
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:9999"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
)


@pytest.mark.parametrize("headers", _FROM_ELSEWHERE)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_no_other_page_writes(
    client: TestClient, opened: Library, headers: dict[str, str], method: str
) -> None:
    client.get("/")
    shown = headers | {"x-csrf-token": _token_of(client)}
    target = "/api/v1/documents?id=sea/0" if method == "DELETE" else "/api/v1/labels"
    answer = client.request(
        method, target, json={"documents": ["sea/0"], "add": ["x"]}, headers=shown
    )
    assert answer.status_code == 403
    assert opened.document("sea/0").labels == ("sea",)


def _token_of(client: TestClient) -> str:
    """Return the token of the visitor that a client is, as a page has it."""
    from lpisearch.web.security import VISITOR, _signed

    state: Any = client.app.state.lpisearch  # type: ignore[attr-defined]
    return _signed(state, client.cookies[VISITOR])


def test_a_browser_writes_with_the_token_of_its_page(client: TestClient) -> None:
    cookie = client.get("/login").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    body = {"documents": ["sea/0"], "add": ["x"]}
    own = {"sec-fetch-site": "same-origin", "origin": "http://127.0.0.1:8077"}
    assert client.post("/api/v1/labels", json=body, headers=own).status_code == 403
    wrong = own | {"x-csrf-token": "0" * 64}
    assert client.post("/api/v1/labels", json=body, headers=wrong).status_code == 403
    right = own | {"x-csrf-token": _token_of(client)}
    assert client.post("/api/v1/labels", json=body, headers=right).status_code == 200
    client.cookies.clear()
    assert client.post("/api/v1/labels", json=body, headers=right).status_code == 403


@pytest.mark.parametrize("kind", ["form", "parts"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_form_shows_its_token_first(
    serve: Callable[..., TestClient], kind: str, *, is_first: bool
) -> None:
    client = serve(token=_TOKEN)
    client.get("/login")
    fields = [("csrf_token", _token_of(client)), ("token", _TOKEN)]
    fields = fields if is_first else fields[::-1]
    if kind == "form":
        content = "&".join(f"{name}={quote(value)}" for name, value in fields)
        sent = client.post(
            "/login", content=content, headers={"content-type": "application/x-www-form-urlencoded"}
        )
    else:
        sent = client.post("/login", files=[(name, (None, value)) for name, value in fields])
    assert sent.status_code == (303 if is_first else 403)


def test_a_program_needs_no_page(client: TestClient) -> None:
    body = {"documents": ["sea/0"], "add": ["x"]}
    assert client.post("/api/v1/labels", json=body).status_code == 200


def test_a_form_of_another_page_is_no_json(client: TestClient, opened: Library) -> None:
    content = '{"documents": ["sea/0"], "add": ["x"]}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = client.post("/api/v1/labels", content=content, headers={"content-type": kind})
        assert answer.status_code == 415
    assert opened.document("sea/0").labels == ("sea",)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {_TOKEN}"},
        {"authorization": f"Bearer {_TOKEN} more"},
        {"authorization": "Bearer \xff"},
        {"cookie": f"lpisearch_session={_TOKEN}"},
        {"cookie": "lpisearch_session=\xff"},
    ],
)
def test_without_the_token_nothing_is_told(
    serve: Callable[..., TestClient], headers: dict[str, str]
) -> None:
    client = serve(token=_TOKEN.replace(" ", "-"))
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    for endpoint in ENDPOINTS:
        path = endpoint.path.replace("{id:path}", "sea/0").replace("{id}", "x")
        answer = client.request(endpoint.method, f"/api/v1{path}", headers=raw)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
    page = client.get("/?q=x", headers=raw)
    assert (page.status_code, page.headers["location"]) == (303, "/login?next=%2F%3Fq%3Dx")
    assert client.get("/login").status_code == 200


def test_the_token_opens(serve: Callable[..., TestClient]) -> None:
    token = _TOKEN.replace(" ", "-")
    client = serve(token=token)
    shown = {"authorization": f"Bearer {token}"}
    assert client.get("/api/v1/status", headers=shown).status_code == 200
    client.get("/login")
    fields = {"csrf_token": _token_of(client), "token": token}
    logged_in = client.post("/login?next=//evil.example/", data=fields)
    assert (logged_in.status_code, logged_in.headers["location"]) == (303, "/")
    assert "HttpOnly" in logged_in.headers["set-cookie"]
    assert token not in logged_in.headers["set-cookie"]
    assert client.get("/api/v1/status").status_code == 200


@pytest.mark.parametrize(
    "wanted", ["//evil.example", "/\\evil.example", "https://evil.example", "/\t/e"]
)
def test_a_login_leads_nowhere_else(serve: Callable[..., TestClient], wanted: str) -> None:
    client = serve(token=_TOKEN)
    client.get("/login")
    fields = {"csrf_token": _token_of(client), "token": _TOKEN}
    answer = client.post(f"/login?next={quote(wanted, safe='')}", data=fields)
    assert answer.headers["location"] == "/"


def test_tokens_are_compared_in_constant_time() -> None:
    source = inspect.getsource(security.is_token)
    assert "compare_digest" in source
    assert "==" not in source
    for function in (security.is_session, security.begin_session):  # a digest is looked up
        assert "_session(state, cookie)" in inspect.getsource(function)
    assert "_hmac" in inspect.getsource(security._session)


def _log_in(client: TestClient) -> str:
    client.get("/login")
    fields = {"csrf_token": _token_of(client), "token": _TOKEN}
    return client.post("/login", data=fields).headers["set-cookie"]


def test_a_session_ends(serve: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch) -> None:
    client = serve(token=_TOKEN)
    cookie = _log_in(client)
    assert f"Max-Age={security.SESSION_SECONDS}" in cookie
    assert client.get("/api/v1/status").status_code == 200
    later = text(f"SELECT {time.time() + security.SESSION_SECONDS + 1}")
    monkeypatch.setitem(servers._CLOCKS, "sqlite", later)
    assert client.get("/api/v1/status").status_code == 401


def test_all_servers_of_a_library_have_the_same_sessions(serve: Callable[..., TestClient]) -> None:
    """A browser that logged in at one is known to the others that have this token, and no more."""
    one, other, stranger = serve(token=_TOKEN), serve(token=_TOKEN), serve(token=f"{_TOKEN}!")
    kept = _log_in(one).split(";")[0]
    csrf = _token_of(one)
    cookies = {"cookie": "; ".join(f"{name}={value}" for name, value in one.cookies.items())}
    assert kept in cookies["cookie"]
    assert other.get("/api/v1/status", headers=cookies).status_code == 200
    assert stranger.get("/api/v1/status", headers=cookies).status_code == 401
    added = {"documents": ["sea/0"], "add": ["read"]}
    written = {**cookies, "x-csrf-token": csrf}
    assert other.post("/api/v1/labels", json=added, headers=written).status_code == 200
    assert other.post("/logout", data={"csrf_token": csrf}, headers=cookies).status_code == 303
    assert one.get("/api/v1/status", headers={"cookie": kept}).status_code == 401


def test_a_browser_logs_out(serve: Callable[..., TestClient]) -> None:
    client = serve(token=_TOKEN)
    kept = _log_in(client).split(";")[0]
    page = client.get("/help").text
    assert 'action="/logout"' in page
    assert client.post("/logout", data={"csrf_token": _token_of(client)}).status_code == 303
    answer = client.get("/api/v1/status", headers={"cookie": kept})
    assert answer.status_code == 401


def test_sessions_are_not_kept_without_end(client: TestClient) -> None:
    state: Any = client.app.state.lpisearch  # type: ignore[attr-defined]
    cookies = [security.begin_session(state) for _ in range(1010)]
    assert sum(security.is_session(state, cookie) for cookie in cookies) == 1000
    assert not security.is_session(state, cookies[0])
    assert security.is_session(state, cookies[-1])
    stored = b"".join(path.read_bytes() for path in state.records._file.parent.iterdir())
    assert not any(cookie.encode() in stored for cookie in cookies)


_DATA = (
    "/api/v1/search?q=ship",
    "/api/v1/topics",
    "/map/data",
    "/map/points",
    "/api/v1/jobs/x/events",
)
_LINK = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_other_page_makes_the_server_work(client: TestClient, site: str) -> None:
    for path in _DATA:
        for more in ({}, _LINK):
            headers = {"sec-fetch-site": site, **more}
            assert client.get(path, headers=headers).status_code == 403, (path, headers)
    image = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    frame = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    for headers in (image, frame):
        assert client.get("/?q=ship", headers=headers).status_code == 403
    assert client.get("/?q=ship", headers={"sec-fetch-site": site, **_LINK}).status_code == 200
    for own in ("same-origin", "none"):
        assert client.get(_DATA[0], headers={"sec-fetch-site": own}).status_code == 200


_PRIVATE = (
    "/",
    "/api/v1/status",
    "/api/v1/search?q=ship",
    "/api/v1/export",
    "/nothing",
    "/library",
)


def test_private_answers_are_not_stored(serve: Callable[..., TestClient]) -> None:
    shown = {"authorization": f"Bearer {_TOKEN.replace(' ', '-')}"}
    client = serve(token=_TOKEN.replace(" ", "-"))
    for path in _PRIVATE:
        assert client.get(path, headers=shown).headers["cache-control"] == "no-store", path
    local = serve()
    cached = local.get("/api/v1/search?q=ship").headers
    assert cached["cache-control"] == "private, no-cache"  # it has an ETag
    for path in set(_PRIVATE) - {"/api/v1/search?q=ship"}:
        assert local.get(path).headers["cache-control"] == "no-store", path


def test_who_goes_in_the_middle_of_a_form_is_no_error(
    serve: Callable[..., TestClient], caplog: pytest.LogCaptureFixture
) -> None:
    client = serve(token=_TOKEN)
    client.get("/login")
    headers = {
        "host": "127.0.0.1",
        "content-type": "application/x-www-form-urlencoded",
        "content-length": "10000",
        "cookie": f"{security.VISITOR}={client.cookies[security.VISITOR]}",
    }
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/login",
        "raw_path": b"/login",
        "query_string": b"",
        "headers": raw,
        "client": ("127.0.0.1", 1),
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "http_version": "1.1",
        "app": client.app,
    }
    begun = f"csrf_token={_token_of(client)}&".encode().ljust(8192, b"x")
    messages = [
        {"type": "http.request", "body": begun, "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        raise AssertionError(message)

    app: Any = client.app
    asyncio.run(app(scope, receive, send))
    assert not messages
    assert caplog.text == ""


@pytest.mark.parametrize("name", ["label", "predicted", "where"])
def test_the_number_of_filters_is_limited(client: TestClient, name: str) -> None:
    query = "&".join(f"{name}=x{number}=y" for number in range(101))
    for path in ("search", "documents", "facets", "export"):
        assert client.get(f"/api/v1/{path}?{query}").status_code == 422, path
    assert client.get(f"/?{query}").status_code < 500
    client.cookies.clear()  # a program again
    body = {"where": {"metadata": [[f"x{number}", "y"] for number in range(990)]}, "add": ["z"]}
    answer = client.post("/api/v1/labels", json=body)
    assert (answer.status_code, "100" in answer.json()["detail"]) == (422, True)


def test_an_error_of_the_database_shows_no_values(opened: Library) -> None:
    from sqlalchemy import text
    from sqlalchemy.exc import OperationalError

    from lpisearch.storage.sqlite.database import Database

    assert isinstance(opened.path, Path)
    with (
        Database.connect(opened.path, writable=False) as database,
        database.interruptible(lambda: False) as connection,
        pytest.raises(OperationalError) as raised,
    ):
        connection.execute(text("SELECT :a FROM nothing"), {"a": "private-matter"})
    assert "private-matter" not in str(raised.value)


def test_a_library_that_moved_is_not_found(client: TestClient, opened: Library) -> None:
    assert isinstance(opened.path, Path)
    assert client.get("/api/v1/search?q=ship").status_code == 200
    opened.path.rename(opened.path.with_name("elsewhere.db"))
    for path in ("status", "search?q=ship", "documents", "documents/sea/0", "doctor"):
        answer = client.get(f"/api/v1/{path}")
        assert (answer.status_code, answer.json()["type"]) == (
            404,
            "urn:lpisearch:library-not-found",
        )
    assert client.get("/library").status_code == 200


def test_others_are_not_served_without_a_token(opened: Library) -> None:
    for token in ("", "short"):
        settings = ServeSettings(host="0.0.0.0", port=0, token=token)  # noqa: S104 (refused)
        with pytest.raises(server.TokenMissing, match="LPISEARCH_TOKEN"):
            server.serve(opened, settings)


def test_no_secret_is_written(
    serve: Callable[..., TestClient],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = _TOKEN.replace(" ", "-")
    client = serve(token=token)
    shown = {"authorization": f"Bearer {token}"}
    caplog.set_level(logging.DEBUG)

    def fails(*_given: object, **_named: object) -> None:
        message = "a defect"
        raise ZeroDivisionError(message)

    monkeypatch.setattr(lpisearch.Library, "search", fails)
    answer = client.get("/api/v1/search?q=private-matter", headers=shown)
    assert answer.status_code == 500
    assert "defect" not in answer.text
    written = caplog.text + "".join(capfd.readouterr())
    assert "a defect" in written  # that it failed is written
    secret = client.app.state.lpisearch.secret.hex()  # type: ignore[attr-defined]
    settings = repr(client.app.state.lpisearch)  # type: ignore[attr-defined]
    for hidden in (token, "private-matter", secret):
        assert hidden not in _without_http_client(written)
        assert hidden not in settings


def _without_http_client(written: str) -> str:
    """Leave out what the client of the test writes itself."""
    return "\n".join(line for line in written.splitlines() if "httpx" not in line)


_LEADS_OUT = (
    "/etc/passwd",
    "../../etc/passwd",
    "..",
    "inside/../../outside.txt",
    "link.txt",
    "linked/outside.txt",
    "%2e%2e/outside.txt",
    "..\\outside.txt",
    "~/.ssh",
    "inside.txt\0",
    "-",
    "",
    "*",
    "file:///etc/passwd",
)


@pytest.fixture
def outside(root: Path) -> Path:
    """Return a file outside the allowed folder, to which links lead."""
    secret = root.parent / "outside.txt"
    secret.write_text("a secret about ships", encoding="utf-8")
    (root / "inside").mkdir()
    (root / "inside.txt").write_text("ships", encoding="utf-8")
    (root / "link.txt").symlink_to(secret)
    (root / "linked").symlink_to(secret.parent)
    return secret


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize("path", _LEADS_OUT)
def test_no_path_leads_out(client: TestClient, opened: Library, path: str) -> None:
    before = len(opened)
    for name in (path, quote(path)):
        answer = client.post("/api/v1/jobs/ingest", json={"paths": [name]})
        assert answer.status_code in {403, 422}
    files = {"queries": path, "qrels": path}
    asked = {"what": "retrieval", "retrieval": files}
    if path:  # nothing is the folder itself
        assert client.post("/api/v1/jobs/evaluate", json=asked).status_code in {403, 422}
    assert len(opened) == before


def test_what_is_inside_is_brought_in(client: TestClient, outside: Path, root: Path) -> None:
    for path in (str(root), "inside.txt", "."):
        job = client.post("/api/v1/jobs/ingest", json={"paths": [path]}).json()
        ended = list(client.get(f"/api/v1/jobs/{job['id']}/events").iter_lines())
        assert '"state": "done"' in ended[-2]
    found = client.get("/api/v1/documents", params={"path": str(root)}).json()["documents"]
    assert [each["path"] for each in found] == [str(root / "inside.txt")]
    assert outside.exists()


@pytest.mark.parametrize(
    "options",
    [
        {"read": {"labels": "/etc/passwd"}},
        {"read": {"labels": "labels.csv"}},
        {"read": {"ocr": "--help"}},
        {"read": {"max_document_bytes": 1 << 40}},
        {"find": {"follow_links": True}},
        {"workers": 64},
        {"batch_documents": 0},
    ],
)
def test_no_option_reads_another_file(
    client: TestClient, root: Path, options: dict[str, Any]
) -> None:
    body = {"paths": [str(root)], "options": options}
    assert client.post("/api/v1/jobs/ingest", json=body).status_code == 422


@pytest.mark.parametrize("options", [{"cluster": "tcp://evil:8786"}, {"workers": 99}])
def test_nobody_names_a_cluster(client: TestClient, options: dict[str, Any]) -> None:
    assert client.post("/api/v1/jobs/index", json={"options": options}).status_code == 422


def test_a_name_is_not_read_as_a_file(client: TestClient, outside: Path) -> None:
    answer = client.get("/api/v1/similar", params={"id": str(outside)})
    assert answer.status_code == 404
    body = {"text": str(outside)}
    assert "secret" not in client.post("/api/v1/classify", json=body).text


_UPLOADS = (
    "../up.txt",
    "/etc/up.txt",
    "a/../../up.txt",
    "..\\up.txt",
    ".hidden",
    "a//b.txt",
    "a/./b.txt",
    "up\0.txt",
    "up\n.txt",
    "x" * 300,
    "/".join("a" * 12),
    "",
)


@pytest.mark.parametrize("name", _UPLOADS)
def test_an_upload_stays_in_its_folder(client: TestClient, opened: Library, name: str) -> None:
    answer = client.post("/api/v1/uploads", params={"name": name}, content=b"x")
    assert answer.status_code in {403, 422}
    assert isinstance(opened.path, Path)
    assert not (opened.path.parent / "library.uploads").exists()


@pytest.mark.skipif(os.name == "nt", reason="rights are other there")
def test_uploads_are_no_more_open_than_the_library(client: TestClient, opened: Library) -> None:
    assert isinstance(opened.path, Path)
    opened.path.chmod(0o600)
    assert client.post("/api/v1/uploads", params={"name": "a/b.txt"}, content=b"x").is_success
    folder = opened.path.parent / "library.uploads"
    for path in (folder, *folder.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("name", ["a", "a/b.txt/c.txt"])
def test_a_folder_and_a_file_do_not_share_a_name(client: TestClient, name: str) -> None:
    assert client.post("/api/v1/uploads", params={"name": "a/b.txt"}, content=b"x").is_success
    assert client.post("/api/v1/uploads", params={"name": name}, content=b"x").status_code == 409


def test_a_planted_link_in_the_uploads_is_not_followed(
    client: TestClient, opened: Library, outside: Path
) -> None:
    assert isinstance(opened.path, Path)
    folder = opened.path.parent / "library.uploads"
    folder.mkdir()
    (folder / "note.txt").symlink_to(outside)
    (folder / "sub").symlink_to(outside.parent)
    sent = client.post("/api/v1/uploads", params={"name": "note.txt"}, content=b"new")
    assert sent.status_code == 201
    below = client.post("/api/v1/uploads", params={"name": "sub/note.txt"}, content=b"new")
    assert below.status_code == 403
    assert outside.read_text(encoding="utf-8") == "a secret about ships"


def test_an_original_is_one_that_was_brought_in(
    client: TestClient, opened: Library, outside: Path, root: Path
) -> None:
    lines = root / "lines.jsonl"
    lines.write_text(f'{{"id": "evil", "text": "x y", "path": "{outside}"}}\n', encoding="utf-8")
    opened.ingest(lines)
    assert opened.document("evil").path == str(outside)
    assert client.get("/api/v1/originals/evil").status_code == 403
    opened.ingest(outside)
    own = next(
        entry.id for entry in opened.entries() if entry.id != "evil" and "outside" in entry.id
    )
    assert client.get(f"/api/v1/originals/{own}").content == outside.read_bytes()
    outside.unlink()
    outside.symlink_to("/etc/passwd")
    assert client.get(f"/api/v1/originals/{own}").status_code == 403


@pytest.mark.parametrize("name", ["page.html", "drawing.svg", "script.js", "note.txt", "fake.pdf"])
def test_a_download_is_never_shown_as_a_page(
    client: TestClient, opened: Library, root: Path, name: str
) -> None:
    file = root / name
    file.write_text("<html><script>alert(1)</script><p>ships and harbours</p></html>")
    opened.ingest(file)
    found = [entry.id for entry in opened.entries() if entry.path == str(file)]
    for document in found:
        headers = client.get(f"/api/v1/originals/{document}").headers
        assert headers["content-type"] == "application/octet-stream"
        assert headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"
        assert headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in headers["content-security-policy"]
    assert found or name in {"fake.pdf", "script.js", "drawing.svg"}


def test_a_pdf_is_shown_and_does_nothing(client: TestClient, opened: Library, root: Path) -> None:
    """A PDF opens in the browser, so that it can open at a page, under a policy of its own."""
    sample = Path(__file__).parents[3] / "sample_corpus" / "documents"
    pdf = next(sample.rglob("*.pdf"))
    (root / "a.pdf").write_bytes(pdf.read_bytes())
    opened.ingest(root / "a.pdf")
    answer = client.get("/api/v1/originals/a.pdf")
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-disposition"].startswith("inline")
    assert "script-src" not in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_texts_of_documents_are_data(client: TestClient, opened: Library, root: Path) -> None:
    record = '{"id": "<svg onload=x>", "title": "<script>alert(1)</script>", "text": "x"}'
    (root / "evil.jsonl").write_text(record, encoding="utf-8")
    opened.ingest(root / "evil.jsonl")
    answer = client.get("/api/v1/documents/%3Csvg%20onload=x%3E")
    assert answer.json()["title"] == "<script>alert(1)</script>"
    assert answer.headers["content-type"] == "application/json"
    page = client.get("/api/v1/")
    assert "<script" not in page.text
    assert not re.search(r"https?://", page.text)


@pytest.mark.parametrize("chunked", [True, False])
def test_a_body_that_is_too_large_is_refused(
    serve: Callable[..., TestClient], *, chunked: bool
) -> None:
    client = serve(limits=ServeLimits(body_bytes=100, upload_bytes=1000))
    pieces = (b" " * 60 for _ in range(20))
    content: Any = pieces if chunked else b" " * 1200
    answer = client.post("/api/v1/labels", content=content, headers=_JSON)
    assert answer.status_code == 413
    small = client.post("/api/v1/uploads", params={"name": "a.txt"}, content=b" " * 900)
    assert small.status_code == 201
    pieces = (b" " * 60 for _ in range(20))
    content = pieces if chunked else b" " * 1200
    assert (
        client.post("/api/v1/uploads", params={"name": "a.txt"}, content=content).status_code == 413
    )


@pytest.mark.parametrize(
    "query",
    [
        "k=201",
        "offset=10001",
        "k=-1",
        f"q={'x' * 10_001}",
        "k=1&k=2",
        "semantic_weight=nan",
        "&label=x" * 1001,
    ],
)
def test_no_question_is_without_bounds(client: TestClient, query: str) -> None:
    answer = client.get(f"/api/v1/search?{query}")
    assert answer.status_code == 422
    assert answer.json()["errors"]


def test_who_asks_too_often_is_told_to_wait(serve: Callable[..., TestClient]) -> None:
    limits = ServeLimits(requests_per_second=0.001, burst=3)
    other = serve(client=("10.0.0.9", 1), limits=limits)
    answers = [other.get("/static/style.css").status_code for _ in range(5)]
    assert answers == [200, 200, 200, 429, 429]
    own = serve(limits=limits)
    assert {own.get("/static/style.css").status_code for _ in range(5)} == {200}


_FORWARDED = ("10.0.0.9", "127.0.0.1, 10.0.0.9", "10.9.9.9, 10.0.0.9", "10.0.0.9:4711")


@pytest.mark.parametrize("named", _FORWARDED)
def test_a_proxy_says_who_asks(serve: Callable[..., TestClient], named: str) -> None:
    """The last address that is not a proxy's counts, whatever a client claims before it."""
    limits = ServeLimits(requests_per_second=0.001, burst=3)
    client = serve(behind_proxy=("127.0.0.1",), token=_TOKEN, limits=limits)

    def ask(address: str) -> int:
        headers = {"x-forwarded-for": address}
        return client.get("/static/style.css", headers=headers).status_code

    assert [ask("10.0.0.9") for _ in range(3)] == [200] * 3
    assert ask(named) == 429
    assert ask("10.0.0.8") == 200


def test_only_a_proxy_is_believed(serve: Callable[..., TestClient]) -> None:
    limits = ServeLimits(requests_per_second=0.001, burst=1)
    headers = {"x-forwarded-for": "10.0.0.8", "x-forwarded-proto": "https"}
    last = serve(behind_proxy=("127.0.0.1",), token=_TOKEN, limits=limits)
    for client in (
        serve(client=("10.0.0.7", 1), behind_proxy=("127.0.0.1",), token=_TOKEN, limits=limits),
        serve(client=("10.0.0.7", 1), limits=limits),
        last,
    ):
        is_believed = client is last
        assert client.get("/login").status_code == 200
        assert client.get("/login").status_code == 429
        assert client.get("/login", headers=headers).status_code == (200 if is_believed else 429)


def test_cookies_of_an_encrypted_site_stay_encrypted(serve: Callable[..., TestClient]) -> None:
    client = serve(behind_proxy=("10.1.0.0/16",), client=("10.1.2.3", 1), token=_TOKEN)
    headers = {"x-forwarded-for": "10.0.0.8", "x-forwarded-proto": "https"}
    assert client.get("/login", headers=headers).headers["set-cookie"].endswith("; Secure")
    state: Any = client.app.state.lpisearch  # type: ignore[attr-defined]
    assert not state.can_allow_home


def test_a_proxy_needs_a_token_and_an_address(opened: Library) -> None:
    with pytest.raises(server.TokenMissing):
        server.serve(opened, ServeSettings(port=0, behind_proxy=("127.0.0.1",)))
    for wrong in ("*", "proxy.example", ""):
        settings = ServeSettings(port=0, behind_proxy=(wrong,), token=_TOKEN)
        with pytest.raises(lpisearch.LpiSearchError, match="behind_proxy"):
            server.serve(opened, settings)


def test_requests_come_back_with_time() -> None:
    now = [0.0]
    limits = ServeLimits(requests_per_second=1, burst=2)
    load = RateLimitMiddleware(lambda *_: None, limits, lambda: now[0])  # type: ignore[arg-type]
    assert [load._may("10.0.0.9") for _ in range(3)] == [True, True, False]
    now[0] = 1.5
    assert [load._may("10.0.0.9") for _ in range(2)] == [True, False]
    for number in range(20_000):  # more than the table has places
        assert load._may(f"10.1.{number // 256}.{number % 256}")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="several workers need fork")
def test_the_rate_counts_the_requests_to_all_workers() -> None:
    rates, address, taken = RateTable(), "10.0.0.9", 0
    for _ in range(4):
        pid = os.fork()
        if not pid:
            number = sum(rates.take(address, 0.0, 100.0, 1.0) for _ in range(60))
            os._exit(number)
        taken += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert taken == 100


def test_too_many_at_once_are_told_to_come_again(serve: Callable[..., TestClient]) -> None:
    client = serve(limits=ServeLimits(at_once=0))
    answer = client.get("/api/v1/status")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["type"] == "urn:lpisearch:server-busy"
    assert {client.get(path).status_code for path in (HEALTH, READY, METRICS)} == {200}


def test_a_read_only_server_changes_nothing(serve: Callable[..., TestClient]) -> None:
    client = serve(read_only=True)
    writing = [endpoint for endpoint in ENDPOINTS if endpoint.writes]
    assert len(writing) >= 8
    for endpoint in writing:
        path = endpoint.path.replace("{id:path}", "sea/0")
        answer = client.request(endpoint.method, f"/api/v1{path}", headers=_JSON)
        assert (answer.status_code, answer.json()["detail"]) == (403, "This server is read-only.")
    assert client.get("/api/v1/documents/sea/0").status_code == 200


def test_every_endpoint_that_changes_something_says_so() -> None:
    harmless = {"similarToText", "similarToFile", "classify", "classifyFile", "batch", "plan"}
    harmless |= {"marks", "searchEach", "searchVectorStore"}
    jobs = {"evaluate", "dimensions", "stopJob"}
    unmarked = {each.name for each in ENDPOINTS if each.method != "GET" and not each.writes}
    assert unmarked == harmless | jobs
    assert not any(each.writes for each in ENDPOINTS if each.method == "GET")


def test_the_page_of_a_library_names_a_damaged_index(
    serve: Callable[..., TestClient], opened: Library
) -> None:
    assert isinstance(opened.path, Path)
    for vectors in opened.path.parent.rglob("vectors.npy"):
        vectors.write_bytes(b"")
    shown = serve().get("/library")
    assert shown.status_code == 200
    assert "damaged" in shown.text
