"""`lpisearch demo`: run the main commands on the sample corpus."""

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
    ("Add a folder of documents; its subfolder names become labels.", _INGEST),
    ("Run it again: unchanged files are skipped.", _INGEST),
    ("Build the index: learn which words belong together.", ("index",)),
    (
        "Search in your own words; results need not contain them.",
        ("query", "why does my bread stay flat", "-k", "3"),
    ),
    (
        "Search by meaning alone, and explain the result.",
        ("query", "leaven", "-k", "1", "--by", "semantic", "--explain"),
    ),
    (
        "Find documents similar to this letter.",
        ("similar", "sailing/letter-from-a-lightship.odt", "-k", "3"),
    ),
    ("Predict a label for a new text.", ("classify", "my chain slips on the smallest sprocket")),
    ("List the topics in the collection.", ("topics",)),
    ("Measure quality, compared with plain words and LSI.", _EVALUATE),
    ("Check the library for damage.", ("doctor",)),
)


def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER", help="Keep the demo library in this folder (default: delete it)."
        ),
    ] = None,
) -> None:
    """Take a tour with the sample documents."""
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
    say("\nNow try your own documents:  lpisearch ingest FOLDER", bold=True)


def _step(library: Path, purpose: str, verb: list[str]) -> None:
    say(f"\n{purpose}", bold=True)
    say(f"$ lpisearch {shlex.join(verb)}\n", dim=True)
    sys.stdout.flush()
    command = [sys.executable, "-m", "lpisearch", "--db", str(library), *verb]
    result = subprocess.run(command, check=False)  # noqa: S603 (our own program)
    if result.returncode:
        raise typer.Exit(result.returncode)
