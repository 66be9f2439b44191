"""What the pages show is true: their code runs, the guides name all that has to be done."""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scipy.sparse import random_array
from sklearn.preprocessing import normalize

import lpisearch
from lpisearch.cli.app import app
from tests.unit.cli.test_progress import Screen

_ROOT = Path(__file__).parents[2]
_PAGES = ("README.md", "docs/python.md", "docs/evaluation.md", "docs/projections.md")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_GUIDE = "docs/adding-a-reader.md"


def _blocks(page: str, language: str) -> list[str]:
    found = _BLOCK.findall((_ROOT / page).read_text(encoding="utf-8"))
    return [code for kind, code in found if kind == language]


def _python() -> Iterator[Any]:
    for page in _PAGES:
        for number, code in enumerate(_blocks(page, "python"), start=1):
            yield pytest.param(code, id=f"{page}-{number}")


@pytest.mark.parametrize("code", list(_python()))
def test_python_code_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample_corpus").symlink_to(_ROOT / "sample_corpus")
    shutil.copytree(_ROOT / "sample_corpus" / "documents" / "sailing", tmp_path / "letters")
    X = normalize(random_array((400, 600), density=0.05, format="csr", rng=0))
    exec(compile(code, "block", "exec"), {"X": X})  # noqa: S102 (our own pages)


def _tour() -> Iterator[tuple[list[str], list[str]]]:
    """Yield each command of the tour, and the lines that are shown below it."""
    for block in _blocks("README.md", "console"):
        for part in block.split("$ ")[1:]:
            command, *lines = part.splitlines()
            if command.startswith("lpisearch "):
                yield shlex.split(command)[1:], [line for line in lines if line.strip()]


def _shown(words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """Return what a terminal of 98 columns shows of a command, and its exit status."""
    screen, notes = Screen(), io.StringIO()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", screen)
        patch.setattr(sys, "stderr", notes)
        patch.setenv("COLUMNS", "98")
        patch.setenv("TERM", "xterm")
        patch.delenv("NO_COLOR", raising=False)
        with pytest.raises(SystemExit) as ended:
            app(words, prog_name="lpisearch")
    return _ESCAPES.sub("", f"{screen.getvalue()}{notes.getvalue()}"), int(ended.value.code or 0)


def test_the_tour_is_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(_ROOT)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))  # the tour sets a standing library
    monkeypatch.setattr("lpisearch.cli.open._start", lambda *_words: None)
    tour = list(_tour())
    assert len(tour) > 12
    for words, lines in tour:
        printed, status = _shown(["--db", str(tmp_path / "tour.db"), *words], monkeypatch)
        printed = printed.replace(str(_ROOT), "/home/ann/lpisearch")
        assert status == 0, f"{words}: {printed}"
        found = [_figures(line) for line in printed.splitlines()]
        for line in lines:
            if "…" in (line.strip(), line[-1:]) or "/home/ann/notes" in line:
                continue
            like = any(_is_like(each, _figures(line)) for each in found)
            assert like, f"{words} does not print: {line}\n{printed}"


def _figures(line: str) -> tuple[str, list[float]]:
    """Return a line without its figures and blanks, and the figures; times are none."""
    line = re.sub(r"[\d.,]+ (?:s|MB|kB)\b", "", line)
    numbers = [float(each.replace(",", "")) for each in _NUMBER.findall(line)]
    return " ".join(_NUMBER.sub(" # ", line).split()), numbers


def _is_like(one: tuple[str, list[float]], other: tuple[str, list[float]]) -> bool:
    return one[0] == other[0] and one[1] == pytest.approx(other[1], rel=0.05, abs=0.02)


def test_a_reader_is_what_its_guide_says(tmp_path: Path) -> None:
    package = tmp_path / "lpisearch"
    shutil.copytree(
        Path(lpisearch.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "migrations").symlink_to(_ROOT / "migrations")
    (code,) = _blocks(_GUIDE, "python")
    (package / "readers" / "recipe.py").write_text(code, encoding="utf-8")
    registry = package / "readers" / "registry.py"
    lines = registry.read_text(encoding="utf-8")
    lines = lines.replace("    rtf,\n", "    recipe,\n    rtf,\n", 1)
    first = "        plaintext.YAML_READER,\n"
    lines = lines.replace(first, f"        recipe.READER,\n{first}")
    registry.write_text(lines, encoding="utf-8")
    (tmp_path / "bread.rcp").write_text("Rye bread\n---\nLeaven and flour.\n", encoding="utf-8")
    for words in (("ingest", "bread.rcp"), ("docs", "list")):
        done = subprocess.run(
            [sys.executable, "-m", "lpisearch", "--db", "recipes.db", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
    assert "Rye bread" in done.stdout


def test_a_method_is_what_its_guide_says(tmp_path: Path) -> None:
    package = tmp_path / "lpisearch"
    shutil.copytree(
        Path(lpisearch.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("migrations", "sample_corpus"):
        (tmp_path / name).symlink_to(_ROOT / name)
    module = (package / "methods" / "lsi.py").read_text(encoding="utf-8")
    module = module.replace("class LSI(", "class Twin(")
    module = module.replace('CATALOGUE["lsi"]', 'CATALOGUE["twin"]')
    (package / "methods" / "twin.py").write_text(module, encoding="utf-8")
    catalogue = package / "methods" / "catalogue.py"
    lines = catalogue.read_text(encoding="utf-8")
    entry = re.search(r'    Method\(\n        "lsi",.*?\n    \),\n', lines, re.DOTALL)
    assert entry is not None
    twin = entry[0].replace('"lsi"', '"twin"').replace("lsi:LSI", "twin:Twin")
    catalogue.write_text(lines.replace(entry[0], entry[0] + twin), encoding="utf-8")
    names = package / "__init__.py"
    text = names.read_text(encoding="utf-8")
    names.write_text(text.replace("FSSL KRLPI", "FSSL Twin KRLPI"), encoding="utf-8")
    program = [sys.executable, "-m", "lpisearch", "--db", "twins.db"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for words in (
        ("ingest", "sample_corpus/documents/sailing"),
        ("index", "--method", "twin", "--dims", "5"),
        ("index", "--help"),
    ):
        done = subprocess.run(
            [*program, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    assert "twin" in done.stdout
    code = (
        "import lpisearch; library = lpisearch.open('twins.db'); "
        "print(lpisearch.Twin().about.name, library.vectors()[1].shape[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["twin", "5"]


def test_every_promise_names_a_test() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (_ROOT / "SECURITY.md").read_text("utf-8"))
    assert len(named) > 10
    gone = [name for path, name in named if f"def {name}(" not in (_ROOT / path).read_text("utf-8")]
    assert gone == []


def test_every_promise_has_tests_and_their_number() -> None:
    lines = (_ROOT / "SECURITY.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    assert rows[0] == ["promise", "test", "cases"]
    assert all(len(row) == 3 and all(row) for row in rows)
    assert all("::" in row[1] for row in rows[2:])


def test_versions_agree() -> None:
    """Package, citation and the newest entry of the changelog have one version."""
    changelog = (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", changelog, re.MULTILINE)
    citation = (_ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = (_ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert newest is not None
    assert newest[1] == lpisearch.__version__
    assert f"\nversion: {newest[1]}\ndate-released: {newest[2]}\n" in citation
    assert f'\nversion = "{newest[1]}"\n' in project
