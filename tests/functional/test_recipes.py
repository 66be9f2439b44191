"""The recipes of docs/recipes.md run, with stand-ins for the programs that are not installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

_PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")
_BLOCKS: list[tuple[str, str]] = re.findall(
    r"^```(\w+)\n(.*?)^```", _PAGE, re.MULTILINE | re.DOTALL
)
_SHELL = [code for kind, code in _BLOCKS if kind == "sh"]
_LINE = re.compile(r"(?P<path>[^:\n]+):(?P<line>\d+):(?P<column>\d+):(?P<text>.+)")

# What fzf does here: read lines or reload them, show the first in the preview, return it.
_FZF = r"""
import re, shlex, subprocess, sys
options = sys.argv[1:]
reload = [one.split("reload:")[1] for one in options if one.startswith("change:reload:")]
shell = lambda text: subprocess.run(text, shell=True, capture_output=True, text=True, check=True)
lines = shell(reload[0].replace("{q}", "'cold dough'")).stdout if reload else sys.stdin.read()
first = lines.splitlines()[0]
fields = first.split(options[options.index("--delimiter") + 1])
preview = options[options.index("--preview") + 1]
shown = re.sub(r"{(\d)}", lambda field: shlex.quote(fields[int(field[1]) - 1]), preview)
assert shell(shown).stdout.strip(), shown
print(first)
"""
_STAND_INS = {
    "fzf": f"#!{sys.executable}\n{_FZF}",
    "rg": '#!/bin/sh\nshift; exec grep -nHE "$@"\n',
    "rofi": "#!/bin/sh\nsed -n 2p\n",
}
# These would wait for a person, or open a window.
_RECORDED = {"vim": '#!/bin/sh\necho "vim $@"\n', "xdg-open": '#!/bin/sh\necho "$@" > opened\n'}


@pytest.fixture
def shell(sample: Path, tmp_path: Path) -> Callable[..., str]:
    """Return a runner of shell commands next to a library of the sample corpus."""
    folder = tmp_path / "bin"
    folder.mkdir()
    missing = {name: text for name, text in _STAND_INS.items() if not shutil.which(name)}
    own = {"lpisearch": f'#!/bin/sh\nexec {sys.executable} -m lpisearch "$@"\n'}
    for name, text in (own | _RECORDED | missing).items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)

    def run(command: str, *, recorded: bool = True) -> str:
        if not recorded:
            (folder / "vim").unlink()
        done = subprocess.run(
            ["sh", "-ec", command],
            cwd=tmp_path,
            env=os.environ
            | {"PATH": f"{folder}:{os.environ['PATH']}", "LPISEARCH_DB": str(sample)}
            | {"XDG_STATE_HOME": str(tmp_path / "state")},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        printed: str = done.stdout
        return printed

    return run


needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")


def _recipe(begin: str) -> str:
    (code,) = (code for code in _SHELL if code.startswith(begin))
    return code


def test_vimgrep_names_the_line_of_the_file(shell: Callable[..., str]) -> None:
    lines = shell("lpisearch search --vimgrep --passages 2 cold dough").splitlines()
    assert len(lines) >= 10
    places = []
    for line in lines:
        match = _LINE.fullmatch(line)
        assert match, line
        read = Path(match["path"]).read_bytes()
        if b"\0" in read:
            assert (match["line"], match["column"]) == ("1", "1")
            continue
        shown = read.decode().splitlines()[int(match["line"]) - 1].encode()
        word = re.match(r"\w+", shown[int(match["column"]) - 1 :].decode())
        assert word, line
        assert word.group() in match["text"]
        places.append(match["line"])
    assert len(set(places)) > 3


def test_results_go_through_fzf_to_an_editor(shell: Callable[..., str]) -> None:
    opened = shell(_recipe("lpisearch search --vimgrep why does bread"))
    match = re.fullmatch(r"vim \+(\d+) (.+)\n", opened)
    assert match
    assert Path(match[2]).is_file()
    assert _LINE.match(shell(_recipe("fzf --disabled")))


@needs_jq
@pytest.mark.parametrize("program", ["rg -n", "grep -nE"])
def test_results_are_searched_by_a_regular_expression(
    shell: Callable[..., str], program: str
) -> None:
    (code,) = (code for code in _SHELL if program in code)
    lines = shell(code).splitlines()
    assert lines
    assert all(re.search("rye|levain", line) for line in lines)


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
def test_vim_fills_its_quickfix_list(shell: Callable[..., str], tmp_path: Path) -> None:
    (settings,) = (code for kind, code in _BLOCKS if kind == "vim")
    (tmp_path / "recipe.vim").write_text(settings, encoding="utf-8")
    found = "map(getqflist(), {_, one -> bufname(one.bufnr) . ':' . one.lnum})"
    shell(
        f'vim -es -u NONE -S recipe.vim -c "call writefile({found}, \'list\')" -c "qa!"',
        recorded=False,
    )
    lines = (tmp_path / "list").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 10
    assert all(int(line.rpartition(":")[2]) >= 1 for line in lines)
    assert all(Path(line.rpartition(":")[0]).is_file() for line in lines)


@needs_jq
def test_launchers_get_titles_and_paths(shell: Callable[..., str], tmp_path: Path) -> None:
    (rofi,) = (code for code in _SHELL if "rofi" in code)
    assert shell(rofi).startswith("Opened ")
    (alfred,) = (code for code in _SHELL if "{items:" in code)
    items = json.loads(shell(alfred))["items"]
    assert len(items) == 10
    assert all(Path(item["arg"]).is_file() and item["title"] for item in items)
    assert tmp_path.is_dir()


@needs_jq
def test_scripts_get_the_best_path_and_a_table(shell: Callable[..., str], tmp_path: Path) -> None:
    assert Path(shell(_recipe("lpisearch search --json --fail-if-none")).strip()).is_file()
    shell(_recipe("lpisearch search --csv"))
    assert len((tmp_path / "reading.csv").read_text(encoding="utf-8").splitlines()) >= 20


def test_every_shell_recipe_is_tested() -> None:
    assert len(_SHELL) == 8
