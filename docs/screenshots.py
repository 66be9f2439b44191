"""Take the pictures of the pages and of the terminal again, with the sample corpus.

Run `python docs/screenshots.py [PAGE …]`. Pages need the extra `web`, Playwright and chromium of
Debian (`apt-get install chromium`); their pictures are light, dark and narrow. `terminal` as the
only PAGE draws what the program prints at a pseudo-terminal. All go to docs/images/.
"""

from __future__ import annotations

import io
import os
import pty
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

IMAGES = Path(__file__).parent / "images"
COLOURS = 200
SIZES = {"light": (1280, 800), "dark": (1280, 800), "narrow": (390, 760)}
ADDRESSES = {
    "home": "/",
    "search": "/?q=why+does+my+bread+stay+flat",
    "why": "/?q=why+does+my+bread+stay+flat",
    "document": "/document?id=baking/pumpernickel-night.md&q=bread+oven",
    "original": "/document/original?id=astronomy/two-minutes-of-night.pdf&q=stubble+field",
    "map": "/map",
    "map-lit": "/map?q=something+sweet+from+the+oven&colour=label",
    "topics": "/topics",
    "labels": "/labels",
    "classify": "/classify",
    "evaluation": "/evaluation",
    "library": "/library",
    "advanced": "/advanced",
    "settings": "/settings",
    "help": "/help",
}
TEXT = "my chain slips on the smallest sprocket"


# Pictures of the terminal: columns, and what is typed in a folder with the sample documents.
TERMINALS = {
    "terminal-search": (80, ("ingest letters", "search why does my bread stay flat -k 3")),
    "terminal-narrow": (40, ("search watching a solar eclipse -k 2",)),
    "terminal-help": (80, ("--help",)),
}


def main() -> None:
    """Take the pictures of all pages, or of those that are named."""
    if sys.argv[1:] == ["terminal"]:
        draw_terminals()
        return
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("No chromium here. Next: apt-get install chromium")
    wanted = sys.argv[1:] or list(ADDRESSES)
    IMAGES.mkdir(exist_ok=True)
    with served() as root, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        if "evaluation" in wanted:
            evaluate(browser, root)
        for name in wanted:
            for kind in SIZES:
                take(browser, root, name, kind)
        browser.close()


def draw_terminals() -> None:
    """Draw what the program prints at a terminal."""
    from rich.console import Console
    from rich.text import Text

    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "documents"
        shutil.copytree(IMAGES.parent.parent / "sample_corpus" / "documents", folder / "letters")
        typed(home, folder, "ingest letters", 80)  # so that each picture can search
        for name, (columns, commands) in TERMINALS.items():
            if commands[0].startswith("ingest"):
                (folder / "lpisearch.db").unlink()
                shutil.rmtree(folder / "lpisearch.index")
            console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
            for command in commands:
                console.print(Text(f"$ lpisearch {command}", style="bold"))
                console.print(Text.from_ansi(typed(home, folder, command, columns)))
            svg = console.export_svg(title="lpisearch", clear=False)
            svg = re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL)  # no outside requests
            (IMAGES / f"{name}.svg").write_text(svg, encoding="utf-8")


def typed(home: str, folder: Path, command: str, columns: int) -> str:
    """Return what a command prints at a terminal, progress that was erased left out."""
    keeper, terminal = pty.openpty()
    own = {f"XDG_{kind}_HOME": home for kind in ("CONFIG", "STATE", "CACHE")}
    size = {"COLUMNS": str(columns), "LINES": "100", "TERM": "xterm-256color"}
    environment = os.environ | own | size | {"FORCE_HYPERLINK": "0", "LPISEARCH_PAGER": "cat"}
    running = subprocess.Popen(
        [sys.executable, "-m", "lpisearch", *command.split()],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=folder,
        env=environment,
    )
    os.close(terminal)
    printed = b""
    with suppress(OSError):  # the other end is closed
        while block := os.read(keeper, 65536):
            printed += block
    os.close(keeper)
    if running.wait():
        sys.exit(f"{command}: {printed.decode()}")
    lines: list[str] = []
    for line in printed.decode().replace("\r\n", "\n").split("\n"):
        erased = line.count("\x1b[1A")
        lines = lines[:-erased] if erased else lines
        shown = re.split(r"\r|\x1b\[2K|\x1b\[1A", line)[-1]
        lines.append(re.sub(r"\x1b\[\?25[lh]", "", shown))
    return "\n".join(lines).strip("\n") + "\n"


@contextmanager
def served() -> Iterator[str]:
    """Serve the sample corpus, as `lpisearch serve --demo` does; give the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as state:
        command = [sys.executable, "-m", "lpisearch", "serve", "--demo", "--port", str(port)]
        environment = os.environ | {"XDG_STATE_HOME": state}
        running = subprocess.Popen(command, env=environment)
        try:
            root = f"http://127.0.0.1:{port}"
            for _ in range(600):
                try:
                    urlopen(f"{root}/help").close()  # noqa: S310 (our own server)
                    break
                except OSError:
                    time.sleep(0.2)
            yield root
        finally:
            running.terminate()
            running.wait(60)


def evaluate(browser: Browser, root: str) -> None:
    """Have a report made."""
    page = browser.new_page()
    page.goto(f"{root}/evaluation")
    page.get_by_role("button", name="Evaluate").click()
    page.locator("section[aria-label=Report]").wait_for(timeout=600_000)
    page.close()


def take(browser: Browser, root: str, name: str, kind: str) -> None:
    """Take one picture."""
    width, height = SIZES[kind]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if kind == "dark" else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(f"{root}{ADDRESSES[name]}")
    page.wait_for_load_state("networkidle")
    prepare(page, name)
    page.wait_for_timeout(400)
    path = IMAGES / f"{name}-{kind}.png"
    path.write_bytes(small(page.screenshot()))
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    context.close()


def prepare(page: Page, name: str) -> None:
    """Do what the picture is to show."""
    if name == "why":
        page.get_by_text("Why this result").first.click()
        page.locator(".why").first.wait_for()
        page.locator(".hit").first.evaluate("hit => scrollTo(0, hit.offsetTop - 70)")
    if name.startswith("map"):
        page.locator("#map[data-ready=yes]").wait_for(timeout=120_000)
        page.wait_for_timeout(500)
    if name == "document":
        page.get_by_role("heading", name="On the map").scroll_into_view_if_needed()
        page.locator(".place").wait_for(timeout=120_000)
        page.evaluate("scrollTo(0, 0)")
    if name == "classify":
        page.locator("#text").fill(TEXT)
        page.get_by_role("button", name="Classify").click()
        page.locator("table.sums").wait_for()


def small(png: bytes) -> bytes:
    """Give a picture fewer colours, so that it stays small."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    few = picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    main()
