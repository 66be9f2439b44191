"""A Dask cluster of this machine, as a user would start one, and a library to build from."""

import contextlib
import json
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from lpisearch.index.build import build_index
from lpisearch.options import IndexOptions, IngestOptions
from tests.indexing import open_index

_SECONDS = 40
OPTIONS = IndexOptions(dims=6, neighbours=5)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder."""
    for item in items:
        if "tests/cluster" in item.path.as_posix():
            item.add_marker("cluster")
            # Dask closes some of its connections when nobody looks any more.
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(
                pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
            )


class Dask:
    """A scheduler with a worker, each a process."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.folder = folder
        self.scheduler = self._run("scheduler", "--host", "127.0.0.1", "--port", str(port))
        self.workers = [self.add_worker()]

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start one more."""
        words = ("--nthreads", "1", "--no-dashboard", "--local-directory", str(self.folder))
        return self._run("worker", self.address, *words, "--no-nanny")

    def close(self) -> None:
        """End all of it."""
        for each in (*self.workers, self.scheduler):
            each.kill()
            each.wait()

    def _run(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )


def wait_for(answer: Callable[[], Any], seconds: float = _SECONDS) -> Any:
    """Ask again and again until there is an answer that is not empty."""
    end = time.monotonic() + seconds
    while not (found := answer()) and time.monotonic() < end:
        time.sleep(0.05)
    assert found, "nothing happened in time"
    return found


@pytest.fixture
def new_dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Dask]]:
    """Return a maker of clusters, for a test that breaks its own."""
    made = []

    def make() -> Dask:
        made.append(Dask(tmp_path_factory.mktemp("dask")))
        wait_for(lambda: answers(made[-1]))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(scope="session")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    """Return a cluster that no test breaks."""
    found = Dask(tmp_path_factory.mktemp("dask"))
    try:
        wait_for(lambda: answers(found))
        yield found
    finally:
        found.close()


def answers(dask: Dask) -> bool:
    """Tell whether the scheduler takes connections."""
    host, port = dask.address.removeprefix("tcp://").split(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1):
        return True
    return False


def workers_of(process: int | None = None) -> list[int]:
    """Return the processes that work for this process, or another one, by `--workers`."""
    children = psutil.Process(process).children(recursive=True)
    return [each.pid for each in children if _is_worker(each)]


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.Error:
        return False


@pytest.fixture(scope="session")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Return a library of 1,500 documents, some long and with common edges, and its index."""
    from lpisearch.ingest.ingestion import run_ingest

    chance = random.Random(11)  # noqa: S311 (texts, not secrets)
    words = [f"w{number}" for number in range(2000)]
    folder = tmp_path_factory.mktemp("stocked")
    with (folder / "records.jsonl").open("w") as stream:
        for number in range(1500):
            topic = number % 7
            some = chance.choices(words[topic * 250 : topic * 250 + 250], k=30)
            some += chance.choices(words, k=200 if number % 9 == 0 else 5)
            text = " ".join(["home", "next", *some, "imprint", "contact"])
            stream.write(json.dumps({"id": str(number), "text": text, "labels": [f"t{topic}"]}))
            stream.write("\n")
    library = folder / "library.db"
    run_ingest(library, [str(folder / "records.jsonl")], IngestOptions())
    build_index(library, OPTIONS)
    return library, arrays_of(library)


@pytest.fixture
def many(stocked: tuple[Path, dict[str, Any]], library: Path) -> Path:
    """Return a copy of that library, without the index."""
    shutil.copy(stocked[0], library)
    return library


@pytest.fixture
def expected(stocked: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    """Return the arrays of its index, built by one process."""
    return stocked[1]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have documents counted in blocks of 100."""
    for module in ("inversion", "partitions", "pipeline"):
        monkeypatch.setattr(f"lpisearch.index.{module}.BLOCK_ROWS", 100)


def arrays_of(library: Path) -> dict[str, Any]:
    """Return all arrays of an index."""
    return {name: np.array(array) for name, array in open_index(library).arrays.items()}


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare two indexes to the bit."""
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
