"""The API against its description, by Schemathesis, which is not one of our libraries.

`pip install schemathesis`, then `python -m pytest -m slow tests/unit/web/test_contract.py -s`: it
prints the numbers of cases and of findings. schemathesis.toml says what is expected, and why.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import serving

_CASES, _EXAMPLES = 5000, 30


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("words", [(), ("--read-only",)])
def test_the_api_is_as_it_is_described(built: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    pytest.importorskip("schemathesis")
    shutil.copytree(built, tmp_path / "served")
    (tmp_path / "root").mkdir()
    report = tmp_path / "report.json"
    given: tuple[str, ...] = (
        "--max-examples",
        str(_EXAMPLES),
        "--phases",
        "examples,coverage,fuzzing",
    )
    given += ("--checks", "all", "--seed", "7", "--continue-on-failure", "--no-color")
    given += ("--suppress-health-check", "all", "--request-timeout", "60")
    given += ("--report", "json", "--report-json-path", str(report))
    config = Path(__file__).with_name("schemathesis.toml")
    library, log = tmp_path / "served" / "library.db", tmp_path / "log"
    with serving(library, "--root", str(tmp_path / "root"), *words, log=log) as (_, address):
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run"]
        run = subprocess.run(
            [*command, f"{address}api/v1/openapi.json", *given],
            check=False,
            capture_output=True,
            text=True,
        )
    found = json.loads(report.read_text("utf-8"))
    print(found["test_cases"], found["failures"])  # noqa: T201 (docs/serving.md states them)
    assert found["complete"], run.stdout[-2000:]
    assert found["test_cases"]["generated"] >= _CASES
    assert found["failures"] == [], run.stdout[-2000:]
    assert "Traceback" not in log.read_text("utf-8")
