"""The other pages in a browser: a document, the map, jobs; and axe looks at all of them."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import AXE

Opens = Callable[..., Page]

DOCUMENT = "/document?id=baking/pumpernickel-night.md&q=bread+oven"
PAGES = (
    "/",
    "/?q=why+does+my+bread+stay+flat",
    "/?q=zzzzz&by=lexical",
    DOCUMENT,
    "/document/original?id=astronomy/along-the-terminator.html&q=moon",
    "/document/original?id=astronomy/two-minutes-of-night.pdf&q=stubble+field",
    "/why?q=bread&id=baking/pumpernickel-night.md",
    "/map?q=bread",
    "/topics",
    "/labels",
    "/classify",
    "/evaluation",
    "/library",
    "/library/health",
    "/help",
    "/advanced",
    "/settings",
    "/facet?facet=label",
    "/nowhere",
    "/?label=baking&sort=date",
)
_WIDTH = "document.documentElement.scrollWidth"
_RUN = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .map((each) => each.id + ": " + each.nodes.map((node) => node.html.slice(0, 160)).join(" | "))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page: Opens, scheme: str) -> None:
    page = open_page("/help", color_scheme=scheme, bypass_csp=True)
    found: dict[str, Any] = {}
    for address in PAGES:
        page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/")[2] + address)
        page.wait_for_load_state("networkidle")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found[address] = page.evaluate(_RUN)
    assert {address: said for address, said in found.items() if said} == {}


@pytest.mark.parametrize("width", [360, 640, 1280])
def test_nothing_hangs_over(open_page: Opens, width: int) -> None:
    page = open_page("/help", viewport={"width": width, "height": 800}, bypass_csp=True)
    root = page.url.removesuffix("/help")
    wide = {}
    for address in PAGES:
        page.goto(root + address)
        wide[address] = page.evaluate(_WIDTH)
        page.add_style_tag(content="* { letter-spacing: .3em !important }")
        wide[f"{address}, wide letters"] = page.evaluate(_WIDTH)
    assert {address: found for address, found in wide.items() if found > width} == {}


def test_from_match_to_match(open_page: Opens) -> None:
    page = open_page(DOCUMENT)
    page.keyboard.press("n")
    expect(page.locator(".text mark").nth(0)).to_have_class("near here")
    page.get_by_role("button", name="Next match").click()
    expect(page.locator(".text mark.here")).to_have_count(1)
    assert page.locator("#minimap rect").count() > 3
    page.get_by_text("Show on the map").scroll_into_view_if_needed()
    expect(page.locator(".place .here")).to_have_count(1)


def test_the_map_shows_titles_and_takes_a_lasso(open_page: Opens) -> None:
    page = open_page("/map")
    canvas = page.locator("#map[data-ready=yes]")
    expect(canvas).to_be_visible()
    expect(page.locator("#legend button")).to_have_count(8)
    box = canvas.bounding_box()
    assert box is not None
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 5, box["y"] + 60)
    page.mouse.down()
    for x, y in ((0.99, 0.12), (0.99, 0.98), (0.01, 0.98)):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    expect(page.locator("#picked h2")).to_contain_text("Selected")
    assert page.locator("#picked li").count() > 100
    page.locator("#q").fill("bread")
    expect(page.locator("#picked h2")).to_contain_text("Found")
    expect(page).to_have_url(page.url.split("?")[0] + "?q=bread")
    first = page.locator("#picked li a").first
    title = first.inner_text()
    first.click()
    expect(page.locator("h1")).to_have_text(title)


def test_pointing_shows_a_title(open_page: Opens) -> None:
    page = open_page("/map?id=baking/pumpernickel-night.md")
    expect(page.locator("#map[data-ready=yes]")).to_be_visible()
    box = page.locator("#map").bounding_box()
    assert box is not None
    for step in range(400):
        x, y = 0.03 + 0.94 * (step % 25) / 24, 0.12 + 0.8 * (step // 25) / 15
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if page.locator("#map").evaluate("e => e.style.cursor") == "pointer":
            break
    expect(page.locator("#tip")).to_be_visible()
    page.mouse.wheel(0, -300)
    expect(page.locator("#tip")).to_be_hidden()


def test_a_file_is_dropped_and_brought_in(open_page: Opens) -> None:
    page = open_page("/library")
    content = "Quicklime slakes with a hiss. The whitewash of the byre is done in May."
    page.locator("#files").set_input_files(
        {"name": "whitewash.txt", "mimeType": "text/plain", "buffer": content.encode()}
    )
    page.get_by_role("button", name="Add files").click()
    expect(page.locator("#joblist")).to_contain_text("1 added")
    page.goto(page.url.split("/library")[0] + "/?q=quicklime&by=lexical")
    expect(page.locator(".hit")).to_have_count(1)


def test_a_pdf_is_shown_as_it_looks(open_page: Opens) -> None:
    """Its page is an image, on which the boxes of the marks cover the words."""
    page = open_page("/document?id=astronomy/two-minutes-of-night.pdf&q=stubble+field")
    page.get_by_role("link", name="As it looks").click()
    leaf = page.locator("svg.leaf")
    expect(leaf).to_be_visible()
    expect(leaf.locator("rect").first).to_be_visible()
    assert leaf.locator("rect").count() >= 2
    loaded = """async (svg) => { const image = new Image();
      image.src = svg.querySelector("image").href.baseVal; await image.decode();
      return image.naturalWidth; }"""
    assert leaf.evaluate(loaded) == 1400
    page.get_by_text("Text of this page").click()
    expect(page.locator(".leaf-text p")).to_contain_text("stubble field")


def test_a_web_page_is_shown_without_what_runs(open_page: Opens) -> None:
    page = open_page("/document/original?id=astronomy/along-the-terminator.html&q=moon")
    expect(page.locator(".web h2")).to_have_text("Along the terminator")
    assert page.locator(".web mark").count() >= 2
    assert page.locator(".web script, .web style, .web img, .web iframe").count() == 0


def test_settings_are_kept_in_the_browser(open_page: Opens) -> None:
    page = open_page("/settings", viewport={"width": 1400, "height": 900})
    expect(page.get_by_role("radio", name="System")).to_be_checked()
    page.get_by_role("radio", name="Words").check()
    page.get_by_role("radio", name="Dark").check()
    page.get_by_role("checkbox", name="Show a document").uncheck()
    page.get_by_role("checkbox", name="Keyboard shortcuts").uncheck()
    expect(page.locator("#kept")).to_have_text("Saved.")
    page.goto(page.url.replace("/settings", "/"))
    expect(page.get_by_role("radio", name="Words")).to_be_checked()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.locator("#q").fill("bread")
    expect(page).to_have_url(f"{page.url.split('?')[0]}?q=bread&by=lexical")
    page.locator("h1").focus()
    page.locator("#q").blur()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_hidden()
    expect(page.locator("#preview")).to_be_hidden()
