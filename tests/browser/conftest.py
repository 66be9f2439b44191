"""A server of the sample corpus in a thread, and a browser that looks at it."""

from __future__ import annotations

import shutil
import socket
import time
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

import lpisearch
from lpisearch.location import shipped_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Page

    from lpisearch.library import Library

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests here, and let one worker do them: they share a server and a browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def sample_library(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Iterator[Library]:
    """Return the sample corpus with an index."""
    folder = tmp_path_factory.mktemp("browser") / "demo"
    shutil.copytree(sample.parent, folder)
    with lpisearch.open(folder / "library.db") as library:
        yield library


@pytest.fixture(scope="session")
def server(sample_library: Library) -> Iterator[str]:
    """Return the address of a server of it."""
    uvicorn = pytest.importorskip("uvicorn", reason="the extra `web` is not installed")
    from lpisearch.options import ServeSettings
    from lpisearch.web.server import create_app

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = ServeSettings(port=port, roots=(shipped_folder("sample_corpus"),))
    app = create_app(sample_library, settings)
    # Websockets are not served; their library would only warn.
    config = uvicorn.Config(app, port=port, log_level="error", ws="none")
    running = uvicorn.Server(config)
    thread = Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join(20)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return chromium; without it, or without Playwright, the test is skipped."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("no chromium here: apt-get install chromium")
    sync_api.expect.set_options(timeout=30_000)
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


def _is_trouble(said: ConsoleMessage) -> bool:
    return said.type == "error" and "404 (Not Found)" not in said.text


@pytest.fixture
def open_page(browser: Browser, server: str) -> Iterator[Callable[..., Page]]:
    """Return what opens an address in a browser of its own; nothing may go wrong on its console."""
    opened: list[Any] = []
    troubles: list[str] = []

    def listen(said: ConsoleMessage) -> None:
        if _is_trouble(said):
            troubles.append(said.text)

    def visit(address: str = "/", **traits: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | traits)
        opened.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", listen)
        page.goto(f"{server}{address}")
        return page

    yield visit
    for context in opened:
        context.close()
    assert troubles == []
