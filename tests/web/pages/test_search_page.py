"""The search page without a browser: what is asked, what is shown, and what stands in addresses."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest
from starlette.datastructures import QueryParams
from starlette.testclient import TestClient

from lpisearch.web.pages.results import Choices

PART = {"HX-Request": "true"}


def test_a_question_is_answered_without_a_script(page: TestClient) -> None:
    shown = page.get("/", params={"q": "ship harbour"})
    assert shown.status_code == 200
    assert shown.text.startswith("<!doctype html>")
    assert 'value="ship harbour"' in shown.text
    assert shown.text.count('<li class="hit">') == 10
    assert re.search(r"<mark>[^<]*(ship|harbour)[^<]*</mark>", shown.text)
    assert 'name="label" value="sea"' in shown.text
    assert '<svg class="histogram"' in shown.text


def test_a_script_gets_the_part_that_changes(page: TestClient) -> None:
    shown = page.get("/", params={"q": "ship", "sort": "relevance", "split": ""}, headers=PART)
    assert shown.text.lstrip().startswith('<div class="answer"')
    assert shown.headers["HX-Push-Url"] == "/?q=ship"
    assert shown.headers["Vary"] == "HX-Request"
    assert shown.headers["Cache-Control"] == "no-store"


def test_a_page_that_history_brings_back_is_whole(page: TestClient) -> None:
    headers = PART | {"HX-History-Restore-Request": "true"}
    assert page.get("/", params={"q": "ship"}, headers=headers).text.startswith("<!doctype html>")


def test_a_misspelt_word_is_corrected_with_a_way_back(page: TestClient) -> None:
    shown = page.get("/", params={"q": "harbuor"}).text
    assert "Showing results for <b><bdi>harbour</bdi></b>" in shown
    assert '<a href="/?q=harbuor&amp;literal=1"><bdi>harbuor</bdi></a>' in shown
    literal = page.get("/", params={"q": "harbuor", "literal": "1"}).text
    assert "Showing results" not in literal
    assert "harbour</bdi></a>" in literal  # as a suggestion


def test_near_words_are_told_from_words(page: TestClient) -> None:
    shown = page.get("/", params={"q": "anchor", "by": "semantic"}).text
    assert '<mark class="near"' in shown


def test_nothing_asked_lists_the_library(page: TestClient) -> None:
    shown = page.get("/").text
    assert "47 documents" in shown
    assert "Why this result" not in shown


@pytest.mark.parametrize(
    ("asked", "total"),
    [
        ({"label": "sea"}, "12 documents"),
        ({"split": "test"}, "8 documents"),
        ({"since": "2022", "until": "2022"}, " document"),
        ({"format": "text/plain"}, "documents"),
        ({"label": ["sea", "sky"]}, "22 documents"),
    ],
)
def test_facets_narrow(page: TestClient, asked: dict[str, str], total: str) -> None:
    """Each facet narrows the listing, and can be taken away again."""
    shown = page.get("/", params=asked).text
    assert total in shown
    assert "Remove this filter" in shown


def test_pages_and_sorts(page: TestClient) -> None:
    first = page.get("/", params={"q": "ship", "by": "lexical", "sort": "title"}).text
    assert re.search(r'href="/\?q=ship&amp;by=lexical&amp;sort=title&amp;page=2"', first)
    second = page.get("/", params={"q": "ship", "by": "lexical", "page": 2}).text
    assert re.search(r'aria-current="page">2<', second)


def test_trouble_is_said(page: TestClient) -> None:
    for asked in ({"q": "ship", "label": "nothing"}, {"q": "ship", "since": "yesterday"}):
        shown = page.get("/", params=asked)
        assert shown.status_code == 200
        assert 'role="alert"' in shown.text


def test_more_and_less_like_a_hit(page: TestClient) -> None:
    shown = page.get("/", params={"q": "ship", "like": "sea/0", "unlike": "sky/2"}).text
    assert "more like “sea/0”" in shown
    assert "less like “sky/2”" in shown
    assert 'name="like" value="sea/0" form="search"' in shown


def test_why_a_hit_is_one(page: TestClient) -> None:
    asked = {"q": "ship anchor", "id": "sea/0"}
    whole = page.get("/why", params=asked).text
    assert "How the score adds up" in whole
    assert "BM25" in whole
    assert "all other pairs" in whole
    part = page.get("/why", params=asked, headers=PART).text
    assert part.lstrip().startswith('<div class="why">')
    assert page.get("/why", params={"q": "x", "id": "no such"}).status_code == 404


def test_an_address_holds_all_that_is_asked() -> None:
    asked = Choices(
        q="sea & sky",
        by="semantic",
        sort="date",
        label=("a", "b=c"),
        split="x",
        folder="/a b",
        since="2020",
        like=("one",),
        page=3,
    )
    again = Choices.of(QueryParams(urlsplit(asked.address()).query))
    assert again == asked
    assert dict(parse_qsl(urlsplit(asked.address(q="y")).query)).get("page") is None


@pytest.mark.parametrize(
    "query",
    [
        "page=0",
        "page=-1",
        "page=99999999999999999999",
        "page=%D9%A3",
        "by=none",
        "sort=none",
        "q=%00%00",
        "q=%ff%fe",
        "label=" + "&label=".join("x" * 5 for _ in range(300)),
        "like=no%20such%20document",
        "q=%22unclosed",
        "q=" + "a" * 20_000,
    ],
)
def test_addresses_that_mean_nothing(page: TestClient, query: str) -> None:
    assert page.get(f"/?{query}").status_code == 200
    assert page.get(f"/why?{query}").status_code in {200, 404, 409}
