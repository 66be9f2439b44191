"""Files that the workers of a cluster read."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from lpisearch.errors import BadOption, ClusterLost
from lpisearch.ingest import extraction
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.options import IngestOptions
from lpisearch.readers.isolation import WorkerProcess
from tests.cluster.conftest import wait_for
from tests.unit.ingest.test_workers import ENGLISH, ROWS, mixed_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.model.documents import IngestReport, Progress
    from tests.cluster.conftest import Dask

    Ingest = Callable[..., IngestReport]
    Sql = Callable[..., list[Any]]
    Folder = Callable[..., Path]
    Sound = Callable[..., None]


@pytest.fixture
def same(sql: Sql, tmp_path: Path) -> Callable[[Path], None]:
    """Return an assertion that a library is the one that this process would have made."""

    def check(root: Path, library: Path) -> None:
        alone = tmp_path / "alone.db"
        run_ingest(alone, [str(root)], IngestOptions(workers=1))
        for statement in ROWS:
            assert sql(statement, on=library) == sql(statement, on=alone)

    return check  # type: ignore[return-value]


@pytest.fixture
def local_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list of the processes that are started on this side."""
    started: list[int] = []
    whole = WorkerProcess.__init__

    def start(process: WorkerProcess, memory: int) -> None:
        whole(process, memory)
        started.append(process.pid)

    monkeypatch.setattr(WorkerProcess, "__init__", start)
    return started


def _there(dask: Dask) -> list[psutil.Process]:
    children: list[psutil.Process] = psutil.Process(dask.workers[0].pid).children(recursive=True)
    return children


@pytest.mark.parametrize("way", ["seen", "sent", "too large to be sent"])
def test_workers_of_a_cluster_make_the_same_library(
    ingest: Ingest,
    folder: Folder,
    library: Path,
    dask: Dask,
    same: Callable[..., None],
    *,
    local_reads: list[int],
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    root = folder(mixed_files() | {"broken.pdf": b"%PDF-1.4 broken"})
    if way != "seen":  # as if other files were there
        facts = extraction._facts
        size = 0 if way == "sent" else extraction._MOST_SENT + 1
        monkeypatch.setattr(extraction, "_facts", lambda one: ((facts(one) or (0, 0))[0] + size, 1))
    report = ingest(root, cluster=dask.address)
    assert report.added == 94
    assert [failure.path for failure in report.failures] == [str(root / "broken.pdf")]
    assert bool(local_reads) == (way == "too large to be sent")
    wait_for(lambda: not _there(dask))
    same(root, library)


def test_a_killed_worker_of_a_cluster_is_replaced(
    folder: Folder, library: Path, new_dask: Callable[[], Dask], same: Callable[..., None]
) -> None:
    own = new_dask()
    own.workers.append(own.add_worker())
    root = folder({f"{number:03}.txt": f"{ENGLISH} {number}" for number in range(300)})
    options = IngestOptions(cluster=own.address, batch_documents=10)
    seen: list[int] = []

    def on_progress(progress: Progress) -> None:
        if not seen:
            own.workers[0].kill()
            own.workers[0].wait()
        seen.append(progress.documents)

    report = run_ingest(library, [str(root)], options, on_progress)
    assert seen
    assert (report.added, report.failures) == (300, [])
    same(root, library)


def test_a_cluster_that_goes_ends_the_run_and_the_next_one_goes_on(
    folder: Folder,
    library: Path,
    new_dask: Callable[[], Dask],
    same: Callable[..., None],
    sound: Sound,
) -> None:
    own = new_dask()
    root = folder({f"{number:03}.txt": f"{ENGLISH} {number}" for number in range(300)})
    options = IngestOptions(cluster=own.address, batch_documents=10)

    def on_progress(_progress: Progress) -> None:
        own.close()

    with pytest.raises(ClusterLost, match="Lost the cluster"):
        run_ingest(library, [str(root)], options, on_progress)
    sound()
    report = run_ingest(library, [str(root)], dataclasses.replace(options, cluster=""))
    assert (report.failures, report.added + report.unchanged) == ([], 300)
    same(root, library)


def test_a_cluster_and_workers_are_refused(ingest: Ingest, folder: Folder) -> None:
    with pytest.raises(BadOption, match="cannot be used together"):
        ingest(folder({"a.txt": ENGLISH}), cluster="tcp://a:1", workers=2)


def test_the_command_line_takes_a_cluster(
    cli: Callable[..., Any], folder: Folder, dask: Dask
) -> None:
    answer = cli("ingest", folder(mixed_files()), "--cluster", dask.address, "--json")
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["added"] == 94
