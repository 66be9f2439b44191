import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

_CHECKOUT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.xdist_group("wheel"),
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.name != "posix", reason="the paths of an environment differ"),
]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel."""
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, _CHECKOUT],
        check=True,
        capture_output=True,
    )
    return next(target.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel, with the versions that are pinned, into an empty environment."""
    home = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(home, with_pip=True)
    subprocess.run(
        [home / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
         "-c", _CHECKOUT / "constraints.txt", wheel],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return home / "bin" / "lpisearch"


def test_the_wheel_is_whole(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    versions = {
        f"lpisearch/_migrations/versions/{one.name}"
        for one in _CHECKOUT.glob("migrations/versions/*.py")
    }
    assert versions
    assert versions <= names
    assert any(one.endswith("/data/share/man/man1/lpisearch.1") for one in names)
    sample = {one for one in names if one.startswith("lpisearch/_sample_corpus/")}
    files = [one for one in (_CHECKOUT / "sample_corpus").rglob("*") if one.is_file()]
    assert len(sample) == len(files) > 0
    lists = "lpisearch/text/frequency_lists"
    data = {f"{lists}/README.md", f"{lists}/english.txt.gz"}
    assert data | {"lpisearch/py.typed", "lpisearch/_migrations/env.py"} <= names
    assert not [one for one in names if one.startswith("tests/") or "__pycache__" in one]


def test_the_installed_program(
    installed: Path, folder: Callable[..., Path], tmp_path: Path
) -> None:
    folder({"sea/a.txt": "A letter about ships.", "land/b.md": "# Cake\n\nA recipe."})

    def run(*words: str) -> str:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        return subprocess.run(
            [installed, "--db", "notes.db", *words],
            cwd=tmp_path,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    assert json.loads(run("ingest", "notes", "--labels", "folder", "--json"))["added"] == 2
    assert json.loads(run("ingest", "notes", "--json"))["unchanged"] == 2
    status = json.loads(run("status", "--json"))
    assert (status["documents"], status["labels"]) == (2, {"land": 1, "sea": 1})
    assert json.loads(run("doctor", "--json"))["ok"] is True
    assert json.loads(run("db", "check", "--json"))["ok"] is True
    assert "Cake" in run("docs", "list")
    python = installed.with_name("python")
    where = subprocess.run(
        [python, "-c", "import lpisearch; print(lpisearch.__file__)"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert where.startswith(str(installed.parents[1]))
