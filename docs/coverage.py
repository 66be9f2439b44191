"""Measure which lines the tests reach, and write the figure into CONTRIBUTING.md.

    make coverage                       all tests but the slow ones: half again as long as make test
    python docs/coverage.py --check     in make check: for two rooms whose own tests are quick

Tracing every line slows the tests down, so `make test` does without it, and `make check` looks at
two rooms alone: they may not fall below LEAST.
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
# Where no file may grow, the trace cannot be written either.
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
    said = f"The tests reach {share} % of the lines of the package (`make coverage`, {today})."
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(FIGURE.sub(rf"\g<1>{said}\g<2>", text), encoding="utf-8")
    print(said)


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
