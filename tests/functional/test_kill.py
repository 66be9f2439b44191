import json
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lpisearch
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.model.documents import Filter
from lpisearch.options import IngestOptions

_SIGKILLED = -9
_MOMENTS = {"first": 24, "workers": 12, "update": 12, "move": 8}  # `make torture` takes more
_MOST_TRIES = 3  # so many times as many moments, on a machine that slows down
_WORDS = ("ship", "boat", "harbour", "sail", "anchor", "tide", "wave", "storm", "pilot", "rope")

pytestmark = pytest.mark.timeout(300)


def _text(number: int) -> str:
    chance = random.Random(number)  # noqa: S311 (texts, not secrets)
    return " ".join(chance.choices(_WORDS, k=30))


def _files(numbers: range, word: str = "") -> dict[str, str]:
    files = {f"{'ab'[n % 2]}/{n}.txt": f"{_text(n)} {word}" for n in numbers}
    records = ({"id": f"r{n}", "text": f"{_text(n)} {word}", "labels": ["x", "y"]} for n in numbers)
    files["records.jsonl"] = "".join(json.dumps(record) + "\n" for record in records)
    return files


def _progress(documents: list[Any]) -> tuple[int, int]:
    """Return how many documents there are, and how many of them have moved."""
    return len(documents), sum("/c/" in path for _, path, *_ in documents)


def _change(kind: str, base: Path, root: Path, folder: Callable[..., Path]) -> None:
    """Change the files of a library, between two runs."""
    if kind == "update":
        shutil.rmtree(root)
        folder(_files(range(100)) | _files(range(100, 130), "changed") | _files(range(200, 250)))
        return
    with lpisearch.open(base) as opened:
        opened.label(where=Filter(path="a"), add="mine")
    (root / "a").rename(root / "c")
    (root / "records.jsonl").rename(root / "c" / "moved.jsonl")


@pytest.mark.parametrize("kind", _MOMENTS)
def test_nothing_is_lost_by_a_kill(
    tmp_path: Path,
    folder: Callable[..., Path],
    content: Callable[..., dict[str, list[Any]]],
    sound: Callable[..., None],
    processes: Any,
    *,
    kind: str,
) -> None:
    """Killed at any moment, a library opens, is sound, and is completed by a further run.

    "first" makes a library from nothing, "workers" with two that read and
    tokenise; "update" changes, adds and prunes documents; "move" moves
    files whose documents are labelled by hand.
    """
    options = IngestOptions(
        batch_documents=20, prune=kind == "update", workers=2 * (kind == "workers")
    )
    root = folder(_files(range(150)))
    base = tmp_path / "base.db"
    if kind not in {"first", "workers"}:
        run_ingest(base, [str(root)], options)
        _change(kind, base, root, folder)

    def begin(library: Path) -> Any:
        library.parent.mkdir()
        if base.exists():
            shutil.copy(base, library)
        process = processes.Process(target=run_ingest, args=(library, [str(root)], options))
        process.start()
        return process

    durations = []
    for number in range(3):
        begun = time.monotonic()
        begin(tmp_path / f"whole{number}" / "library.db").join()
        durations.append(time.monotonic() - begun)
    expected = content(tmp_path / "whole0" / "library.db")
    assert all(expected.values())

    chance = random.Random(len(kind))  # noqa: S311 (moments, not secrets)
    span = min(durations)
    killed = 0
    held: set[tuple[int, int]] = set()
    for number in range(_MOST_TRIES * _MOMENTS[kind]):
        if number >= _MOMENTS[kind]:
            if len(held) > 1:
                break
            span = 2 * max(durations)  # the machine has slowed down: nothing was begun so far
        library = tmp_path / f"killed{number}" / "library.db"
        process = begin(library)
        time.sleep(chance.uniform(0, span))
        process.kill()
        process.join()
        killed += process.exitcode == _SIGKILLED
        if library.exists():
            sound(library)
            held.add(_progress(content(library)["documents"]))
            by_hand = [row for row in content(library)["labels"] if row[1] == "mine"]
            assert kind != "move" or len(by_hand) == 75
        run_ingest(library, [str(root)], options)
        assert content(library) == expected
        sound(library)
        shutil.rmtree(library.parent)
    # The test has looked at what it is about: runs cut off at more than one stage.
    assert killed > _MOMENTS[kind] / 5
    assert len(held) > 1
