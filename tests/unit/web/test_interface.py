"""What programs of others rely on: pages, names, units, origins, keys, generated clients."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from lpisearch.web.api import described

_API = "/api/v1"
_TOKEN, _READER = "t" * 16, "r" * 16


def test_next_leads_through_all_results(client: TestClient) -> None:
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        params = {"q": "ship", "limit": "3", "offset": str(offset), "sort": "title"}
        answer = client.get(f"{_API}/search", params=params).json()
        seen += [hit["id"] for hit in answer["hits"]]
        offset = answer["next"]
    assert len(seen) == len(set(seen)) == answer["total"] > 3


def test_limit_is_one_word_and_its_older_names_are_read(client: TestClient) -> None:
    ids = [
        [hit["id"] for hit in client.get(f"{_API}/search", params=params).json()["hits"]]
        for params in ({"q": "ship", "limit": "2"}, {"q": "ship", "k": "2"})
    ]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 2
    assert (
        client.get(f"{_API}/search", params={"q": "a", "k": "2", "limit": "2"}).status_code == 422
    )
    named = {
        parameter["name"]
        for path in described()["paths"].values()
        for operation in path.values()
        for parameter in operation["parameters"]
    }
    assert "limit" in named
    assert not {"k", "most"} & named
    assert {"label", "folder", "format", "language", "sender", "undated"} <= named


def test_filters_are_named_as_on_the_page(client: TestClient) -> None:
    for params in ({"format": ["text", "pdf"]}, {"folder": "sea"}, {"language": "english"}):
        total = client.get(f"{_API}/facets", params=params).json()["total"]
        page = client.get("/", params=params).text
        assert f'role="status">{total} document' in page


def test_an_empty_query_is_invalid(client: TestClient) -> None:
    for query in ("", "?q=", "?q=%20"):
        problem = client.get(f"{_API}/search{query}")
        assert problem.status_code == 422
        assert problem.json()["type"] == "urn:lpisearch:invalid-value"
        assert problem.json()["errors"][0]["field"] == "q"


def test_several_queries_in_one_request(client: TestClient) -> None:
    queries = [{"id": "1", "text": "ship"}, {"id": "2", "text": "bread"}]
    sent = {"queries": queries, "options": {"k": 2}}
    answers = client.post(f"{_API}/search", json=sent).json()["answers"]
    for one in queries:
        alone = client.get(f"{_API}/search", params={"q": one["text"], "limit": "2"}).json()
        assert answers[one["id"]] == alone
    assert client.post(f"{_API}/search", json={"queries": []}).status_code == 422


def test_marks_count_code_points_or_utf16_units(client: TestClient) -> None:
    sent = {"text": "ship", "parts": ["\U0001f6a2 a ship"]}
    for units, mark in (("codepoints", [4, 8]), ("utf16", [5, 9])):
        marks = client.post(f"{_API}/marks", json=sent | {"units": units}).json()["marks"]
        assert [marks[0][0]["start"], marks[0][0]["end"]] == mark
    for units in ("codepoints", "utf16"):
        answer = client.get(f"{_API}/search", params={"q": "ship", "units": units})
        assert answer.json()["hits"][0]["marks"]


def test_an_allowed_origin_may_use_the_api(serve: Callable[..., TestClient]) -> None:
    client = serve(cors=("https://app.example",))
    mine = {"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site"}
    answer = client.get(f"{_API}/search", params={"q": "ship"}, headers=mine)
    assert answer.headers["Access-Control-Allow-Origin"] == "https://app.example"
    asked = client.options(f"{_API}/labels", headers=mine)
    assert asked.status_code == 204
    assert "Authorization" in asked.headers["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in asked.headers
    other = mine | {"Origin": "https://other.example"}
    for refused in (
        client.get(f"{_API}/search", params={"q": "ship"}, headers=other),
        client.get("/", headers=mine),
    ):
        assert "Access-Control-Allow-Origin" not in refused.headers
    sent = {"documents": ["sea/0"], "add": ["seen"]}
    assert client.post(f"{_API}/labels", json=sent, headers=mine).status_code == 200
    assert client.post(f"{_API}/labels", json=sent, headers=other).status_code == 403


def test_a_key_may_only_read(serve: Callable[..., TestClient]) -> None:
    client = serve(token=_TOKEN, read_token=_READER)
    reader = {"Authorization": f"Bearer {_READER}"}
    assert client.get(f"{_API}/search", params={"q": "ship"}, headers=reader).status_code == 200
    several = {"queries": [{"id": "1", "text": "ship"}]}
    assert client.post(f"{_API}/search", json=several, headers=reader).status_code == 200
    for method, path in (("POST", "/labels"), ("POST", "/jobs/index"), ("DELETE", "/documents/x")):
        refused = client.request(method, f"{_API}{path}", headers=reader)
        assert refused.status_code == 403
        assert refused.json()["type"] == "urn:lpisearch:not-allowed"
    assert client.post("/library/index", headers=reader).status_code == 403
    assert client.post("/login", data={"token": _READER}).status_code in {401, 403}
    wrong = {"Authorization": "Bearer " + "x" * 16}
    assert client.get(f"{_API}/status", headers=wrong).status_code == 401


def test_operations_have_tags_and_bodies_have_examples() -> None:
    operations = [one for path in described()["paths"].values() for one in path.values()]
    tags = {one["name"] for one in described()["tags"]}
    assert all(set(one["tags"]) <= tags and one["tags"] for one in operations)
    bodies = [one["requestBody"]["content"] for one in operations if "requestBody" in one]
    files = [
        body["application/octet-stream"]
        for body in bodies
        if len(body) and "application/octet-stream" in body
    ]
    assert files
    assert all(one["schema"] == {"type": "string", "format": "binary"} for one in files)
    assert sum("example" in body.get("application/json", {}) for body in bodies) >= 6


def test_a_generated_python_client_runs(client: TestClient, tmp_path: Path) -> None:
    """The client that openapi-python-client writes is complete, uploads included."""
    program = shutil.which("openapi-python-client")
    if program is None:
        pytest.skip("pipx install openapi-python-client")
    file, target = tmp_path / "openapi.json", tmp_path / "made"
    file.write_text(json.dumps(client.get(f"{_API}/openapi.json").json()), encoding="utf-8")
    command = [program, "generate", "--path", str(file), "--output-path", str(target)]
    command += ["--meta", "none"]
    made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert made.returncode == 0, made.stdout + made.stderr
    # It reads no JSON Lines; of nothing else it warns.
    warned = [line for line in (made.stdout + made.stderr).splitlines() if "WARNING" in line]
    assert [line for line in warned if "/api/v1/export" not in line] == []
    names = {path.stem for path in target.rglob("*.py")}
    assert {"search", "search_each", "upload", "similar_to_file"} <= names
    python = Path(program).resolve().with_name("python")
    run = [python if python.exists() else sys.executable, "-c", _USE]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    used = subprocess.run(run, capture_output=True, text=True, check=False, env=environment)
    assert used.returncode == 0, used.stderr


_USE = """
from inspect import signature
from made import Client
from made.api.search import search
from made.api.jobs import upload
from made.models import Answer
assert {"q", "limit", "folder", "units"} <= signature(search.sync).parameters.keys()
assert {"name", "body"} <= signature(upload.sync).parameters.keys()
answer = {"by": "hybrid", "hits": [], "notes": [], "suggestions": [], "total": 0, "next": None}
assert Answer.from_dict(answer).total == 0
Client(base_url="http://127.0.0.1:1")
"""


def test_generated_types_compile(client: TestClient, tmp_path: Path) -> None:
    """TypeScript accepts the types that openapi-typescript writes, and a use of them."""
    program, compiler = shutil.which("openapi-typescript"), shutil.which("tsc")
    if program is None or compiler is None:
        pytest.skip("npm install --global openapi-typescript typescript")
    file, types = tmp_path / "openapi.json", tmp_path / "api.d.ts"
    file.write_text(json.dumps(client.get(f"{_API}/openapi.json").json()), encoding="utf-8")
    subprocess.run([program, file, "--output", types], check=True, capture_output=True, timeout=300)
    use = tmp_path / "use.ts"
    use.write_text(
        'import type { paths } from "./api";\n'
        'type Get = paths["/api/v1/search"]["get"];\n'
        'type Answer = Get["responses"][200]["content"]["application/json"];\n'
        "export const next = (answer: Answer): number | null | undefined => answer.next;\n"
        'type Upload = paths["/api/v1/uploads"]["post"]["requestBody"]["content"];\n'
        'export const bytes: Upload["application/octet-stream"] = "";\n',
        encoding="utf-8",
    )
    command = [compiler, "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", str(use)]
    compiled = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stdout
