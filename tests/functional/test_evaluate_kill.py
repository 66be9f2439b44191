"""An evaluation that is killed goes on where it was."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lpisearch.library import Library
from lpisearch.options import ClusterOptions, EvaluateOptions

_TIMED = ("seconds", "fit_s", "cluster_s")
_WORDS = ("evaluate", "cluster", "--classes", "2", "--draws", "6", "--methods", "terms,lsi,rlpi")


def _command(library: Path) -> list[str]:
    return [sys.executable, "-m", "lpisearch", "--db", str(library), *_WORDS, "--json"]


def _environment(cache: Path) -> dict[str, str]:
    return os.environ | {"XDG_CACHE_HOME": str(cache), "OMP_NUM_THREADS": "1"}


def _untimed(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: row[name] for name in row if name not in _TIMED} for row in rows]


def _figures(text: str) -> list[dict[str, Any]]:
    return _untimed(json.loads(text)["rows"])


def _run(library: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _command(library),
        env=_environment(cache),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )


def _kept(cache: Path) -> list[Path]:
    return sorted((cache / "lpisearch" / "evaluations").glob("*.jsonl"))


def _stop_after(library: Path, cache: Path, parts: int, how: signal.Signals) -> int:
    """Start a run and send it a signal once it has kept some parts; return its status."""
    with subprocess.Popen(
        _command(library), env=_environment(cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if _kept(cache) and _kept(cache)[0].read_bytes().count(b"\n") >= parts:
                process.send_signal(how)
                break
            time.sleep(0.002)
        return process.wait(60)


def test_a_killed_evaluation_goes_on(shelf: Path, tmp_path: Path) -> None:
    options = EvaluateOptions(methods=("terms", "lsi", "rlpi"))
    undisturbed = Library(shelf).evaluate(
        "cluster", options=options, wanted=ClusterOptions((2,), draws=6)
    )
    cache = tmp_path / "cache"
    assert _stop_after(shelf, cache, 3, signal.SIGKILL) == -signal.SIGKILL
    (path,) = _kept(cache)
    with path.open("ab") as stream:
        stream.write(b'\n{"key": "clusters, terms, 2 cl')  # as a kill may leave it
    done = _run(shelf, cache)
    assert _figures(done.stdout) == _untimed(undisturbed.tables[0].rows)
    found = int(done.stderr.split()[0])
    assert 3 <= found < 18
    assert "reused from an earlier, interrupted run" in done.stderr
    assert _kept(cache) == []


def test_an_interrupted_evaluation_says_so(shelf: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert _stop_after(shelf, cache, 2, signal.SIGINT) == 130
    (path,) = _kept(cache)
    assert path.read_bytes().count(b"\n") >= 2


def test_a_cache_that_cannot_be_written(
    shelf: Path, tmp_path: Path, program: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o500)
    words = ("evaluate", "cluster", "--methods", "terms", "--json")
    done = program(*words, env=_environment(cache))
    assert (done.returncode, done.stderr) == (0, "")
    assert len(_figures(done.stdout)) == 1
    assert list(cache.iterdir()) == []
    assert shelf.exists()
