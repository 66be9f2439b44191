import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lpisearch.storage import writer_lock

Program = Callable[..., subprocess.CompletedProcess[str]]

_NOTES = {"a.txt": "A letter about ships.", "b.txt": "A recipe for plum cake."}


@pytest.fixture
def started(library: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a starter of `lpisearch --db LIBRARY …`; what still runs at the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def start(*words: str | Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "lpisearch", "--db", str(library), *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def _records(number: int, name: str = "r") -> str:
    words = " ".join(f"word{n}" for n in range(60))
    return "".join(
        json.dumps({"id": f"{name}{n}", "text": f"text {n} {words}"}) + "\n" for n in range(number)
    )


def _count(program: Program) -> int:
    done = program("status", "--json")
    return int(json.loads(done.stdout)["documents"]) if done.returncode == 0 else 0


def test_a_second_writer_says_who_holds_the_library(
    library: Path, folder: Callable[..., Path], program: Program
) -> None:
    root = folder(_NOTES)
    with writer_lock(library, "ingest", 0):
        done = program("ingest", root, "--wait", "0")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{library} is locked: lpisearch ingest (process {os.getpid()} " in done.stderr
    assert program("ingest", root, "--wait", "0").returncode == 0


def test_two_writers_take_turns(
    folder: Callable[..., Path], started: Callable[..., Any], program: Program
) -> None:
    roots = [folder({f"{name}{n}.txt": f"Note {n}." for n in range(50)}, name) for name in "abc"]
    writers = [started("ingest", root, "--json") for root in roots]
    for writer in writers:
        output, errors = writer.communicate(timeout=60)
        assert (writer.returncode, errors) == (0, "")
        assert json.loads(output)["added"] == 50
    assert _count(program) == 150
    assert json.loads(program("doctor", "--json").stdout)["ok"]


def _until_half_done(program: Program) -> int:
    for _ in range(200):
        if number := _count(program):
            return number
        time.sleep(0.02)
    pytest.fail("the ingest wrote nothing")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_an_interrupt_keeps_finished_batches(
    folder: Callable[..., Path],
    started: Callable[..., Any],
    program: Program,
    number: signal.Signals,
) -> None:
    root = folder({"a.jsonl": _records(25_000)})
    process = started("ingest", root)
    kept = _until_half_done(program)
    begun = time.monotonic()
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert time.monotonic() - begun < 5
    assert output == ""
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert (
            errors.strip()
            == "Interrupted. Completed work is saved; run the same command to continue."
        )
    else:
        assert process.returncode in {-signal.SIGTERM, 128 + signal.SIGTERM}
    assert kept <= _count(program) < 25_000
    assert json.loads(program("doctor", "--json").stdout)["ok"]
    report = json.loads(program("ingest", root, "--json").stdout)
    assert report["added"] > 0
    assert report["added"] + report["unchanged"] == 25_000


@pytest.fixture(params=["new", "there"])
def of_each_kind(
    request: pytest.FixtureRequest, folder: Callable[..., Path], program: Program
) -> None:
    """Let the library be made by the test, or be there before."""
    if request.param != "new":
        program("ingest", folder({"a1.jsonl": _records(1, "a1-")}, "a"))


@pytest.mark.usefixtures("of_each_kind")
def test_writers_under_two_names_lose_nothing(
    library: Path, folder: Callable[..., Path], program: Program, sound: Callable[..., None]
) -> None:
    link = library.parent / "other" / "link.db"
    link.parent.mkdir()
    link.symlink_to(library)
    roots = [folder({f"{name}{n}.jsonl": _records(1, f"{name}{n}-") for n in range(200)}, name)
             for name in "ab"]  # fmt: skip
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "lpisearch", "--db", name, "ingest", root, "--prune", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name, root in zip((library, link), roots, strict=True)
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert (writer.returncode, errors) == (0, b"")
    assert _count(program) == 400
    sound()
