import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from lpisearch.errors import ClusterLost
from lpisearch.index.build import build_index
from lpisearch.location import Address, shipped_folder
from lpisearch.model.documents import IngestReport
from lpisearch.options import IndexOptions
from tests.cluster.conftest import OPTIONS, Dask, arrays_of, assert_same, wait_for, workers_of
from tests.indexing import open_index


def _on(dask: Dask, **more: Any) -> IndexOptions:
    return IndexOptions(dims=6, neighbours=5, cluster=dask.address, **more)


def test_the_sample_corpus_is_the_same_index(
    ingest: Callable[..., IngestReport], library: Path, dask: Dask
) -> None:
    ingest(shipped_folder("sample_corpus"))
    build_index(library, OPTIONS)
    expected = arrays_of(library)
    report = build_index(library, _on(dask))
    assert_same(arrays_of(library), expected)
    assert report.notes == []
    assert {"counting terms", "embedding documents"} <= report.wire.keys()
    assert all(each["sent"] and each["received"] for each in report.wire.values())


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("packed", [False, True], ids=["as they are", "packed"])
def test_many_partitions_are_the_same_index(
    many: Path,
    expected: dict[str, Any],
    dask: Dask,
    monkeypatch: pytest.MonkeyPatch,
    *,
    packed: bool,
) -> None:
    if packed:
        monkeypatch.setattr("lpisearch.index.subspace.PACKED_FROM", 1000)
        build_index(many, OPTIONS)
        expected = arrays_of(many)
    assert (expected["term_factors"] < 1).any()  # edges were found
    report = build_index(many, _on(dask))
    assert_same(arrays_of(many), expected)
    # Each partition is counted and written anew; the vocabularies of 15 are joined twice.
    assert report.wire["counting terms"]["parts"] >= 15 + 15 + 3


def test_a_library_in_postgresql_is_read_by_workers(
    records: list[dict[str, Any]],
    new_address: Callable[[], Address],
    put: Callable[..., Any],
    dask: Dask,
    tmp_path: Path,
) -> None:
    address = new_address()
    put(records, into=address)
    build_index(address, IndexOptions(dims=6, neighbours=5, index_store=str(tmp_path / "shared")))
    expected = {name: array.copy() for name, array in open_index(address).arrays.items()}
    report = build_index(address, _on(dask))
    assert_same(dict(open_index(address).arrays), expected)
    assert report.wire["counting terms"]["parts"] == 3


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("stage", ["counting terms", "embedding documents"])
def test_a_worker_that_is_killed_is_replaced(
    many: Path, expected: dict[str, Any], stage: str
) -> None:
    killed: list[int] = []

    def on_stage(name: str) -> None:
        if name == stage and not killed:
            killed.extend(workers_of())
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    build_index(many, IndexOptions(dims=6, neighbours=5, workers=2), on_stage)
    assert len(killed) == 2
    assert_same(arrays_of(many), expected)
    wait_for(lambda: not workers_of())


_DIES = """
import os, signal, sys
from lpisearch.index.build import build_index
from lpisearch.options import IndexOptions
from pathlib import Path

def on_stage(name):
    if name == "embedding documents":
        import psutil
        print(*[each.pid for each in psutil.Process().children(recursive=True)], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    options = IndexOptions(dims=6, neighbours=5, workers=1)
    build_index(Path(sys.argv[1]), options, on_stage)
"""


def test_a_driver_that_is_killed_is_gone_on_with(
    many: Path, expected: dict[str, Any], dask: Dask, tmp_path: Path
) -> None:
    script = tmp_path / "dies.py"
    script.write_text(_DIES)
    ended = subprocess.run(
        [sys.executable, script, many], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == -signal.SIGKILL
    workers = [int(pid) for pid in ended.stdout.split()]
    assert workers
    wait_for(lambda: not any(map(psutil.pid_exists, workers)))
    report = build_index(many, _on(dask))
    assert report.resumed == ["counting terms", "writing postings", "map"]
    assert_same(arrays_of(many), expected)


def test_an_interrupt_ends_driver_and_workers(many: Path) -> None:
    command = [sys.executable, "-m", "lpisearch", "--db", str(many), "index", "--workers", "1"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    workers = wait_for(lambda: workers_of(process.pid))
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in said
    wait_for(lambda: not any(map(psutil.pid_exists, workers)))


def test_a_cluster_that_goes_is_stated(
    many: Path, new_dask: Callable[[], Dask], dask: Dask
) -> None:
    own = new_dask()

    def on_stage(name: str) -> None:
        if name == "embedding documents":
            own.scheduler.kill()
            own.scheduler.wait()

    with pytest.raises(ClusterLost, match="lost the connection to its scheduler"):
        build_index(many, _on(own), on_stage)
    assert build_index(many, _on(dask)).resumed == ["counting terms", "writing postings", "map"]


def test_the_command_line_says_what_went_over_the_wire(
    cli: Callable[..., Any], shelf: Path, dask: Dask
) -> None:
    shutil.rmtree(shelf.with_suffix(".index"), ignore_errors=True)
    answer = cli("index", "--cluster", dask.address, "--dims", "3", "--json")
    assert answer.exit_code == 0, answer.output
    wire = json.loads(answer.stdout)["wire"]
    assert {"parts", "sent", "shared", "received"} < wire["counting terms"].keys()
    assert "sent and received" in cli("index", "--cluster", dask.address, "--dims", "3").stdout


def test_workers_of_another_machine_do_not_read_a_file(
    shelf: Path, dask: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_index(shelf, OPTIONS)
    expected = arrays_of(shelf)
    monkeypatch.setattr("lpisearch.numeric.dask_cluster.is_one_machine", lambda _cluster: False)
    report = build_index(shelf, _on(dask))
    assert_same(arrays_of(shelf), expected)
    assert any(note.startswith("Words were counted on this machine only") for note in report.notes)
