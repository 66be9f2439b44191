from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.storage.dialects import glob_of

LONG = 100_000


@pytest.mark.parametrize(
    ("pattern", "meant", "others"),
    [
        ("code docs", ["code docs/a.txt", "code docs/x/b.txt", "code docs"], ["code docs.txt"]),
        ("code docs/", ["code docs/a.txt"], ["code"]),
        ("./letters", ["letters/june.txt"], ["old letters/june.txt"]),
        ("/home/ann", ["/home/ann/a.txt"], ["/home/anna/a.txt", "home/ann/a.txt"]),
        ("/", ["/a.txt", "/home/ann/a.txt"], ["a.txt"]),
        ("a.txt", ["a.txt", "a.txt/3"], ["aXtxt", "b/a.txt"]),
        ("*/letters", ["/home/letters/a.txt", "x/letters"], ["letters/a.txt"]),
        ("*.txt", ["a.txt", "b/c.txt"], ["a.txtx"]),
        ("20[12]?/*.md", ["2019/a.md", "2025/b/c.md"], ["2039/a.md", "201/a.md"]),
        ("[!a-c]*", ["d.txt", "/a"], ["a.txt", "c"]),
        ("[^a-c]*", ["d.txt"], ["b"]),
        ("[]x]*", ["]", "xy"], ["y"]),
        ("[z-a]", [], ["z", "a", "m"]),
        ("[draft] 1", ["[draft] 1/a.txt", "d 1"], ["[draft] 2/a.txt"]),
        ("[open", ["[open", "[open/a"], ["open", "o"]),
        ("a\\d", ["a\\d"], ["a1"]),
        ("*a*b*", ["xaxbx", "ab\nc"], ["ba"]),
    ],
)
def test_what_a_pattern_means(pattern: str, meant: list[str], others: list[str]) -> None:
    glob = glob_of(pattern)
    assert [path for path in meant if not glob.matches(path)] == []
    assert [path for path in others if glob.matches(path)] == []


@given(
    st.text("ab*?", max_size=8),
    st.sampled_from(["", "[a]", "[^a]", "[a-c]", "[]]", "[^]]", "[ab]", "[a-]"]),
    st.text("ab*?", max_size=3),
    st.text("abc-]", max_size=9),
)
def test_globs_are_those_of_sqlite(before: str, some: str, after: str, path: str) -> None:
    pattern = before + some + after
    with closing(sqlite3.connect(":memory:")) as connection:
        wanted = connection.execute("SELECT ? GLOB ?", (path, pattern)).fetchone()[0]
    assert glob_of(pattern).matches(path) is bool(wanted)


@pytest.mark.parametrize(
    "pattern",
    [
        *("*" * LONG, "[" * LONG, "?" * LONG, "*a" * (LONG // 2), "[]" * (LONG // 2)),
        *("[" * LONG + "]", "*[a-z]" * (LONG // 6) + "b", "[a-" * (LONG // 3), "\\" * LONG),
        *("a/" * LONG, "*a" * 500 + "b", "*?" * 500 + "b", "*[ab]" * 500 + "c"),
    ],
    ids=lambda pattern: f"{pattern[:6]}…{pattern[-1]}",
)
def test_hostile_patterns_end(pattern: str) -> None:
    paths = ["a" * 4000, "a" * 1000, "/home/ann/notes/a.txt", ""]
    assert [glob_of(pattern).matches(path) for path in paths] == [pattern == "*" * LONG] * 4
