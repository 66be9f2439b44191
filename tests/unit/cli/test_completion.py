"""What the shell proposes for values."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def proposed(words: str, place: Path) -> list[str]:
    """Return what bash is told for the last word."""
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", "from lpisearch.cli.app import app; app(prog_name='lpisearch')"],
        env={**os.environ, **asked, "_LPISEARCH_COMPLETE": "complete_bash"},
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("lpisearch query --by s", ["semantic"]),
        ("lpisearch similar --by ", ["hybrid", "semantic", "lexical"]),
        ("lpisearch index --method ls", ["lsda", "lsi", "ls+lpi", "lsc"]),
        ("lpisearch query --db library.db --label s", ["sea", "sky"]),
        ("lpisearch --db library.db docs list --label k", ["kitchen"]),
        ("lpisearch docs --db library.db show sea/1", ["sea/12", "sea/16"]),
        ("lpisearch query --db library.db --like [", []),
        ("lpisearch query --sort o", ["oldest"]),
        ("lpisearch classify --classifier svm+", ["svm+centroid", "svm+map-svm"]),
        ("lpisearch config set index.a", ["index.alpha"]),
        ("lpisearch label --db library.db sea/1", ["sea/12", "sea/16"]),
        ("lpisearch label --db library.db sea/12 +k", ["+kitchen"]),
        ("lpisearch query --db library.db --index d", []),
        ("lpisearch query --db nowhere.db --label s", []),
    ],
)
def test_values_complete(shelf: Path, words: str, names: list[str]) -> None:
    """Ways, methods, labels, indexes and ids are proposed; where there are none, nothing."""
    assert proposed(words, shelf.parent) == names
