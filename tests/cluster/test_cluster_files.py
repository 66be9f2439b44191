from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import lpisearch
from lpisearch.errors import BadOption, NothingThere, ReaderError, ShardsUnusable
from lpisearch.ingest.ingesting import run_ingest
from lpisearch.ingest.remote import brought_here, find_files, said_of
from lpisearch.library import index_files
from lpisearch.maintenance import from_files
from lpisearch.settings import IndexOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cluster.conftest import Dask

OPTIONS = IndexOptions(dims=6, neighbours=5)
QUESTIONS = ["ship harbour", "bread flour", "planet orbit", "violin tune", "morning letter road"]


@pytest.fixture
def files(tmp_path: Path, records: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of three files of JSON Lines and one of Parquet, each of which is a shard."""
    import pyarrow as pa
    from pyarrow import parquet

    monkeypatch.setattr(from_files, "_SHARD_BYTES", 1)
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(3):
        lines = [json.dumps(record) + "\n" for record in records[number * 10 : number * 10 + 10]]
        (folder / f"part{number}.jsonl").write_text("".join(lines))
    parquet.write_table(pa.Table.from_pylist(records[30:]), folder / "part3.parquet")
    return folder


@pytest.fixture
def whole(
    files: Path, records: list[dict[str, Any]], tmp_path: Path, ingest: Callable[..., Any]
) -> Path:
    """Return one library of the same documents, with its index."""
    lines = [json.dumps(record) + "\n" for record in records[30:]]
    copy = tmp_path / "copy" / "part3.jsonl"
    copy.parent.mkdir()
    copy.write_text("".join(lines))
    path = tmp_path / "whole.db"
    ingest(*sorted(files.glob("*.jsonl")), copy, into=path)
    with lpisearch.open(path) as library:
        library.index(options=OPTIONS)
    return path


def _answers(path: Path) -> list[list[tuple[str, float]]]:
    with lpisearch.open(path) as library:
        found = [library.search(question, k=12).hits for question in QUESTIONS]
    return [[(hit.id, round(hit.score, 4)) for hit in hits] for hits in found]


@pytest.mark.parametrize("who", ["threads", "cluster"])
def test_files_become_a_sharded_library(
    files: Path, whole: Path, tmp_path: Path, dask: Dask, who: str
) -> None:
    """Its answers are those of one library of the same documents, and its ids too."""
    cluster = dask.address if who == "cluster" else ""
    options = IndexOptions(dims=6, neighbours=5, cluster=cluster)
    out = tmp_path / "out"
    report = index_files(str(files), out, options=options)
    assert report.documents == 40
    assert report.notes[-1] == f"4 shards in {out}"
    assert bool(report.wire) == (who == "cluster")
    assert _answers(out) == _answers(whole)
    names = sorted(path.name for path in out.iterdir())
    assert names == [
        *(f"shard-000{n}.{end}" for n in range(4) for end in ("db", "index")),
        "shards.json",
    ]
    with lpisearch.open(out) as library:
        assert all(finding.ok for finding in library.examine())


_DIES = """
import os, signal, sys
from pathlib import Path
from lpisearch.library import index_files
from lpisearch.maintenance import from_files
from lpisearch.settings import IndexOptions

from_files._SHARD_BYTES = 1

def at(name, *more):
    if name == sys.argv[3] or more and sys.argv[3] == str(name):
        os.kill(os.getpid(), signal.SIGKILL)

options = IndexOptions(dims=6, neighbours=5)
index_files(sys.argv[1], Path(sys.argv[2]), options=options, on_stage=at, on_step=lambda *n: at(*n))
"""


@pytest.mark.parametrize("moment", ["2", "embedding documents", "writing shards"])
def test_a_killed_run_goes_on(
    files: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Killed after two shards, or later, the next run keeps what is finished."""
    out = tmp_path / "out"
    command = [sys.executable, "-c", _DIES, str(files), str(out), moment]
    assert subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGKILL
    with pytest.raises(ShardsUnusable):
        lpisearch.open(out)
    made: list[Any] = []

    def ingest(library: Path, *more: Any) -> Any:
        made.append(library)
        return run_ingest(library, *more)

    monkeypatch.setattr(from_files, "run_ingest", ingest)
    report = index_files(str(files), out, options=OPTIONS)
    assert len(made) <= (2 if moment == "2" else 0)
    assert bool(report.resumed) == (moment != "2")
    assert _answers(out) == _answers(whole)


def test_what_is_there_is_not_replaced(files: Path, tmp_path: Path) -> None:
    """A folder with anything else, or a finished library, is left alone."""
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "diary.txt").write_text("mine")
    with pytest.raises(ShardsUnusable, match="it is not empty"):
        index_files(str(files), taken, options=OPTIONS)
    out = tmp_path / "out"
    index_files(str(files / "*.jsonl"), out, options=OPTIONS)
    with pytest.raises(ShardsUnusable, match="it already contains"):
        index_files(str(files / "*.jsonl"), out, options=OPTIONS)


def test_files_of_other_stores(files: Path, tmp_path: Path) -> None:
    """What fsspec reads is brought here; no password of an address is said or written."""
    import fsspec

    memory = fsspec.filesystem("memory")
    for path in files.iterdir():
        memory.pipe(f"/bucket/{path.name}", path.read_bytes())
    found = find_files("memory://bucket/part*")
    assert [(file.name, file.is_here) for file in found] == [
        *((f"part{n}.jsonl", False) for n in range(3)),
        ("part3.parquet", False),
    ]
    out = tmp_path / "out"
    assert index_files("memory://bucket/*.jsonl", out, options=OPTIONS).documents == 30
    with pytest.raises(NothingThere):
        find_files("memory://bucket/none*")
    with pytest.raises(BadOption, match="nosuch:// needs a package"):
        find_files("nosuch://bucket/x")
    assert said_of("https://me:secret@host/x?signature=secret") == "https://host/x"


def test_errors_of_a_store_are_stated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A store raises errors of libraries of its own: without credentials, S3 does."""
    from fsspec.implementations.memory import MemoryFileSystem

    class NoCredentialsError(Exception):
        """What is no OSError."""

    def refuse(*_given: Any, **_named: Any) -> None:
        raise NoCredentialsError("Unable to locate credentials")

    MemoryFileSystem().pipe("/kept/part.jsonl", b'{"text": "a ship"}\n')
    file = find_files("memory://kept/*.jsonl")[0]
    monkeypatch.setattr(MemoryFileSystem, "glob", refuse)
    with pytest.raises(BadOption, match="Unable to locate credentials"):
        find_files("memory://kept/*.jsonl")
    monkeypatch.setattr(MemoryFileSystem, "open", refuse)
    with pytest.raises(ReaderError, match=r"part\.jsonl cannot be read: Unable to locate"):
        brought_here(file, tmp_path)


def test_parquet_without_pyarrow(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said what is missing, before anything is made."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BadOption, match=r"pip install 'lpisearch\[cluster\]'"):
        index_files(str(files / "*.parquet"), tmp_path / "out", options=OPTIONS)
    assert not (tmp_path / "out").exists()


def test_from_and_out_go_together(cli: Callable[..., Any], files: Path, tmp_path: Path) -> None:
    """On the command line each needs the other; both make a library without another one."""
    refused = cli("index", "--from", files)
    assert refused.exit_code == 2
    assert "--from, --out: must be used together" in refused.stderr
    words = ("index", "--from", files / "*.jsonl", "--out", tmp_path / "out", "--dims", "3")
    answer = cli(*words, "--json")
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["documents"] == 30
    assert os.path.isfile(tmp_path / "out" / "shards.json")  # noqa: PTH113
