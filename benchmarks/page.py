"""Latency of the page, from a key press to the results on screen, and of the map.

`python benchmarks/page.py [LIBRARY.db]` needs the extra `web`, Playwright and Debian's chromium.
Without a library it makes one of 20,000 documents of the public collections next to the project.
Questions are typed at a key every 110 ms. Printed are the median, the 95 % quantile and the most
of the time from the last key to the paint of its results, also after 20 s of thought before the
last word; the processor time of the server, and that of a page without a search in the same run;
the answers without results on the way, and the memory of the server, also after 2,000 searches;
then frames of a map of 100,000 points that is dragged and zoomed.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import numpy as np

from benchmarks import arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, CDPSession, Page

DATA = Path(__file__).parents[2] / "shared" / "data"
DOCUMENTS = 20_000
POINTS, TOPICS = 100_000, 24
QUESTIONS = (
    "how do I mount a network drive",
    "what is the best file system",
    "why does my cron job not run",
    "convert image to another format",
    "add a user to a group",
    "restore a database from a backup",
)
KEY_MS, PAUSE_MS = 110, 20_000
REPEATS, PAUSES = 5, 1
SEARCHES = 2000
QUERIES = Path(__file__).with_name("folder_queries.tsv")
# From a key to the paint after the answer was put in its place: two frames later it is seen.
_WATCH = """() => {
  window.keys = []; window.seen = []; window.empty = 0;
  const field = document.querySelector("#q");
  field.addEventListener("input", () => { window.keys.push(performance.now()); });
  document.addEventListener("lpisearch:answer", () => {
    const asked = new URLSearchParams(location.search).get("q") ?? "";
    if (!document.querySelector(".hit")) window.empty += 1;
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => window.seen.push([asked, performance.now()]);
      channel.port2.postMessage(0);
    });
  });
}"""
_FRAMES = """(milliseconds) => new Promise((done) => {
  const found = []; const begun = performance.now(); let last = begun;
  const step = (now) => {
    found.push(now - last); last = now;
    if (now - begun < milliseconds) requestAnimationFrame(step); else done(found.slice(1));
  };
  requestAnimationFrame(step);
})"""

_SHAKE = """async (framesOf) => {
  const canvas = document.querySelector("#map");
  const edge = canvas.getBoundingClientRect();
  canvas.setPointerCapture = () => {};
  const send = (Kind, type, x, y, more) => canvas.dispatchEvent(new Kind(type, {
    clientX: edge.left + x, clientY: edge.top + y, pointerId: 1,
    bubbles: true, cancelable: true, ...more }));
  const frames = framesOf(3000);
  send(PointerEvent, "pointerdown", 400, 300, { buttons: 1 });
  for (let n = 0; n < 90; n += 1) {
    const x = 400 + 150 * Math.sin(n / 9);
    send(PointerEvent, "pointermove", x, 300 + 100 * Math.cos(n / 7), { buttons: 1 });
    if (n === 45) send(PointerEvent, "pointerup", 400, 300, {});
    if (n > 45) send(WheelEvent, "wheel", 420, 310, { deltaY: n % 20 < 10 ? -60 : 60 });
    await new Promise((done) => requestAnimationFrame(done));
  }
  return frames;
}"""


def main() -> None:
    """Measure and print."""
    named = arguments.paths(__doc__, "LIBRARY.db")
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or sys.exit("No chromium. Next: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        library = named[0] if named else made(Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with served(library) as (root, process):
            typed(browser, root, process)
            searched(root, process)
            moved(browser, root)
        browser.close()


def made(folder: Path) -> Path:
    """Make a library of so many documents."""
    lines: list[str] = []
    import gzip

    for name in ("20newsgroups", "reuters21578"):
        with gzip.open(DATA / name / "docs.jsonl.gz", "rt", encoding="utf-8") as stream:
            lines += stream
    source, library = folder / "documents.jsonl", folder / "library.db"
    source.write_text("".join(lines[:DOCUMENTS]), encoding="utf-8")
    command = [sys.executable, "-m", "lpisearch", "--db", str(library)]
    subprocess.run([*command, "ingest", str(source)], check=True)
    subprocess.run([*command, "index"], check=True)
    return library


@contextmanager
def served(library: Path) -> Iterator[tuple[str, int]]:
    """Serve a library; give the address and the number of the process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "lpisearch",
        "--db",
        str(library),
        "serve",
        "--port",
        str(port),
    ]
    running = subprocess.Popen(command)
    root = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urlopen(f"{root}/help").close()  # noqa: S310 (our own server)
                break
            except OSError:
                time.sleep(0.1)
        yield root, running.pid
    finally:
        running.terminate()
        running.wait(30)


