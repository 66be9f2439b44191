import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lpisearch
from lpisearch.errors import LpiSearchError
from lpisearch.index.build import build_index
from lpisearch.index.subspace import SubspaceIndex
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.options import IndexOptions, IngestOptions
from tests.indexing import open_index

Program = Callable[..., subprocess.CompletedProcess[str]]
Put = Callable[..., Any]

_SIGKILLED = -9
_MOMENTS = 15
_METHODS = ("rlpi", "olpi", "lpi", "lsi")


def _sound_rows(index: SubspaceIndex) -> None:
    lengths = np.linalg.norm(index.vectors, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))


def test_a_kill_leaves_the_old_index_in_use(
    shelf: Path, sound: Callable[..., None], processes: Any, tmp_path: Path
) -> None:
    old, new = IndexOptions(dims=2, method="lsi"), IndexOptions(dims=3, method="lsi")
    build_index(shelf, old)
    folder = shelf.with_suffix(".index")
    saved = [tmp_path / "saved.db", tmp_path / "saved.index"]
    shutil.copy(shelf, saved[0])
    shutil.copytree(folder, saved[1])

    def begin() -> Any:
        process = processes.Process(target=build_index, args=(shelf, new))
        process.start()
        return process

    durations = []
    for _ in range(3):
        begun = time.monotonic()
        begin().join()
        durations.append(time.monotonic() - begun)
    whole = [path.name for path in folder.iterdir()]
    assert len(whole) == 1

    chance = random.Random(3)  # noqa: S311 (moments, not secrets)
    dims, remains = set(), 0
    for number in range(_MOMENTS):
        shutil.rmtree(folder)
        shutil.copytree(saved[1], folder)
        for ending in ("-wal", "-shm"):
            shelf.with_name(shelf.name + ending).unlink(missing_ok=True)
        shutil.copy(saved[0], shelf)
        process = begin()
        # Most of the moments fall into the writing, which is a small part at the end.
        time.sleep(chance.uniform(0.6 if number % 4 else 0, 1) * min(durations))
        process.kill()
        process.join()
        index = open_index(shelf)
        dims.add((index.vectors.shape[1], process.exitcode))
        _sound_rows(index)
        sound()
        remains += len(list(folder.iterdir())) > 1
        build_index(shelf, new)
        assert len(list(folder.iterdir())) == 1
        assert open_index(shelf).vectors.shape == (40, 3)
    assert (2, _SIGKILLED) in dims


_STEPS = ["publish", "_write", "sync_folder", "Path.rename", "SQLIndexes.save", "sweep"]


@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("step", _STEPS)
def test_a_kill_at_each_step_of_writing(
    shelf: Path, sound: Callable[..., None], step: str, how: str
) -> None:
    build_index(shelf, IndexOptions(dims=2, method="lsi"))
    child = os.fork()
    if child == 0:  # pragma: no cover (the child is killed)
        try:
            _die_at(step, how)
            build_index(shelf, IndexOptions(dims=3, method="lsi"))
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    used = open_index(shelf).vectors.shape[1]
    assert used == (3 if step == "sweep" else 2)
    sound()
    build_index(shelf, IndexOptions(dims=4, method="lsi"))
    assert len(list(shelf.with_suffix(".index").iterdir())) == 1
    assert open_index(shelf).vectors.shape[1] == 4


