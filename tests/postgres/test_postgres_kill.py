"""Clients and servers that are killed: what was committed stays, and the next run does the rest."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lpisearch.admin.maintenance import examine
from lpisearch.errors import LibraryError
from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.library import Library
from lpisearch.location import Address
from lpisearch.options import IndexOptions, IngestOptions
from tests.servers import programs_of, running, start, stop

_MOMENTS = 4
_DOCUMENTS = 120
_OPTIONS = IngestOptions(batch_documents=10)
_WORDS = ("ship", "boat", "harbour", "sail", "anchor", "tide", "wave", "storm", "pilot", "rope")


def _files(number: int = _DOCUMENTS) -> dict[str, str]:
    chance = random.Random(3)  # noqa: S311 (texts, not secrets)
    return {f"{n}.txt": " ".join(chance.choices(_WORDS, k=30)) + f" w{n}" for n in range(number)}


def _sound(address: Address) -> None:
    assert [finding for finding in examine(address) if not finding.ok] == []


def _finish(address: Address, root: Path) -> None:
    """Bring in what is left, and compare with what there is to be."""
    run_ingest(address, [str(root)], _OPTIONS)
    with Library(address) as library:
        found = {one.id: one.text for one in library}
    assert found == {path.name: path.read_text("utf-8") for path in root.iterdir()}
    _sound(address)


def _killed(process: Any, seconds: float) -> bool:
    process.start()
    process.join(seconds)
    alive: bool = process.is_alive()
    process.kill()
    process.join()
    return alive


def test_a_client_that_is_killed_while_it_ingests(
    new_address: Callable[[], Address], folder: Callable[..., Path], processes: Any
) -> None:
    root = folder(_files())
    for _ in range(2):  # the second is as warm as those that follow
        begun = time.monotonic()
        whole = processes.Process(target=run_ingest, args=(new_address(), [str(root)], _OPTIONS))
        _killed(whole, 120)
    lasted = time.monotonic() - begun
    killed = 0
    for moment in range(1, _MOMENTS + 1):
        address = new_address()
        process = processes.Process(target=run_ingest, args=(address, [str(root)], _OPTIONS))
        killed += _killed(process, lasted * moment / (_MOMENTS + 1))
        _finish(address, root)
    assert killed


def test_a_client_that_is_killed_while_it_indexes(
    address: Address, folder: Callable[..., Path], processes: Any
) -> None:
    run_ingest(address, [str(folder(_files(60)))], IngestOptions())
    build_index(address, IndexOptions(dims=2))
    begun = time.monotonic()
    build_index(address, IndexOptions(dims=3))
    lasted = time.monotonic() - begun
    for moment in range(1, _MOMENTS + 1):
        options = IndexOptions(dims=3 + moment)
        process = processes.Process(target=build_index, args=(address, options))
        _killed(process, lasted * moment / (_MOMENTS + 1))
        with Library(address) as library:
            assert library.vectors()[1].shape[1] in range(2, 4 + moment)
            assert library.search("ship")
        _sound(address)
    build_index(address, IndexOptions(dims=9))


@pytest.mark.timeout(400)
def test_a_server_that_is_killed(folder: Callable[..., Path], processes: Any) -> None:
    root = folder(_files())
    programs = programs_of()
    with running(programs, durable=True) as server:
        address = server.address()
        process = processes.Process(target=_ingest_until_it_fails, args=(address, str(root)))
        process.start()
        while process.is_alive() and _stored(address) < _DOCUMENTS // 4:
            time.sleep(0.05)
        before = _stored(address)
        server.kill()
        process.join(60)
        assert process.exitcode == 0, "the client stated the loss"
        start(programs, server.folder, durable=True)
        _sound(address)
        # As in a file: the last batches may be lost by a power cut, which this was not.
        assert _stored(address) >= before - 3 * _OPTIONS.batch_documents
        _finish(address, root)
        stop(server.folder)


def _stored(address: Address) -> int:
    try:
        with Library(address) as library:
            return len(library)
    except LibraryError:
        return 0


def _ingest_until_it_fails(address: Address, root: str) -> None:
    try:
        run_ingest(address, [root], _OPTIONS)
    except LibraryError as error:
        if not error.next_step:
            raise
