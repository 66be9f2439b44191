"""A person searches: typing, filters, keys, back and forward, with and without scripts."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

Opens = Callable[..., Page]

QUESTION = "why does my bread stay flat"


def test_answers_as_you_type(open_page: Opens) -> None:
    page = open_page()
    page.locator("#q").press_sequentially(QUESTION, delay=15)
    expect(page.locator(".hit h2").first).to_have_text("Too long in the basket")
    expect(page).to_have_url(f"{page.url.split('?')[0]}?q={QUESTION.replace(' ', '+')}")
    expect(page).to_have_title(f"{QUESTION} – lpisearch")
    assert page.locator("#q").input_value() == QUESTION
    page.go_back()
    expect(page.locator("#q")).to_have_value("")
    page.go_forward()
    expect(page.locator("#q")).to_have_value(QUESTION)
    expect(page.locator(".hit h2").first).to_have_text("Too long in the basket")


def test_results_stay_while_typing(open_page: Opens) -> None:
    """No state between the keys of a question is empty."""
    page = open_page()
    page.evaluate("""() => { window.least = Infinity; setInterval(() => {
      window.least = Math.min(window.least, document.querySelectorAll('.hit').length); }, 5); }""")
    page.locator("#q").press_sequentially("what is the best bread oven", delay=110)
    expect(page.locator("#answer")).not_to_have_class("answer stale")
    assert page.evaluate("window.least") > 0
    page.locator("#q").fill("zzzzzq")
    expect(page.locator(".empty h2")).to_have_text("No results")


def test_keys_wait_for_the_answer_under_way_alone(open_page: Opens) -> None:
    """The first key asks at once; those after it ask together, in its place."""
    page = open_page("/?q=warm")
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url.rsplit("q=")[-1])
        if len(asked) > 1:  # the first answer never comes
            route.continue_()

    page.route("**/?q=*", answer)
    with page.expect_request("**/?q=b"):
        page.locator("#q").fill("b")
    page.evaluate("""() => { const field = document.querySelector("#q");
      for (const text of ["br", "bread o", "bread oven"]) {
        field.value = text;
        field.dispatchEvent(new Event("input", { bubbles: true }));
      } }""")
    expect(page).to_have_url(re.compile("q=bread"))
    expect(page.locator("#answer")).not_to_have_class("answer stale")
    assert asked[:2] == ["b", "bread+oven"]


def test_a_result_is_previewed(open_page: Opens) -> None:
    """Beside the results stands the text of the chosen one, scrolled to its passage."""
    page = open_page("/?q=bread", viewport={"width": 1400, "height": 900})
    expect(page.locator("#preview h2")).to_have_text(page.locator(".hit h2").first.inner_text())
    page.locator("#q").press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = page.locator(".hit").nth(1)
    expect(second.locator("h2 a")).to_be_focused()
    expect(page.locator("#preview h2")).to_have_text(second.locator("h2").inner_text())
    expect(page.locator("#preview mark").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".around")).to_contain_text("result 2 of")
    page.keyboard.press("[")
    expect(page.locator(".around")).to_contain_text("result 1 of")


def test_why_opens_and_closes(open_page: Opens) -> None:
    page = open_page("/?q=bread")
    link = page.locator(".ask-why").first
    link.click()
    expect(page.locator(".why")).to_have_count(1)
    link.click()
    expect(page.locator(".why")).to_have_count(0)


def test_the_palette_goes_to_pages(open_page: Opens) -> None:
    page = open_page("/")
    page.keyboard.press("Control+k")
    page.keyboard.type("topics")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Topics")


def test_few_tabs_lead_to_the_first_result(open_page: Opens) -> None:
    page = open_page("/?q=bread")
    page.locator("#q").focus()
    reached = []
    for _ in range(6):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.matches('.hit h2 a')"))
    assert any(reached)


def test_filters_and_the_way_of_ranking(open_page: Opens) -> None:
    page = open_page("/?q=water")
    page.get_by_label("gardening").first.check()
    expect(page.locator(".chosen a")).to_have_text("gardening")
    page.get_by_role("radio", name="Words").check()
    page.locator("select[name=sort]").select_option("title")
    expect(page).to_have_url(
        f"{page.url.split('?')[0]}?q=water&by=lexical&sort=title&label=gardening"
    )
    titles = page.locator(".hit h2").all_inner_texts()
    assert titles == sorted(titles, key=str.casefold)
    page.reload()
    expect(page.get_by_label("gardening").first).to_be_checked()
    page.locator(".chosen a").click()
    expect(page.locator(".chosen a")).to_have_count(0)


def test_keys(open_page: Opens) -> None:
    """`/` leads to the field, j and k through the hits, w says why, Enter opens, ? helps."""
    page = open_page("/?q=bread")
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("j")
    expect(page.locator(".hit").nth(1).locator("h2 a")).to_be_focused()
    page.keyboard.press("w")
    expect(page.locator(".hit").nth(1).locator(".why")).to_contain_text("How the score adds up")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_hidden()
    title = page.locator(".hit h2").nth(1).inner_text()
    page.locator(".hit h2 a").nth(1).focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(title)


def test_without_scripts(open_page: Opens) -> None:
    """The form, the filters, feedback and pages work in a browser that runs nothing."""
    page = open_page("/", java_script_enabled=False)
    page.locator("#q").fill("bread")
    page.locator(".searchbar button").click()
    assert "q=bread" in page.url
    page.get_by_label("baking").first.check()
    page.locator("noscript button").click()
    assert "label=baking" in page.url
    page.get_by_text("More like this").first.click()
    assert "like=" in page.url
    assert "more like" in page.locator(".chosen").inner_text()
    page.get_by_text("Why this result").first.click()
    assert "How the score adds up" in page.locator("main").inner_text()


def test_theme_is_kept(open_page: Opens) -> None:
    page = open_page("/", color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.locator("#theme").click()
    assert page.evaluate(ground) != light
    page.goto(page.url + "help")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_right_to_left(open_page: Opens) -> None:
    page = open_page("/")
    page.locator("#q").fill("לחם שמרים")
    assert page.locator("#q").evaluate("e => getComputedStyle(e).direction") == "rtl"
