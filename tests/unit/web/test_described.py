"""Requests drawn from the OpenAPI description, sensible and not: none is a defect of the server."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

import lpisearch
from lpisearch.settings.serving import ServeSettings
from lpisearch.web.api import described
from lpisearch.web.app import create_app
from tests.unit.web.forms import differences

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

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


def _values(form: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Draw what a form allows, and now and then what it does not."""
    return st.one_of(_right(form), _right(form), _right(form), _JSON)


def _right(form: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    kind = form.get("type")
    if "anyOf" in form or isinstance(kind, list):
        kinds = form.get("anyOf") or [{**form, "type": each} for each in kind or ()]
        return st.one_of([_right(each) for each in kinds])
    if "enum" in form:
        return st.sampled_from(form["enum"])
    if kind == "object":
        return _objects(form)
    if kind == "array":
        parts = form.get("prefixItems")
        every = st.lists(_values(form.get("items", {})), max_size=3)
        return every if parts is None else st.tuples(*map(_values, parts)).map(list)
    plain: dict[Any, st.SearchStrategy[Any]] = {
        "string": _TEXTS,
        "integer": st.integers(-3, 300) | st.integers(),
        "number": st.floats(0, 2) | st.floats(allow_nan=False),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    return plain.get(kind, _JSON)


def _objects(form: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    known: Mapping[str, Any] = form.get("properties", {})
    required = form.get("required", ())
    return st.fixed_dictionaries(
        {name: _values(known[name]) for name in required},
        optional={name: _values(each) for name, each in known.items() if name not in required},
    )


@st.composite
def _requests(draw: st.DrawFn) -> tuple[str, str, dict[str, Any], Any]:
    """Draw a method, a path, parameters and a body."""
    every = [
        (method, path, operation)
        for path, operations in described()["paths"].items()
        for method, operation in operations.items()
        if operation["operationId"] not in _LONG
    ]
    method, path, operation = draw(st.sampled_from(every))
    params: dict[str, Any] = {}
    for param in operation["parameters"]:
        if not param["required"] and not draw(st.booleans()):
            continue
        value = draw(_values(param["schema"]))
        if param["in"] == "path":
            text = str(value).encode("utf-8", "replace").decode()
            path = re.sub(rf"\{{{param['name']}\}}", lambda _, t=text: quote(t, safe=""), path)  # type: ignore[misc]
        else:
            many = value if isinstance(value, list) else [value]
            params[param["name"]] = [str(each).encode("utf-8", "replace").decode() for each in many]
    body = None
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]
        form = content.get("application/json", {}).get("schema")
        body = draw(st.binary(max_size=200)) if form is None else draw(_values(form))
    return method.upper(), path, params, body


@pytest.fixture(scope="module")
def client(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Return a client of a server that all requests share."""
    folder = tmp_path_factory.mktemp("drawn")
    for file in built.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    with lpisearch.open(folder / "shelf.db") as library:
        library.index(dims=4)
        app = create_app(library, ServeSettings(roots=(folder,)))
        with TestClient(app, "http://127.0.0.1", raise_server_exceptions=False) as made:
            yield made


def _ask(client: TestClient, request: tuple[str, str, dict[str, Any], Any]) -> int:
    """Send a request; return the status, having looked at what came back."""
    method, path, params, body = request
    content, headers = body, {}
    if not isinstance(body, bytes | None):  # what is no JSON, such as Infinity, is sent too
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        headers = {"content-type": "application/json"}
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
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(request=_requests())
def test_no_request_is_a_defect(
    client: TestClient, request: tuple[str, str, dict[str, Any], Any]
) -> None:
    """Sixty requests: each is answered or refused as a problem."""
    _ask(client, request)


@pytest.mark.slow
def test_no_request_of_thousands_is_a_defect(client: TestClient) -> None:
    """Five thousand requests, most of which get through to the library; none is a defect."""
    seen: Counter[int] = Counter()

    @seed(2)
    @settings(
        max_examples=5000,
        deadline=None,
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
    assert seen[200] > 500
    print(dict(sorted(seen.items())))  # noqa: T201 (the count is what docs/web.md states)
