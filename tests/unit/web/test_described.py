"""Requests drawn from the OpenAPI description, sensible and not: none is a defect of the server."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

import lpisearch
from lpisearch.options import ServeSettings
from lpisearch.web.api import described
from lpisearch.web.server import create_app
from tests.unit.web.forms import differences

_KNOWN = [
    *("sea/0", "sky/2", "sea", "kitchen", "test", "default", "ship harbour", "lsi", "rlpi"),
    *("2024", "2024-05-31", "KEY=VALUE", '"a phrase" -word begin* title:x OR y', "folder"),
    *("..", "../../etc/passwd", "/etc/passwd", "%2e%2e%2f", "\0", "'; DROP TABLE documents; --"),
    *("<script>", "javascript:1", "\u202e", "\ufeff", "😀", "x" * 1500, "*", "[", "(((", '"'),
    *("application/pdf", "spca", "all", "classify", "retrieval", "svm", "english", "auto"),
]
# What takes seconds and more when it is asked in earnest, or ends what another drew.
_LONG = {"topics"}
_TEXTS = st.one_of(st.sampled_from(_KNOWN), st.text(max_size=40))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)


def _values(form: Mapping[str, Any], *, wild: bool) -> st.SearchStrategy[Any]:
    """Draw what a form allows; where it is wild, now and then what it does not."""
    right = _right(form, wild=wild)
    return st.one_of(right, right, right, _JSON) if wild else right


def _right(form: Mapping[str, Any], *, wild: bool) -> st.SearchStrategy[Any]:
    kind = form.get("type")
    if "anyOf" in form or isinstance(kind, list):
        kinds = form.get("anyOf") or [{**form, "type": each} for each in kind or ()]
        return st.one_of([_right(each, wild=wild) for each in kinds])
    if "enum" in form:
        return st.sampled_from(form["enum"])
    if kind == "object":
        return _objects(form, wild=wild)
    if kind == "array":
        parts = form.get("prefixItems")
        if parts is not None:
            return st.tuples(*(_values(part, wild=wild) for part in parts)).map(list)
        return st.lists(_values(form.get("items", {}), wild=wild), max_size=3)
    least, most = form.get("minimum", -3), form.get("maximum", 300)
    plain: dict[Any, st.SearchStrategy[Any]] = {
        "string": _TEXTS,
        "integer": st.integers(least, most),
        "number": st.floats(max(least, 0), min(most, 2)),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    if wild:
        plain["integer"] |= st.integers()
        plain["number"] |= st.floats(allow_nan=False)
    return plain.get(kind, _JSON)


def _objects(form: Mapping[str, Any], *, wild: bool) -> st.SearchStrategy[dict[str, Any]]:
    drawn = {name: _values(each, wild=wild) for name, each in form.get("properties", {}).items()}
    required = {name: drawn.pop(name) for name in form.get("required", ())}
    return st.fixed_dictionaries(required, optional=drawn)


def _requests_of(
    method: str, path: str, operation: Mapping[str, Any], *, wild: bool
) -> st.SearchStrategy[tuple[str, str, dict[str, Any], Any]]:
    """Draw requests of one operation: method, path, parameters and body."""
    every = operation["parameters"]
    drawn = {each["name"]: _values(each["schema"], wild=wild) for each in every}
    in_path = {each["name"] for each in every if each["in"] == "path"}
    needed = {each["name"]: drawn.pop(each["name"]) for each in every if each["required"]}
    body: st.SearchStrategy[Any] = st.none()
    if "requestBody" in operation:
        form = operation["requestBody"]["content"].get("application/json", {}).get("schema")
        body = st.binary(max_size=200) if form is None else _values(form, wild=wild)

    def put(drawn: tuple[dict[str, Any], Any]) -> tuple[str, str, dict[str, Any], Any]:
        values, sent = drawn
        whole = path
        for name in in_path:
            whole = whole.replace(f"{{{name}}}", quote(_text(values[name]), safe=""))
        params = {
            name: [_text(each) for each in (value if isinstance(value, list) else [value])]
            for name, value in values.items()
            if name not in in_path
        }
        return method.upper(), whole, params, sent

    return st.tuples(st.fixed_dictionaries(needed, optional=drawn), body).map(put)


def _text(value: object) -> str:
    return str(value).encode("utf-8", "replace").decode()


def _requests() -> st.SearchStrategy[tuple[str, str, dict[str, Any], Any]]:
    """Draw requests of any operation; a third may hold what the description forbids."""
    return st.one_of(
        [
            _requests_of(method, path, operation, wild=wild)
            for path, operations in described()["paths"].items()
            for method, operation in operations.items()
            if operation["operationId"] not in _LONG
            for wild in (False, False, True)
        ]
    )


@pytest.fixture(scope="module")
def client(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Return a client of a server that all requests share."""
    folder = tmp_path_factory.mktemp("drawn")
    for file in built.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    with lpisearch.open(folder / "library.db") as library:
        library.index(dims=4)
        app = create_app(library, ServeSettings(roots=(folder,)))
        with TestClient(
            app, "http://127.0.0.1", client=("127.0.0.1", 1), raise_server_exceptions=False
        ) as made:
            yield made


def _ask(client: TestClient, request: tuple[str, str, dict[str, Any], Any]) -> int:
    """Send a request; return the status, having looked at what came back."""
    method, path, params, body = request
    content, headers = body, {}
    if not isinstance(body, bytes | None):  # what is no JSON, such as Infinity, is sent too
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        headers = {"content-type": "application/json"}
    client.cookies.clear()  # of a browser, whose every change would need the token of a page
    answer = client.request(method, path, params=params, content=content, headers=headers)
    assert answer.status_code < 500, (request, answer.text)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json", request
        assert differences(answer.json(), "Problem") == []
    elif answer.headers["content-type"] == "application/json":
        answer.json()
    jobs = client.app.state.lpisearch.jobs  # type: ignore[attr-defined]
    for job in jobs.all():  # what is begun need not be finished, or all others would wait
        if job.is_under_way:
            jobs.stop(job.id)
    return answer.status_code


@seed(1)
@settings(max_examples=60, suppress_health_check=list(HealthCheck), database=None)
@given(request=_requests())
def test_no_request_is_a_defect(
    client: TestClient, request: tuple[str, str, dict[str, Any], Any]
) -> None:
    _ask(client, request)


@pytest.mark.slow
def test_no_request_of_thousands_is_a_defect(client: TestClient) -> None:
    seen: Counter[int] = Counter()

    @seed(2)
    @settings(
        max_examples=5000,
        suppress_health_check=list(HealthCheck),
        database=None,
        phases=[Phase.generate],  # the first defect will do
    )
    @given(request=_requests())
    def run(request: tuple[str, str, dict[str, Any], Any]) -> None:
        seen[_ask(client, request)] += 1
        if seen.total() % 500 == 0:
            print(seen.total(), dict(sorted(seen.items())), flush=True)  # noqa: T201 (it takes long)

    run()
    assert sum(seen.values()) >= 5000
    assert max(seen) < 500
    assert seen[200] > 300  # a removal by filters may leave few documents
    print(dict(sorted(seen.items())))  # noqa: T201 (the count is what docs/serving.md states)
