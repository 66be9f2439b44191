"""What the pages show is true: their code runs, the guides name all that has to be done."""

import json
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
from lpisearch.cli.verbs import ALIASES
from tests.unit.cli.test_every_verb import COMMANDS
from tests.unit.cli.test_progress import Screen

_ROOT = Path(__file__).parents[2]
_TOUR = "docs/tour.md"
_SHORTENED = re.compile(r"…(\d*)")
_PAGES = (_TOUR, "docs/python.md", "docs/evaluation.md", "docs/projections.md")
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


class _Aside(Screen):
    """Standard error, which prints on the same terminal."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def write(self, text: str) -> int:
        """Print on the terminal."""
        return self._screen.write(text)


def _shown(words: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what a terminal of 80 columns shows of a command, but for its progress."""
    screen = Screen()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", screen)
        patch.setattr(sys, "stderr", _Aside(screen))
        patch.setattr("rich.progress.Progress.start", lambda _bar: None)
        patch.setenv("COLUMNS", "80")
        patch.setenv("TERM", "xterm")
        patch.delenv("NO_COLOR", raising=False)
        with pytest.raises(SystemExit) as ended:
            app(words, prog_name="lpisearch")
    printed = _ESCAPES.sub("", screen.getvalue())
    assert not ended.value.code, f"{words}: {printed}"
    return "\n".join(line.rstrip() for line in printed.splitlines())


def _as_shown(printed: str, shown: list[str]) -> list[str]:
    """Return lines to show: as many as before, and those before where only figures differ a bit."""
    lines = printed.strip("\n").splitlines()
    number = _SHORTENED.fullmatch(shown[-1]) if shown else None
    if number:
        lines = [*lines[: int(number[1] or len(shown) - 1)], "…"]
    before = {_figures(line)[0]: line for line in shown}
    like = [before.get(_figures(line)[0], line) for line in lines]
    return [
        old if _is_like(_figures(old), _figures(line)) else line
        for old, line in zip(like, lines, strict=True)
    ]


def test_the_tour_is_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of the tour is printed, but for digits; `LPISEARCH_WRITE_TOUR=1` writes it anew."""
    monkeypatch.chdir(_ROOT)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))  # the tour sets a standing library
    monkeypatch.setenv("LPISEARCH_DB", str(tmp_path / "tour.db"))
    monkeypatch.setattr("lpisearch.viewers._start", lambda *_words: None)
    homes = {_ROOT: "/home/ann/lpisearch", tmp_path: "/home/ann/.config", Path.home(): "/home/ann"}
    page = (_ROOT / _TOUR).read_text(encoding="utf-8")
    missing = []
    for block in _blocks(_TOUR, "console"):
        commands = []
        for part in block.split("$ ")[1:]:
            command, *shown = part.rstrip().splitlines()
            printed = _shown(shlex.split(command)[1:], monkeypatch)
            for path, home in homes.items():
                printed = printed.replace(str(path), home)
            found = [_figures(line) for line in printed.splitlines()]
            missing += [
                (command, line)
                for line in shown
                if not _SHORTENED.fullmatch(line)
                and not any(_is_like(each, _figures(line)) for each in found)
            ]
            commands.append("\n".join([f"$ {command}", *_as_shown(printed, shown)]))
        page = page.replace(block, "\n\n".join(commands) + "\n")
    if os.environ.get("LPISEARCH_WRITE_TOUR"):
        (_ROOT / _TOUR).write_text(page, encoding="utf-8")
    else:
        assert missing == []
    assert page.count("\n$ lpisearch ") > 12


def _figures(line: str) -> tuple[str, list[float]]:
    """Return a line without its figures and blanks, and the figures; times are none."""
    line = re.sub(r"[\d.,]+ (?:s|min|MB|kB)\b", "", line)
    numbers = [float(each.replace(",", "")) for each in _NUMBER.findall(line)]
    return " ".join(_NUMBER.sub(" # ", line).split()), numbers


def _is_like(one: tuple[str, list[float]], other: tuple[str, list[float]]) -> bool:
    return one[0] == other[0] and one[1] == pytest.approx(other[1], rel=0.05, abs=0.02)


def test_the_manual_page_has_the_usual_sections() -> None:
    page = _ROOT / "docs" / "lpisearch.1"
    sections = re.findall(r"^\.SH (.+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    usual = (
        "NAME, SYNOPSIS, DESCRIPTION, COMMANDS, FILES, ENVIRONMENT, EXIT STATUS, EXAMPLES, SEE ALSO"
    )
    assert sections == usual.split(", ")
    if shutil.which("groff"):
        command = ["groff", "-Kutf8", "-man", "-Tutf8", "-ww", str(page)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr == ""


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
    lines = lines.replace("    plaintext,\n", "    plaintext,\n    recipe,\n", 1)
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
    names.write_text(text.replace("FSSL ", "FSSL Twin ", 1), encoding="utf-8")
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


def test_every_named_test_is_there() -> None:
    pages = [*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md")]
    named = {
        path for page in pages for path in re.findall(r"`(tests/[\w/.-]+)", page.read_text("utf-8"))
    }
    assert {"tests/golden/options.txt", "tests/unit"} < {name.rstrip("/") for name in named}
    assert [
        name for name in sorted(named) if "NAME" not in name and not (_ROOT / name).exists()
    ] == []


def test_every_command_of_the_pages_can_be_typed() -> None:
    """Those that no other test runs: the command is there, and has the options."""
    pages = {*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md")} - {_ROOT / "CHANGELOG.md"}
    wrong, number = [], 0
    for page in sorted(pages - {_ROOT / "docs" / "cli.md"}):
        text = page.read_text("utf-8").replace("\\\n", " ")
        code = "\n".join(
            [
                *re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL),
                *re.findall(r"`([^`\n]+)`", text),
            ]
        )
        for typed in re.findall(r"^(?:\$ )?lpisearch ([a-z][^\n|)']+)", code, re.MULTILINE):
            verb, *words = shlex.split(typed, comments=True)
            words = [*ALIASES.get(verb, (verb,)), *words]
            command = COMMANDS.get(" ".join(words[:2])) or COMMANDS.get(words[0])
            number += command is not None
            named = {one.partition("=")[0] for one in words if one.startswith("--")}
            known = {
                name
                for one in getattr(command, "params", ())
                for name in (*one.opts, *one.secondary_opts)
            }
            if (command is None and verb != "help") or named - known - {"--help", "--version"}:
                wrong.append(f"{page.name}: {typed}")
    assert wrong == []
    assert number > 140


def test_every_promise_has_tests_and_their_number() -> None:
    lines = (_ROOT / "SECURITY.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    assert rows[0] == ["promise", "test", "cases"]
    assert all(len(row) == 3 and all(row) for row in rows)
    assert all("::" in row[1] for row in rows[2:])


def test_versions_agree() -> None:
    """The citation is of the newest release in the changelog, which the program is or follows."""
    changelog = (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", changelog, re.MULTILINE)
    citation = (_ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert newest is not None
    assert newest[1] == lpisearch.__version__ or lpisearch.__version__.endswith(".dev0")
    assert f"\nversion: {newest[1]}\ndate-released: {newest[2]}\n" in citation
    server = json.loads((_ROOT / "server.json").read_text(encoding="utf-8"))
    versions = {server["version"], *(package["version"] for package in server["packages"])}
    assert versions == {lpisearch.__version__}
    assert f"mcp-name: {server['name']} " in (_ROOT / "README.md").read_text(encoding="utf-8")
    assert len(server["description"]) <= 100
