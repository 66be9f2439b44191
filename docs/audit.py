"""Compare the pinned libraries with the public list of weaknesses: `make audit`.

pip-audit asks a service. Where that cannot be reached, this says so and how to do it elsewhere: an
audit that did not take place must not look like one that found nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_PINS = Path(__file__).parents[1] / "constraints.txt"
_NOT_REACHED = 2
_ELSEWHERE = """No audit took place: pip-audit could not ask its service.
Next: take constraints.txt to a machine that reaches it, and run there
  python -m pip install pip-audit
  python -m pip_audit --requirement constraints.txt --no-deps --disable-pip"""


def main() -> int:
    """Audit, print what was found, and return the exit status."""
    words = [sys.executable, "-m", "pip_audit", "--requirement", str(_PINS)]
    words += ["--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    try:
        audited = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        sys.stderr.write(f"{done.stderr.strip().splitlines()[-1:]}\n{_ELSEWHERE}\n")
        return _NOT_REACHED
    skipped = [each["name"] for each in audited if "skip_reason" in each]
    if skipped:
        sys.stderr.write(f"Not looked at: {', '.join(skipped)}\n{_ELSEWHERE}\n")
        return _NOT_REACHED
    weak = [each for each in audited if each.get("vulns")]
    for each in weak:
        names = ", ".join(found["id"] for found in each["vulns"])
        sys.stdout.write(f"{each['name']} {each['version']}: {names}\n")
    sys.stdout.write(f"{len(audited)} libraries, {len(weak)} with a known weakness.\n")
    return 1 if weak else 0


if __name__ == "__main__":
    sys.exit(main())
