"""Measure test coverage, and write the figure into CONTRIBUTING.md (`make coverage`).

Tests that fail are listed; the figure is printed all the same, but not written. With `--check`, in
`make check`, measure two rooms with quick tests, which must reach LEAST percent; the whole WHOLE.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
FIGURE = re.compile(r"(<!-- coverage: .*? -->\n).*?(\n<!-- end of coverage -->)", re.DOTALL)
QUICK = ("text", "graphs")
LEAST, WHOLE = 95, 92
# Coverage data cannot be written where files may not grow.
CANNOT_TRACE = "tests/functional/test_disk.py::test_a_file_that_may_not_grow"


def main() -> None:
    """Measure, then write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="two rooms with quick tests")
    if parser.parse_args().check:
        _coverage("erase")
        failed = _trace("not slow", *(f"tests/unit/{room}" for room in QUICK))
        _coverage("combine", "--quiet")
        rooms = ",".join(f"lpisearch/{room}/*" for room in QUICK)
        _coverage("report", f"--include={rooms}", f"--fail-under={LEAST}", "--format=total")
        sys.exit(failed or 0)
    _coverage("erase")
    # Apart, as in `make test`: the loop that the browser runs in leaves no room for others.
    failed = _trace("browser and not slow", "tests/browser")
    failed += _trace("not browser and not slow", "tests")
    _coverage("combine", "--quiet")
    share = _coverage("report", "--format=total").strip()
    today = datetime.now(UTC).date().isoformat()
    sentence = f"The tests cover {share} % of the lines of the package (`make coverage`, {today})."
    print(sentence)
    if failed or int(share) < WHOLE:
        sys.exit(failed or f"{WHOLE} % are required.")
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(FIGURE.sub(rf"\g<1>{sentence}\g<2>", text), encoding="utf-8")


def _trace(marks: str, *tests: str) -> str:
    """Run tests under coverage; return what failed."""
    options = ["-n", "auto", "-q", "-m", marks, "--timeout", "600"]
    options += ["--deselect", CANNOT_TRACE]
    words = [sys.executable, "-m", "coverage", "run", "-m", "pytest", *options, *tests]
    done = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return "\n".join(failed or lines[-20:]) if done.returncode else ""


def _coverage(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "coverage", *words],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n")
        sys.exit(done.returncode)
    return done.stdout


if __name__ == "__main__":
    main()