def typed(browser: Browser, root: str, process: int) -> None:
    """Type questions as people do, and measure from the last key to its results on the screen."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{root}/?q=warm")
    page.evaluate(_WATCH)
    for question in QUESTIONS:  # what a server does once
        _last_key(page, question)
    spent = _processor(process)
    last = [_last_key(page, question) for question in QUESTIONS * REPEATS]
    spent = 1000 * (_processor(process) - spent) / len(last)
    paused = [_last_key(page, question, PAUSE_MS) for question in QUESTIONS * PAUSES]
    empty = page.evaluate("window.empty")
    plain = _plain(root, process)
    load = os.getloadavg()[0]
    print(
        f"{len(QUESTIONS)} questions, a key every {KEY_MS} ms, load {load:.1f} on {os.cpu_count()}"
    )
    print(f"from the last key to its results, ms:           {_said(last)}")
    print(f"from the last key after {PAUSE_MS / 1000:.0f} s of thought, ms:    {_said(paused)}")
    print(f"processor time of the server for a question:    {spent:.0f} ms")
    print(f"processor time of a page without a search:      {plain:.1f} ms each")
    print(f"states without results while typing:            {empty}")
    print(f"memory of the server:                           {_memory(process)}")
    page.close()


def searched(root: str, process: int) -> None:
    """Search for four words drawn from questions, many times, and print the memory after it."""
    words = sorted(set(re.findall(r"[a-z]{3,}", QUERIES.read_text(encoding="utf-8").lower())))
    random = np.random.default_rng(0)
    for _ in range(SEARCHES):
        query = urlencode({"q": " ".join(random.choice(words, 4, replace=False))})
        urlopen(Request(f"{root}/?{query}", headers={"X-Part": "page"})).read()  # noqa: S310
    print(f"memory after {SEARCHES:,} searches:                    {_memory(process)}")


def _memory(process: int) -> str:
    """Return the memory of a process, and of that what belongs to it alone, not to mapped files."""
    stated = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    own, mapped = (
        int(re.findall(rf"^{name}:\s*(\d+)", stated, re.MULTILINE)[0]) // 1024
        for name in ("RssAnon", "RssFile")
    )
    return f"{own} MB of its own, and {mapped} MB of mapped files"


def _last_key(page: Page, question: str, pause: int = 0) -> float:
    """Type a question, perhaps with a pause before its last word; return the time of the last key.

    It is the time to the first paint of results that belong to all that was typed.
    """
    page.locator("#q").fill("")
    page.wait_for_timeout(1500)
    *words, last = question.split()
    if pause:
        page.locator("#q").press_sequentially(" ".join(words), delay=KEY_MS)
        page.wait_for_timeout(pause)
        page.locator("#q").press_sequentially(f" {last}", delay=KEY_MS)
    else:
        page.locator("#q").press_sequentially(question, delay=KEY_MS)
    page.wait_for_function("q => window.seen.at(-1)?.[0] === q", arg=question)
    found: float = page.evaluate("window.seen.at(-1)[1] - window.keys.at(-1)")
    return found


def _plain(root: str, process: int, times: int = 50) -> float:
    before = _processor(process)
    for _ in range(times):
        urlopen(f"{root}/help").read()  # noqa: S310 (our own server)
    return 1000 * (_processor(process) - before) / times


def _processor(process: int) -> float:
    """Return the processor time that a process has spent, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def moved(browser: Browser, root: str) -> None:
    """Drag and zoom a map of many points, which are made up: the server's own are left out."""
    page = browser.new_page(viewport={"width": 1280, "height": 850})
    random = np.random.default_rng(0)
    topics = random.integers(0, TOPICS, POINTS)
    centres = random.uniform(0.1, 0.9, (TOPICS, 2))
    places = centres[topics] + random.normal(0, 0.04, (POINTS, 2))
    points = np.empty((POINTS, 4), "<u2")
    points[:, :2] = (places.clip(0, 1) * 65535).round()
    points[:, 2], points[:, 3] = topics + 1, 0
    data = {
        "documents": POINTS,
        "unplaced": 0,
        "rule": "made up",
        "chosen": None,
        "topics": [{"name": f"topic {n}", "size": 1} for n in range(TOPICS)],
        "labels": [],
    }
    page.route("**/map/points*", lambda route: route.fulfill(body=points.tobytes()))
    page.route("**/map/documents*", lambda route: route.fulfill(json=[]))
    page.route("**/map/data*", lambda route: route.fulfill(json=data))
    page.goto(f"{root}/map")
    page.locator("#map[data-ready=yes]").wait_for()
    told = page.context.new_cdp_session(page)
    told.send("Performance.enable", {"timeDomain": "threadTicks"})
    still = page.evaluate(_FRAMES, 1000)
    before = _busy(told)
    frames = _shaken(page)
    spent = 1000 * (_busy(told) - before) / max(len(frames), 1)
    print(f"frames of a map of {POINTS:,} points at rest, ms:  {_said(still)}")
    print(f"frames while it is dragged and zoomed, ms:    {_said(frames)}")
    print(f"processor time of the page for each of these: {spent:.1f} ms")
    page.close()


def _busy(told: CDPSession) -> float:
    """Return the processor time that the thread of a page has spent, in seconds."""
    found = told.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in found if each["name"] == "TaskDuration"))


def _shaken(page: Page) -> list[float]:
    found: list[float] = page.evaluate(f"({_SHAKE})({_FRAMES})")
    return found


def _said(values: list[float]) -> str:
    ordered = sorted(values)
    at = ordered[int(0.95 * (len(ordered) - 1))]
    return f"median {statistics.median(ordered):.0f}, p95 {at:.0f}, most {ordered[-1]:.0f}"


if __name__ == "__main__":
    main()
