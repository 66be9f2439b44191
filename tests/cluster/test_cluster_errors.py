from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lpisearch
from lpisearch.errors import (
    BadOption,
    ClusterLost,
    ClusterMismatch,
    ClusterMissing,
    ClusterUnreachable,
    FolderNotShared,
)
from lpisearch.index.build import build_index
from lpisearch.numeric import dask_cluster
from lpisearch.numeric import dask_cluster as working
from lpisearch.numeric.dask_cluster import check_shared, cluster_at, local_cluster
from lpisearch.numeric.row_blocks import map_parts, use_executor
from lpisearch.options import IndexOptions
from lpisearch.storage import open_store
from tests.cluster.conftest import workers_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cluster.conftest import Dask

_IMPORTS = """
import lpisearch.index.build, lpisearch.cli.index, sys
print(*{"distributed", "dask", "lpisearch.numeric.dask_cluster"} & sys.modules.keys())
"""
_PACKAGE = Path(lpisearch.__file__).parent


@pytest.mark.parametrize("address", ["nonsense", "http://localhost:8786", "tcp://localhost"])
def test_an_address_that_is_none(shelf: Path, address: str) -> None:
    with pytest.raises(BadOption, match="is not an address such as tcp://HOST:8786"):
        build_index(shelf, IndexOptions(cluster=address))


def test_nobody_at_the_address(shelf: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ClusterUnreachable, match=r"no response.*dask scheduler"):
        build_index(shelf, IndexOptions(cluster=address))


@pytest.mark.parametrize("missing", ["distributed", "cryptography"])
def test_without_the_extra(shelf: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ClusterMissing, match=r"pip install 'lpisearch\[cluster\]'"):
        build_index(shelf, IndexOptions(workers=2))


@pytest.mark.parametrize("given", [{"cluster": "tcp://a:1", "workers": 2}, {"workers": -1}])
def test_options_that_mean_nothing(shelf: Path, given: dict[str, object]) -> None:
    with pytest.raises(BadOption, match="workers"):
        build_index(shelf, IndexOptions(**given))  # type: ignore[arg-type]


def test_workers_of_another_version(dask: Dask, monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster_at(dask.address) as cluster, use_executor(cluster):
        cluster._versions = "lpisearch 9"
        with pytest.raises(lpisearch.LpiSearchError, match="this machine runs lpisearch 9"):
            list(map_parts(abs, [1]))
    monkeypatch.setattr(dask_cluster, "_COMPARED", ("numpy",))
    dask_cluster.own_versions.cache_clear()
    with pytest.raises(
        ClusterMismatch,
        match=r"The worker tcp.* runs .*scipy.*; this machine runs python [^,]*, numpy [^,]*\.",
    ):
        cluster_at(dask.address).__enter__()
    dask_cluster.own_versions.cache_clear()


def test_a_folder_that_workers_do_not_see(
    dask: Dask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with cluster_at(dask.address) as cluster:
        check_shared(cluster, tmp_path / "shared")
        assert list((tmp_path / "shared").iterdir()) == []
        with pytest.raises(FolderNotShared, match="The worker tcp://"):
            check_shared(cluster, Path("/proc/self/cwd/here"))  # each process has its own
        assert list((tmp_path / "here").iterdir()) == []


def test_errors_of_a_part_come_back(dask: Dask, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.db"
    with cluster_at(dask.address) as cluster, use_executor(cluster):
        with pytest.raises(
            lpisearch.LpiSearchError, match=r"No library found at .*nothing.db. Next: "
        ):
            list(map_parts(open_store, [nothing]))
        with pytest.raises(FileNotFoundError, match="nothing"):
            list(map_parts(os.stat, [nothing]))
        with pytest.raises(TypeError, match="cannot pickle"):
            list(map_parts(open, [__file__]))


def test_a_cluster_without_workers(
    new_dask: Callable[[], Dask], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = new_dask()
    monkeypatch.setattr(working, "_ALONE_SECONDS", 1)
    monkeypatch.setattr(working, "_CHECK_SECONDS", 0.2)
    with cluster_at(own.address) as cluster, use_executor(cluster):
        assert list(map_parts(abs, [-1, -2])) == [1, 2]
        own.workers[0].kill()
        own.workers[0].wait()
        with pytest.raises(ClusterLost, match="it has no workers left"):
            list(map_parts(abs, [-1]))


def test_strangers_have_no_key_for_processes_of_this_machine() -> None:
    with local_cluster(1) as cluster:
        address = cluster.client.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        host, port = address.removeprefix("tls://").split(":")
        stranger = ssl.create_default_context()
        stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
        with pytest.raises((ssl.SSLError, ConnectionError)):
            _first_byte(host, int(port), stranger)
        listening = _listening()
        assert listening
        assert {each for each in listening if not each.startswith("127.0.0.1")} == set()


def test_no_log_of_a_worker_shows_what_is_sent() -> None:
    assert "secret" not in repr(working.Task(b"postgresql://me:secret@host/library"))


def _first_byte(host: str, port: int, context: ssl.SSLContext) -> None:
    with (
        socket.create_connection((host, port), 5) as plain,
        context.wrap_socket(plain) as wrapped,
    ):
        if not wrapped.recv(1):
            raise ConnectionError


def _listening() -> list[str]:
    import psutil

    own = [psutil.Process(), *map(psutil.Process, workers_of())]
    every = [one for each in own for one in each.net_connections("tcp")]
    return [f"{one.laddr.ip}:{one.laddr.port}" for one in every if one.status == psutil.CONN_LISTEN]


def test_only_the_cluster_sends_code() -> None:
    reads = {
        str(path.relative_to(_PACKAGE))
        for path in _PACKAGE.rglob("*.py")
        if "import pickle" in path.read_text(encoding="utf-8")
    }
    assert reads == {"numeric/dask_cluster.py"}
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            _IMPORTS,
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said.strip() == ""
