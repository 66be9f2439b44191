"""The JSON API: forms, problems, marks of answers, and the description."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lpisearch import Library, errors
from lpisearch.model.codec import to_json
from lpisearch.options import SearchOptions
from lpisearch.web.api import ENDPOINTS, described
from lpisearch.web.problems import problem_of, status_of
from tests.unit.web.forms import differences

_API = "/api/v1"


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("documents", {"GET", "HEAD", "DELETE"}),
        ("documents/x", {"GET", "HEAD", "DELETE"}),
        ("jobs/x", {"GET", "HEAD", "DELETE"}),
        ("predicted/forget", {"POST"}),
        ("similar", {"GET", "HEAD", "POST"}),
    ],
)
def test_a_path_says_what_may_be_done(client: TestClient, path: str, methods: set[str]) -> None:
    answer = client.options(f"/api/v1/{path}")
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == methods


def test_no_number_is_larger_than_described(client: TestClient) -> None:
    largest = 2**53 - 1
    assert client.get(f"/api/v1/documents?offset={largest}").status_code == 200
    assert client.get(f"/api/v1/documents?offset={largest + 1}").status_code == 422


def test_the_forms_are_those_of_json(client: TestClient, opened: Library) -> None:
    asked: dict[str, Any] = {
        "q": "ship harbour",
        "k": 3,
        "by": "semantic",
        "explain": "true",
        "facets": "true",
    }
    said = client.get(f"{_API}/search", params=asked).json()
    options = SearchOptions(k=3, by="semantic", explain=True, facets=True)
    ours = to_json(opened.search("ship harbour", options=options))
    assert said == json.loads(json.dumps(ours))


def test_every_answer_is_as_it_is_described(client: TestClient) -> None:
    params: dict[str, Any] = {
        "search": {"q": "ship", "explain": "true", "facets": "true"},
        "similar": {"id": "sea/0"},
        "reason": {"id": "sea/0", "q": "ship"},
        "names": {"kind": "label"},
        "facets": {"split": "test"},
    }
    looked_at = 0
    for endpoint in ENDPOINTS:
        is_json = endpoint.media_type == "application/json"
        if endpoint.method != "GET" or not is_json or not endpoint.tag:
            continue
        path = endpoint.path.replace("{id:path}", "sea/0")
        answer = client.get(f"{_API}{path}", params=params.get(endpoint.name))
        if "{id}" in path:
            assert answer.status_code == 404
            continue
        assert answer.status_code == 200, answer.text
        responses = described()["paths"][_API + endpoint.path.replace(":path", "")]["get"][
            "responses"
        ]
        form = responses["200"]["content"]["application/json"]["schema"]
        assert differences(answer.json(), form) == []
        looked_at += 1
    assert looked_at > 10


def test_nothing_is_sent_twice(client: TestClient, opened: Library) -> None:
    """Who shows the mark of an answer is told that nothing changed, until something has."""
    for path in ("/search?q=ship", "/documents", "/documents/sea/0", "/labels", "/topics"):
        first = client.get(f"{_API}{path}")
        shown = {"if-none-match": f'"other", W/{first.headers["etag"]}'}
        again = client.get(f"{_API}{path}", headers=shown)
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
    mark = client.get(f"{_API}/search?q=ship").headers["etag"]
    assert client.get(f"{_API}/search?q=ship&k=3").headers["etag"] != mark
    opened.label("sea/0", add="wet")
    assert client.get(f"{_API}/search?q=ship", headers={"if-none-match": mark}).status_code == 200


def test_an_answer_is_computed_once(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    library = client.app.state.lpisearch.library  # type: ignore[attr-defined]
    asked: list[str] = []
    search = library.search

    def counted(text: str, **given: Any) -> Any:
        asked.append(text)
        return search(text, **given)

    monkeypatch.setattr(library, "search", counted)
    answers = [client.get(f"{_API}/search?q=harbour").text for _ in range(3)]
    assert len(set(answers)) == len(asked) == 1
    library.label("sea/0", add="wet")
    assert client.get(f"{_API}/search?q=harbour").status_code == 200
    assert len(asked) == 2


def test_a_rebuilt_index_is_taken_up(client: TestClient, opened: Library) -> None:
    before = client.get(f"{_API}/search?q=ship&by=semantic").json()
    opened.index("lsi", dims=2)
    after = client.get(f"{_API}/search?q=ship&by=semantic").json()
    assert before != after
    assert client.get(f"{_API}/status").json()["indexes"][0]["method"] == "lsi"


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("/documents/nothing", 404, "urn:lpisearch:document-not-found"),
        ("/search?q=a&index=other", 404, "urn:lpisearch:index-not-found"),
        ("/search?q=a&label=seas", 422, "urn:lpisearch:bad-option"),
        ("/search?k=many", 422, "urn:lpisearch:invalid-value"),
        ("/jobs/none", 404, "urn:lpisearch:not-found"),
        ("/nothing", 404, "urn:lpisearch:not-found"),
        ("/jobs/ingest", 404, "urn:lpisearch:not-found"),
    ],
)
def test_problems(client: TestClient, path: str, status: int, kind: str) -> None:
    """What goes wrong is a problem as RFC 9457 has it, with the next step where there is one."""
    answer = client.get(f"{_API}{path}")
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert (answer.status_code, said["status"], said["type"]) == (status, status, kind)
    assert said["title"]
    assert said["detail"]
    assert differences(said, "Problem") == []
    if "index" in kind:
        assert said["next"].startswith("POST /api/v1/jobs/index")


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("{", 400),
        ("[" * 100_000, 400),
        ('{"documents": ["\\ud800"]}', 400),
        ('{"documents": [NaN]}', 400),
        ('{"documents": [1]}', 422),
        ('{"documents": ["sea/0"], "sea": 1}', 422),
        ('{"where": {"labels": "sea"}}', 422),
        ("[]", 422),
        ("null", 422),
        ('{"documents": ["a\\u0000b"], "add": ["x"]}', 404),
        ('{"documents": ["sea/0"], "add": [""]}', 422),
    ],
)
def test_bodies(client: TestClient, content: str, status: int) -> None:
    """A body that is no JSON, or not of the form, is refused with the place that is wrong."""
    answer = client.post(
        f"{_API}/labels", content=content, headers={"content-type": "application/json"}
    )
    assert answer.status_code == status, answer.text


def test_the_description_is_whole() -> None:
    said = described()
    assert said["openapi"].startswith("3.1")
    operations = [each for path in said["paths"].values() for each in path.values()]
    names = [each["operationId"] for each in operations]
    assert len(names) == len(set(names)) == sum(bool(one.tag) for one in ENDPOINTS) + 1
    text = json.dumps(said)
    forms = said["components"]["schemas"]
    named = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named <= set(forms)


def test_the_page_of_the_description(client: TestClient) -> None:
    page = client.get(f"{_API}/").text
    for path in described()["paths"]:
        assert path in page
    assert "http://" not in page.replace("http://127.0.0.1:8077", "")
    assert client.get(f"{_API}/openapi.json").json() == json.loads(json.dumps(described()))


def test_every_error_has_a_status() -> None:
    kinds = [each for each in vars(errors).values() if isinstance(each, type)]
    known = [each for each in kinds if issubclass(each, errors.LpiSearchError)]
    damage = {"LibraryDamaged", "DocumentDamaged", "NotALibrary", "IndexDamaged"}
    statuses = {each.__name__: status_of(each.__new__(each)) for each in known}
    away = {"LibraryUnreachable", "LibraryTooNew"}
    own = {"LibraryUnwritable", "AssistantsUnavailable", "AddressRefused", *away}
    assert {name for name, status in statuses.items() if status >= 500} == damage | own
    assert {statuses[name] for name in away} == {503}
    for error in (errors.LibraryTooNew(Path("a.db"), "9"), errors.BadOption("k", "is wrong")):
        said = json.loads(bytes(problem_of(error).body))
        unavailable = isinstance(error, errors.LibraryTooNew)
        assert said["title"] == ("Library unavailable" if unavailable else "Invalid value")


def test_a_library_that_is_not_there_yet(tmp_path: Any) -> None:
    from starlette.testclient import TestClient as Client

    import lpisearch
    from lpisearch.web.server import create_app

    with (
        lpisearch.open(tmp_path / "new.db") as library,
        Client(create_app(library), "http://localhost") as client,
    ):
        for path in ("/status", "/search?q=x", "/documents", "/topics", "/vectors"):
            answer = client.get(f"{_API}{path}")
            assert answer.status_code == 404
            assert answer.json()["next"].startswith("POST /api/v1/jobs/ingest")
