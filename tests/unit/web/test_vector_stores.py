"""A search in the form of vector stores."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from lpisearch import Library
from lpisearch.web.api import described
from tests.unit.web.forms import differences

_PATH = "/api/v1/vector_stores/{id}/search"
_HERE = _PATH.format(id="default")


def _label(*names: str) -> dict[str, Any]:
    return {"type": "in", "key": "label", "value": [*names]}


def test_a_search_in_their_form(client: TestClient, opened: Library) -> None:
    body = {"query": "ship harbour", "max_num_results": 3, "rewrite_query": False}
    page = client.post(_HERE, json=body).json()
    form = described()["paths"][_PATH]["post"]["responses"]["200"]["content"]["application/json"]
    assert differences(page, form["schema"]) == []
    assert page["object"] == "vector_store.search_results.page"
    assert page["search_query"] == ["ship harbour"]
    assert (page["has_more"], page["next_page"]) == (True, None)
    ours = opened.search("ship harbour", k=3)
    assert [(one["file_id"], one["score"]) for one in page["data"]] == [
        (hit.id, pytest.approx(hit.score)) for hit in ours
    ]
    first = page["data"][0]
    assert first["content"] == [{"type": "text", "text": ours[0].snippet.text}]
    assert first["attributes"]["labels"] == "sea"
    assert first["filename"] == "records.jsonl"


_SKY, _SEA = _label("sky"), _label("sea")
_TEST = {"type": "eq", "key": "split", "value": "test"}


@pytest.mark.parametrize(
    ("filters", "topics"),
    [
        (_SKY, {"sky"}),
        ({"type": "eq", "key": "label", "value": "sky"}, {"sky"}),
        ({"type": "or", "filters": [_SKY, _label("sea", "music")]}, {"sky", "sea", "music"}),
        ({"type": "and", "filters": [_SKY, _TEST]}, {"sky"}),
        ({"type": "eq", "key": "path", "value": "kitchen"}, {"kitchen"}),
        ({"type": "eq", "key": "author", "value": "none"}, set()),
        ({"type": "gte", "key": "date", "value": "2999"}, set()),
        (None, {"sky", "sea", "music", "kitchen"}),
    ],
)
def test_filters(client: TestClient, filters: Any, topics: set[str]) -> None:
    body = {"query": ["morning", "letter"], "max_num_results": 50, "filters": filters}
    page = client.post(_HERE, json=body).json()
    assert {one["file_id"].partition("/")[0] for one in page["data"]} == topics
    assert page["has_more"] is False


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"query": 3}, 422),
        ({"query": "a", "max_num_results": 51}, 422),
        ({"query": "a", "max_num_results": 0}, 422),
        ({"query": "a", "filters": {"type": "ne", "key": "label", "value": "sea"}}, 422),
        ({"query": "a", "filters": {"type": "eq", "key": "label", "value": 3}}, 422),
        ({"query": "a", "filters": {"type": "and", "filters": ["label"]}}, 422),
        ({"query": "a", "filters": {"type": "and", "filters": [_SEA, _SKY]}}, 422),
        ({"query": "a", "filters": {"type": "eq", "key": "label", "value": "seas"}}, 422),
        ({"query": "a", "ranking_options": {"score_threshold": "high"}}, 422),
        ({"query": "a", "stream": True}, 422),
    ],
)
def test_what_cannot_be_done_is_refused(
    client: TestClient, body: dict[str, Any], status: int
) -> None:
    refused = client.post(_HERE, json=body)
    assert refused.status_code == status
    assert refused.headers["content-type"] == "application/problem+json"


def test_a_store_is_an_index(client: TestClient, opened: Library) -> None:
    assert client.post(_PATH.format(id="other"), json={"query": "ship"}).status_code == 404
    opened.index(name="other", method="lsi", dims=2)
    assert client.post(_PATH.format(id="other"), json={"query": "ship"}).status_code == 200
    scores = [one["score"] for one in client.post(_HERE, json={"query": "ship"}).json()["data"]]
    some = {"query": "ship", "ranking_options": {"score_threshold": scores[2]}}
    assert len(client.post(_HERE, json=some).json()["data"]) == 3


def test_there_are_no_embeddings(client: TestClient) -> None:
    assert client.post("/api/v1/embeddings", json={"input": "a"}).status_code == 404
