from __future__ import annotations

import random
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from lpisearch.ingest.ignore import IgnorePatterns

if TYPE_CHECKING:
    from pathlib import Path

_SEGMENTS = ["a", "b", "*.txt", "a*", "*", "**", "?", "[ab]", "[!a]", "[^a]", "\\#a", "*b*", "x y"]
_NAMES = ["a", "b", "ab", "a.txt", "b.txt", "c", "#a", "x y"]


@pytest.mark.parametrize(
    ("line", "path", "is_folder", "expected"),
    [
        ("*.log", "/r/a.log", False, True),
        ("*.log", "/r/b/a.log", False, True),
        ("/a", "/r/b/a", False, None),
        ("b/a", "/r/b/a", False, True),
        ("a/", "/r/a", False, None),
        ("a/", "/r/a", True, True),
        ("!a", "/r/a", False, False),
        ("**/a", "/r/x/y/a", False, True),
        ("a/**", "/r/a", True, None),
        ("a/**", "/r/a/b", False, True),
        ("a/**/b", "/r/a/b", False, True),
        ("a/**/b", "/r/a/x/y/b", False, True),
        ("# a", "/r/# a", False, None),
        ("\\# a", "/r/# a", False, True),
        ("a  ", "/r/a", False, True),
        ("", "/r/a", False, None),
        ("!", "/r/a", False, None),
        ("/", "/r/a", True, None),
        ("[", "/r/[", False, True),
    ],
)
def test_patterns(line: str, path: str, *, is_folder: bool, expected: bool | None) -> None:
    """A line of a .gitignore means what it means to git."""
    assert IgnorePatterns.of("/r", [line]).verdict(path, is_folder=is_folder) is expected


def test_the_last_pattern_decides() -> None:
    patterns = IgnorePatterns.of("/r", ["*.txt", "!a.txt", "a.*"])
    assert patterns.verdict("/r/a.txt", is_folder=False)
    patterns = IgnorePatterns.of("/r", ["*.txt", "!a.txt"])
    assert patterns.verdict("/r/a.txt", is_folder=False) is False


def test_hostile_patterns_take_no_time() -> None:
    name = "a" * 250
    lines = ["*a" * 100 + "b", "/".join(["**", "a*"] * 40) + "/b"]
    for path in (f"/r/{name}", "/r/" + "a/" * 1500 + "c"):
        assert IgnorePatterns.of("/r", lines).verdict(path, is_folder=False) is None


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_verdicts_are_those_of_git(tmp_path: Path) -> None:
    chance = random.Random(1)  # noqa: S311 (patterns, not secrets)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    for _ in range(60):
        lines = [_line(chance) for _ in range(chance.randint(1, 4))]
        (tmp_path / ".gitignore").write_text("\n".join(lines) + "\n", encoding="utf-8")
        patterns = IgnorePatterns.of(str(tmp_path), lines)
        paths = ["/".join(chance.choices(_NAMES, k=chance.randint(1, 3))) for _ in range(30)]
        expected = [_is_excluded(patterns, tmp_path, path) for path in paths]
        assert _ignored_by_git(tmp_path, paths) == expected, lines


def _line(chance: random.Random) -> str:
    line = "/".join(chance.choice(_SEGMENTS) for _ in range(chance.choice([1, 1, 2, 3])))
    line = ("/" if chance.random() < 0.2 else "") + line + ("/" if chance.random() < 0.2 else "")
    return f"!{line}" if chance.random() < 0.2 else line


def _is_excluded(patterns: IgnorePatterns, root: Path, path: str) -> bool:
    """Ask of each folder on the way, as a walk does."""
    parts = path.split("/")
    return any(
        patterns.verdict(str(root.joinpath(*parts[:depth])), is_folder=depth < len(parts))
        for depth in range(1, len(parts) + 1)
    )


def _ignored_by_git(root: Path, paths: list[str]) -> list[bool]:
    command = ["git", "-C", str(root), "check-ignore", "--no-index", "-v", "-n", "--stdin"]
    lines = "".join(f"{path}\n" for path in paths)
    answer = subprocess.run(command, input=lines, text=True, capture_output=True, check=False)
    found = [line.split("\t")[0].split(":", 2)[2] for line in answer.stdout.splitlines()]
    return [bool(pattern) and not pattern.startswith("!") for pattern in found]