def _die_at(step: str, how: str) -> None:
    """Kill this process before or after a step of writing."""
    from lpisearch.index import format as index_format
    from lpisearch.storage.metadata import SQLIndexes

    home: Any = {"Path.rename": Path, "SQLIndexes.save": SQLIndexes}.get(step, index_format)
    name = step.rsplit(".", maxsplit=1)[-1]
    original = getattr(home, name)

    def die(*values: Any, **options: Any) -> None:
        if how == "after":
            original(*values, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(home, name, die)


def test_an_interrupt_leaves_the_old_index_in_use(shelf: Path, sound: Callable[..., None]) -> None:
    build_index(shelf, IndexOptions(dims=2, method="lsi"))
    build = (
        "import sys, time; from lpisearch.cli import main; import lpisearch.index.format as f\n"
        "def slow(*a):\n print('writing', file=sys.stderr, flush=True); time.sleep(20)\n"
        "f._write = slow; main()"
    )
    words = [sys.executable, "-c", build, "--db", str(shelf), "index", "--method", "lsi", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"writing\n"
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert time.monotonic() - begun < 5
    assert (process.returncode, out) == (130, b"")
    assert b"Interrupted. Nothing of this build was saved" in err
    assert open_index(shelf).vectors.shape[1] == 2
    assert len(list(shelf.with_suffix(".index").iterdir())) == 1
    sound()


def test_a_build_waits_for_an_ingest(shelf: Path, program: Program) -> None:
    lock = shelf.with_name(f"{shelf.name}.lock")
    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.write(json.dumps({"purpose": "ingest", "process": 7, "host": "h", "since": "now"}))
        stream.flush()
        done = program("index", "--method", "lsi", "--json", "--wait", "0.2")
        assert (done.returncode, done.stdout) == (1, "")
        assert "is locked: lpisearch ingest (process 7 on h" in done.stderr
        assert " Next: " in done.stderr
        words = [sys.executable, "-m", "lpisearch", "--db", str(shelf), "index", "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
            time.sleep(1)
            assert process.poll() is None
            fcntl.flock(stream, fcntl.LOCK_UN)
            out, _ = process.communicate(timeout=30)
    assert (process.returncode, json.loads(out)["documents"]) == (0, 40)


def test_a_folder_that_cannot_be_written(shelf: Path, program: Program) -> None:
    build_index(shelf, IndexOptions(dims=2, method="lsi"))
    folder = shelf.with_suffix(".index")
    folder.chmod(0o555)
    done = program("index", "--method", "lsi", "--json")
    folder.chmod(0o755)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Cannot write an index to {folder}" in done.stderr
    assert " Next: " in done.stderr
    assert open_index(shelf).vectors.shape[1] == 2
    shutil.rmtree(folder)
    shelf.parent.chmod(0o555)
    done = program("index", "--method", "lsi", "--json")
    shelf.parent.chmod(0o755)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert "unexpected" not in done.stderr
    assert not folder.exists()


def test_an_index_that_cannot_be_read(shelf: Path, program: Program) -> None:
    folder = Path(build_index(shelf, IndexOptions(method="lsi")).folder)
    (folder / "vectors.npy").chmod(0)
    doctor = program("doctor")
    assert doctor.returncode == 1
    assert "cannot be read: vectors.npy: permission denied" in doctor.stdout
    folder.chmod(0)
    for words, status in ((("doctor",), 1), (("status",), 0)):
        done = program(*words)
        assert done.returncode == status
        assert "unexpected" not in done.stderr
        assert "permission" in done.stdout + done.stderr
    folder.chmod(0o755)


@pytest.mark.parametrize(
    "words", [("--help",), ("index", "--help"), ("status",), ("status", "--json"), None]
)
def test_light_commands_import_no_numbers(shelf: Path, words: tuple[str, ...] | None) -> None:
    build_index(shelf, IndexOptions(method="lsi"))
    run = "from lpisearch.cli import main; main()" if words is not None else "import lpisearch"
    program = (
        f"import atexit, sys\natexit.register(lambda: print('HEAVY', sorted("
        "{'numpy', 'scipy', 'sklearn', 'alembic', 'pandas'} & set(sys.modules)), "
        f"file=sys.stderr))\n{run}"
    )
    line = [sys.executable, "-c", program, "--db", str(shelf), *(words or ())]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == "HEAVY []"


_WORDS = st.sampled_from(["ship", "boat", "moon", "star", "cake", "the", "!", "星空", "βῆτα"])
_DOCUMENTS = st.lists(
    st.tuples(
        st.lists(_WORDS, max_size=6).map(" ".join),
        st.lists(st.sampled_from(["x", "y", "z"]), max_size=2, unique=True),
    ),
    max_size=9,
)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library without documents, to be copied."""
    library = tmp_path_factory.mktemp("empty") / "empty.db"
    (library.parent / "nothing.jsonl").write_text("")
    run_ingest(library, [str(library.parent / "nothing.jsonl")], IngestOptions())
    return library


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    documents=_DOCUMENTS,
    method=st.sampled_from(_METHODS),
    labels=st.sampled_from(["ignore", "use"]),
    weighting=st.sampled_from(["tf", "tfidf", "log-tfidf", "bm25"]),
    dims=st.one_of(st.none(), st.integers(1, 5)),
    neighbours=st.integers(1, 12),
)
def test_any_tiny_library(
    tmp_path: Path, empty: Path, documents: list[tuple[str, list[str]]], **options: Any
) -> None:
    library = tmp_path / "library.db"
    shutil.copy(empty, library)
    shutil.rmtree(library.with_suffix(".index"), ignore_errors=True)
    lines = [
        json.dumps({"id": str(number), "text": text, "labels": labels})
        for number, (text, labels) in enumerate(documents)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    (tmp_path / "b.jsonl").write_text('{"id": "new", "text": "boat under a moon"}')
    added = run_ingest(library, [str(tmp_path / "a.jsonl")], IngestOptions()).added
    try:
        report = build_index(library, IndexOptions(**options))
    except LpiSearchError as error:
        assert error.next_step  # noqa: PT017 (either outcome may be right)
        return
    index = open_index(library)
    assert index.vectors.shape == (added, report.dims)
    _sound_rows(index)
    assert index.vectors.any()
    assert run_ingest(library, [str(tmp_path / "b.jsonl")], IngestOptions()).index_notes == []
    _sound_rows(open_index(library))
    (state,) = lpisearch.open(library).status()["indexes"]
    assert (state["state"], state["documents"]) == ("ready", added + 1)
