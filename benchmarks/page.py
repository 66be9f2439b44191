"""Latency of the page, from a key press to the results on screen, and of the map.

`python benchmarks/page.py [LIBRARY.db]` needs the extra `web`, Playwright and Debian's chromium.
Without a library it makes one of 20,000 documents of the public collections next to the project.
Printed are, for each key of some questions, the time from the key to the paint that shows the
answer; also the CPU time of the server, and that of a page without a search in
the same run; then frames of a map of 100,000 points that is dragged and zoomed.
"""

from __future__ import annotations

import os
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
from urllib.request import urlopen

import numpy as np

from benchmarks import arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, CDPSession, Page

DATA = Path(__file__).parents[2] / "shared" / "data"
DOCUMENTS = 20_000
POINTS, TOPICS = 100_000, 24
QUESTIONS = (
    "graphics card driver",
    "space shuttle launch",
    "used car engine price",
    "hockey playoffs goal",
)
# From a key to the paint after the answer was put in its place: two frames later it is seen.
_WATCH = """() => {
  window.keys = []; window.seen = [];
  const field = document.querySelector("#q");
  field.addEventListener("input", () => { window.keys.push(performance.now()); });
  document.addEventListener("htmx:afterSwap", () => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => window.seen.push(performance.now());
    channel.port2.postMessage(0);
  }));
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
    """Type questions key by key, waiting for each answer."""
    page = browser.new_page()
    page.goto(f"{root}/?q=warm")
    page.evaluate(_WATCH)
    times: list[float] = []
    spent: list[float] = []
    for question in QUESTIONS:
        page.locator("#q").fill("")
        page.wait_for_timeout(1000)
        for key in question:
            if key == " ":
                page.keyboard.press("Space")
                continue
            before, seen = _processor(process), page.evaluate("window.seen.length")
            page.keyboard.type(key)
            page.wait_for_function("n => window.seen.length > n", arg=seen)
            spent.append(1000 * (_processor(process) - before))
            times.append(page.evaluate("window.seen.at(-1) - window.keys.at(-1)"))
            page.wait_for_timeout(30)
    plain = _plain(root, process)
    load = os.getloadavg()[0]
    print(f"{len(times)} keys, load {load:.1f} on {os.cpu_count()} cores")
    print(f"from the key to the answer on the screen, ms: {_said(times)}")
    print(f"processor time of the server for it, ms:      {_said(spent)}")
    print(f"processor time of a page without a search:    {plain:.1f} ms each")
    page.close()


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
