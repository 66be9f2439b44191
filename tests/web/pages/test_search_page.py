"""The search page without a browser: what is asked, what is shown, and what stands in addresses."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from starlette.datastructures import QueryParams
from starlette.testclient import TestClient

import lpisearch
from lpisearch.web.pages.results import Choices
from lpisearch.web.server import create_app
from tests.web.pages.conftest import HERE

PART = {"X-Part": "part"}


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
    assert "X-Part" in shown.headers["Vary"]
    assert shown.headers["Content-Encoding"] == "gzip"
    assert shown.headers["Cache-Control"] == "no-store"


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
    assert "Newest documents" in shown
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


def _shown(text: str) -> list[str]:
    return re.findall(r'class="open" href="/document\?id=([^&"]*)', text)


@pytest.mark.parametrize("sort", ["title", "date", "oldest", "path"])
def test_sorted_pages_repeat_nothing(page: TestClient, sort: str) -> None:
    """All pages of a sorted answer together have each of the counted documents once."""
    seen: list[str] = []
    params: dict[str, str | int] = {"q": "ship harbour", "sort": sort, "alike": "all"}
    for number in (1, 2, 3, 4, 5):
        shown = page.get("/", params=params | {"page": number}, follow_redirects=False)
        seen += _shown(shown.text) if shown.status_code == 200 else []
    total = re.search(r'role="status">(\d+) documents?', page.get("/", params=params).text)
    assert total is not None
    assert len(seen) == len(set(seen)) == int(total[1]) > 10


def test_a_page_beyond_the_last_leads_to_the_last(page: TestClient) -> None:
    shown = page.get("/", params={"q": "ship", "page": "9999"}, follow_redirects=False)
    assert shown.status_code == 303
    assert _shown(page.get(shown.headers["Location"]).text)


def test_typing_never_empties_the_page(page: TestClient) -> None:
    """After each key there are results, or an answer that keeps those before."""
    typed = {"X-Part": "typed"}
    question = "what is the best harbour"
    states = [page.get("/", params={"q": question[:end]}, headers=typed) for end in range(1, 25)]
    assert all(shown.status_code == 204 or _shown(shown.text) for shown in states)
    begun = page.get("/", params={"q": "harbo"}, headers=typed).text
    assert _shown(begun)
    assert "<mark>" in begun
    assert "No document contains" not in begun
    assert "No results" in page.get("/", params={"q": "zzzzqq", "by": "lexical"}).text


def test_values_of_a_facet_stay_when_one_is_chosen(page: TestClient) -> None:
    names = re.findall(r'name="label" value="([^"]*)"', page.get("/", params={"q": "ship"}).text)
    assert len(set(names)) > 1
    chosen = page.get("/", params={"q": "ship", "label": names[0]}).text
    assert set(re.findall(r'name="label" value="([^"]*)"', chosen)) == set(names)


def test_all_values_of_a_facet_can_be_searched(page: TestClient) -> None:
    every = page.get("/facet", params={"facet": "label"})
    assert 'value="sea"' in every.text
    found = page.get("/facet", params={"facet": "label", "find": "SK"}, headers=PART).text
    assert 'value="sky"' in found
    assert 'value="sea"' not in found


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
        folder=("/a b", "/c"),
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


def test_versions_of_a_page_are_one_result(
    own_page: Callable[..., TestClient], tmp_path: Path, folder_of_files: Path
) -> None:
    """A page in several languages is one result, with a link to the others."""
    client = own_page()
    shared = client.app.state.lpisearch  # type: ignore[attr-defined]
    texts = {
        "en": "The lighthouse stands on the cliff, and the keeper who lives there came in 1904.",
        "de": "Der Leuchtturm steht auf der Klippe, und der Wärter, der dort lebt, kam 1904.",
        "fr": "Le phare est sur la falaise, et son gardien qui habite dans la tour vint en 1904.",
    }
    for code, text in texts.items():
        (tmp_path / "guide" / code).mkdir(parents=True)
        (tmp_path / "guide" / code / "keeper.txt").write_text(text, encoding="utf-8")
    shared.library.ingest(tmp_path / "guide", folder_of_files)
    shared.library.index(dims=8)
    asked = {"q": "the keeper of the lighthouse who came in 1904", "by": "lexical"}
    shown = client.get("/", params=asked).text
    assert shown.count("keeper.txt</bdi>") == 1
    assert "2 more versions" in shown
    link = re.findall(r'href="([^"]+)"[^>]*>2 more versions', shown)[0].replace("&amp;", "&")
    assert client.get(link).text.count("keeper.txt</bdi>") == 3


def test_the_first_run_is_no_error(tmp_path: Path) -> None:
    """A library that is not there yet is empty, and leads to the page that fills it."""
    with (
        lpisearch.open(tmp_path / "none.db") as library,
        TestClient(create_app(library), base_url=HERE) as client,
    ):
        for address in ("/", "/?q=boat", "/labels", "/topics"):
            shown = client.get(address).text
            assert "No documents yet" in shown
            assert 'role="alert"' not in shown
            assert 'href="/library">Add documents' in shown
        assert client.get("/library").status_code == 200
        assert client.get("/settings").status_code == 200
