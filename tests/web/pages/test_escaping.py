"""Whatever documents hold, on no page is it more than text."""

from html.parser import HTMLParser

import pytest
from starlette.testclient import TestClient

from tests.web.pages.conftest import EVIL

_PLACES = ("href", "src", "action", "hx-get", "hx-post", "formaction", "xlink:href")


class _Looked(HTMLParser):
    """What a browser would make of a page: its elements and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.elements.append((tag, dict(attrs)))


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ("/", {}),
        ("/", {"q": "ship harbour"}),
        ("/", {"q": EVIL}),
        ("/", {"q": "ship", "label": EVIL, "like": f"evil/{EVIL}"}),
        ("/", {"since": EVIL, "folder": EVIL, "format": EVIL, "split": EVIL}),
        ("/why", {"q": f"ship {EVIL}", "id": f"evil/{EVIL}"}),
        ("/why", {"q": EVIL, "id": EVIL}),
        ("/document", {"id": f"evil/{EVIL}", "q": f"ship alert script {EVIL}"}),
        ("/document", {"id": "javascript:alert(5)"}),
        ("/document", {"id": EVIL}),
        ("/map", {"q": EVIL, "id": EVIL, "projection": EVIL, "topics": EVIL}),
        ("/map/place", {"id": f"evil/{EVIL}"}),
        ("/topics", {"n": EVIL}),
        ("/labels", {}),
        ("/library", {}),
    ],
)
def test_texts_stay_texts(page: TestClient, address: str, asked: dict[str, str]) -> None:
    looked = _Looked()
    shown = page.get(address, params=asked).text
    looked.feed(shown)
    for tag, attributes in looked.elements:
        assert tag not in {"img", "iframe", "object", "embed", "b"}, tag
        assert not [name for name in attributes if name.startswith("on")], attributes
        assert "style" not in attributes
        assert not any(
            (attributes.get(place) or "/").strip().lower().startswith(("javascript:", "data:"))
            for place in _PLACES
        )
        if tag == "script":
            assert (attributes["src"] or "").startswith("/static/")
    assert "49" not in shown.split("A ship", 1)[-1][:120]
    assert "\u202e" not in shown


def test_no_inline_script_or_style(page: TestClient) -> None:
    answer = page.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "<style" not in answer.text


def test_titles_on_the_map_are_data(page: TestClient) -> None:
    ids = page.get("/map/data").json()["documents"]
    numbers = ",".join(map(str, range(ids)))
    answer = page.get("/map/documents", params={"at": numbers})
    assert answer.headers["content-type"] == "application/json"
    assert EVIL in [each["title"] for each in answer.json()]
