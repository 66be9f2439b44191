"""Measure test coverage, and write the figure into CONTRIBUTING.md (`make coverage`).

With `--check`, in `make check`, measure two rooms with quick tests, which must reach LEAST percent.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
FIGURE = re.compile(r"(<!-- coverage: .*? -->\n).*?(\n<!-- end of coverage -->)", re.DOTALL)
QUICK = ("text", "graphs")
LEAST = 95
# Coverage data cannot be written where files may not grow.
CANNOT_TRACE = "tests/functional/test_disk.py::test_a_file_that_may_not_grow"


def main() -> None:
    """Measure, then write or check."""
    if sys.argv[1:] == ["--check"]:
        _trace([f"tests/unit/{room}" for room in QUICK])
        rooms = ",".join(f"lpisearch/{room}/*" for room in QUICK)
        _coverage("report", f"--include={rooms}", f"--fail-under={LEAST}", "--format=total")
        return
    _trace(["tests"])
    share = _coverage("report", "--format=total").strip()
    today = datetime.now(UTC).date().isoformat()
    sentence = f"The tests cover {share} % of the lines of the package (`make coverage`, {today})."
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(FIGURE.sub(rf"\g<1>{sentence}\g<2>", text), encoding="utf-8")
    print(sentence)


def _trace(tests: list[str]) -> None:
    _coverage("erase")
    options = ["-n", "auto", "-q", "-m", "not slow", "--timeout", "600"]
    options += ["--deselect", CANNOT_TRACE]
    _coverage("run", "-m", "pytest", *options, *tests)
    _coverage("combine", "--quiet")


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
