"""`lpisearch demo`: the main job on the sample corpus, each step as a person would type it."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from lpisearch.cli.render import say
from lpisearch.settings import shipped_folder

_INGEST = ("ingest",)
_EVALUATE = ("evaluate",)
_STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Bring in a folder of documents; the names of its folders become labels.", _INGEST),
    ("A second time, nothing is read again.", _INGEST),
    ("Learn from the documents which words belong together.", ("index",)),
    (
        "Ask in your own words: a hit need not have them.",
        ("query", "why does my bread stay flat", "-k", "3"),
    ),
    ("By meaning alone, and why.", ("query", "leaven", "-k", "1", "--by", "semantic", "--explain")),
    ("What is like this letter?", ("similar", "sailing/letter-from-a-lightship.odt", "-k", "3")),
    ("Which label would a new text have?", ("classify", "my chain slips on the smallest sprocket")),
    ("What is all this about?", ("topics",)),
    ("How good is it, beside plain words and LSI?", _EVALUATE),
    ("Is everything sound?", ("doctor",)),
)


def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="Keep the demo library here; else it is removed."),
    ] = None,
) -> None:
    """Walk through the program on the sample corpus."""
    corpus = shipped_folder("sample_corpus")
    more: dict[tuple[str, ...], tuple[str, ...]] = {
        _INGEST: (str(corpus / "documents"), "--labels", "folder"),
        _EVALUATE: (
            *("--queries", str(corpus / "queries.jsonl")),
            *("--qrels", str(corpus / "qrels.tsv")),
        ),
    }
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        library = folder / "demo.db"
        for purpose, verb in _STEPS:
            _step(library, purpose, [*verb, *more.get(verb, ())])
    say("\nNow with your own documents:  lpisearch ingest FOLDER", bold=True)


def _step(library: Path, purpose: str, verb: list[str]) -> None:
    say(f"\n{purpose}", bold=True)
    say(f"$ lpisearch {shlex.join(verb)}\n", dim=True)
    sys.stdout.flush()
    command = [sys.executable, "-m", "lpisearch", "--db", str(library), *verb]
    result = subprocess.run(command, check=False)  # noqa: S603 (our own program)
    if result.returncode:
        raise typer.Exit(result.returncode)
