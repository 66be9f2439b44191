"""Streams that are closed, full or gone, and a system that has no more to give, are stated."""

import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from lpisearch.cli.app import app
from lpisearch.cli.failures import Aside, Output
from lpisearch.cli.verbs import VERBS
from lpisearch.config import own_file, set_preference
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.options import IngestOptions

Program = Callable[..., subprocess.CompletedProcess[str]]

_FULL = Path("/dev/full")
# A command of every verb that prints something, and what becomes of its work.
_COMMANDS = {
    "ingest NOTES": "The documents were saved",
    "index --method lsi --dims 2": "The index was built and is in use",
    "search ship": "Nothing was changed",
    "search ship --json": "Nothing was changed",
    "search ship --csv": "Nothing was changed",
    "search --queries QUERIES --trec": "Nothing was changed",
    "similar sea/0": "Nothing was changed",
    "skill": "Nothing was changed",
    "classify ship": "Nothing was changed",
    "topics -n 2": "Nothing was changed",
    "evaluate cluster --methods terms": "Completed parts are saved",
    "status": "Nothing was changed",
    "docs list": "Nothing was changed",
    "docs show sea/0": "Nothing was changed",
    "docs export": "The output is incomplete",
    "docs delete sea/0": "The documents were removed",
    "doctor": "The library was checked",
    "db check": "Nothing was changed",
    "db upgrade": "The library was upgraded",
    "db backup": "The backup was written",
    "db retokenise": "The documents were split into words again",
    "label sea/0 +ship": "The labels were saved",
    "config": "Nothing was changed",
    "config set k 20": "The setting was saved",
    "open NOTE": "The file was opened",
    "--help": "Nothing was changed",
}


@pytest.fixture
def indexed(index_shelf: Callable[..., Path]) -> Path:
    """Return a library with an index."""
    return index_shelf(method="lsi", dims=2)


@pytest.fixture
def redirected(library: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a runner of the program with what a shell is told of its streams."""

    def run(redirection: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lpisearch", "--db", str(library), *map(str, words)]
        shell = ["sh", "-c", f'exec "$0" "$@" {redirection}', *command]
        return subprocess.run(shell, capture_output=True, text=True, check=False, timeout=60)

    return run


@pytest.mark.skipif(not _FULL.exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("command", _COMMANDS)
def test_a_result_that_cannot_be_printed_is_stated(
    indexed: Path,
    tmp_path: Path,
    folder: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    words = {
        "NOTES": str(folder({"a.txt": "A letter about ships."})),
        "QUERIES": str(tmp_path / "queries.tsv"),
        "NOTE": "a.txt",
    }
    run_ingest(indexed, [words["NOTES"]], IngestOptions())
    (tmp_path / "queries.tsv").write_text("1\tship\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    set_preference(own_file(), "opener", ["true"])
    errors = StringIO()
    with _FULL.open("wb", buffering=0) as full:
        stream = TextIOWrapper(full, "utf-8")
        monkeypatch.setattr(sys, "stdout", Output(stream))
        monkeypatch.setattr(sys, "stderr", errors)
        with pytest.raises(SystemExit) as end:
            app(["--db", str(indexed), *(words.get(word, word) for word in command.split())])
        monkeypatch.undo()
        with suppress(Exception):
            stream.detach()
    said = errors.getvalue()
    assert end.value.code == 1, said
    assert f"Cannot write to standard output: No space left on device. {_COMMANDS[command]}" in said
    assert said.count("Error: ") == 1
    assert "unexpected" not in said


def test_every_verb_is_among_the_commands() -> None:
    without_end = {"demo", "mcp", "serve", "watch"}
    assert {command.split()[0] for command in _COMMANDS} - {"--help"} == {*VERBS} - without_end


def test_errors_that_cannot_be_said_stop_nothing() -> None:
    with _FULL.open("wb", buffering=0) as full:
        stream = TextIOWrapper(full, "utf-8", line_buffering=True)
        aside = Aside(stream)
        assert aside.write("a note\n") == len("a note\n")
        aside.flush()
        with suppress(OSError):
            stream.detach()


def test_a_closed_stderr_stops_nothing(
    folder: Callable[..., Path], redirected: Program, program: Program
) -> None:
    root = folder({"a.txt": "A letter about ships."})
    done = redirected("2>&-", "ingest", root, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["added"] == 1
    assert json.loads(program("doctor", "--json").stdout)["ok"]


def test_a_closed_stdout_is_stated(
    folder: Callable[..., Path], redirected: Program, program: Program
) -> None:
    done = redirected(">&- <&-", "ingest", folder({"a.txt": "A letter about ships."}))
    assert (done.returncode, done.stdout) == (1, "")
    assert "Cannot write to standard output: it is closed. The documents were saved" in done.stderr
    assert json.loads(program("status", "--json").stdout)["documents"] == 1
    assert json.loads(program("doctor", "--json").stdout)["ok"]


def test_few_files_are_no_damage(
    indexed: Path, folder: Callable[..., Path], program: Program
) -> None:
    assert indexed.exists()
    many = " ".join(f"ship{n}" for n in range(20_000))  # so that arrays are mapped
    assert program("ingest", str(folder({"a.txt": many, "b.txt": many}))).returncode == 0
    assert program("index", "--method", "lsi", "--dims", "3").returncode == 0
    limit = (12, 12)
    done = program("query", "ship", limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))
    assert "Too many open files" in done.stderr
    assert "damaged" not in done.stderr
    assert "unexpected" not in done.stderr
    done = program("doctor", limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))
    assert "Too many open files" in done.stdout
    assert "ulimit -n" in done.stderr
    assert "Next: lpisearch index" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold to this limit")
@pytest.mark.parametrize("megabytes", [40, 60, 200])
def test_little_memory_is_stated(indexed: Path, program: Program, megabytes: int) -> None:
    assert indexed.exists()
    most = megabytes << 20
    done = program(
        "query", "ship", limit=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: Not enough memory")
    assert "Traceback" not in done.stderr


def test_a_working_folder_that_is_gone(indexed: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        gone.mkdir()
        return subprocess.run(
            [sys.executable, "-m", "lpisearch", *words],
            cwd=gone,
            preexec_fn=gone.rmdir,
            capture_output=True,
            text=True,
            check=False,
        )

    assert run("--db", str(indexed), "query", "ship").returncode == 0
    done = run("query", "ship")
    assert (done.returncode, done.stdout) == (1, "")
    assert "The current folder no longer exists. Next: change to an existing folder" in done.stderr


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a small disk of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a disk can be mounted by root alone")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def _fill(disk: Path) -> None:
    with suppress(OSError), (disk / "filler").open("wb", buffering=0) as stream:
        while stream.write(bytes(4096)):
            pass


@pytest.fixture
def crowded(disk: Path, indexed: Path) -> Path:
    """Return a library, moved to a disk on which no byte is left."""
    library = disk / "library.db"
    subprocess.run(["cp", str(indexed), str(library)], check=True)
    folder = indexed.with_name("library.index")
    subprocess.run(["cp", "-r", str(folder), str(disk)], check=True)
    _fill(disk)
    return library


def test_a_full_disk_can_be_read(crowded: Path, tmp_path: Path, cli: Callable[..., Any]) -> None:
    for words in (("status",), ("query", "ship", "--by", "semantic"), ("docs", "list")):
        done = cli("--db", crowded, *words)
        assert (done.exit_code, bool(done.stdout)) == (0, True), done.output
    assert cli("--db", crowded, "docs", "export", tmp_path / "out.jsonl").exit_code == 0
    assert cli("--db", crowded, "db", "backup", tmp_path / "copy.db").exit_code == 0
    assert cli("--db", tmp_path / "copy.db", "docs", "list").stdout == done.stdout


@pytest.mark.parametrize("words", [
    ("ingest", "NOTES"), ("index", "--method", "lsi", "--dims", "3"), ("docs", "delete", "sea/0"),
    ("docs", "export", "DISK/out.jsonl"), ("db", "backup", "DISK/copy.db"), ("db", "backup"),
    ("db", "retokenise"), ("evaluate", "cluster", "--methods", "terms", "--report", "DISK/page"),
    ("--db", "OLD", "db", "upgrade"),
], ids=" ".join)  # fmt: skip
def test_what_a_full_disk_refuses_is_stated(
    crowded: Path, folder: Callable[..., Path], cli: Callable[..., Any], words: tuple[str, ...]
) -> None:
    disk = crowded.parent
    old = disk / "old.db"
    if "OLD" in words:
        (disk / "filler").unlink()
        archive = Path(__file__).parents[1] / "data" / "library-0.1.tar.xz"
        subprocess.run(["tar", "-C", str(disk), "-xf", str(archive), "--transform",
                        "s/library/old/"], check=True)  # fmt: skip
        _fill(disk)
    places = {"NOTES": folder({"a.txt": "A letter. " * 9999}), "OLD": old}
    shown = [str(places.get(word, word.replace("DISK", str(disk)))) for word in words]
    done = cli("--db", crowded, *shown)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "the disk is full" in done.stderr or "No space left on device" in done.stderr
    assert "unexpected" not in done.stderr
    assert re.search("Existing (data is intact|files are unchanged)", done.stderr)
    assert not [*disk.rglob("*partial*")]
    (disk / "filler").unlink()
    assert cli("--db", crowded, "doctor").exit_code == 0
    assert len(json.loads(cli("--db", crowded, "docs", "list", "--json").stdout)) == 40


def test_a_disk_that_can_only_be_read(
    crowded: Path, tmp_path: Path, cli: Callable[..., Any]
) -> None:
    disk = crowded.parent
    (disk / "filler").unlink()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for words in (
        ("query", "ship"),
        ("db", "backup", tmp_path / "copy.db"),
        ("docs", "export", tmp_path / "out.jsonl"),
    ):
        done = cli("--db", crowded, *words)
        assert done.exit_code == 0, done.output
    for refused in (("db", "backup"), ("index",), ("docs", "delete", "sea/0")):
        done = cli("--db", crowded, *refused)
        assert (done.exit_code, done.stdout) == (1, "")
        assert "Cannot write" in done.stderr


def test_what_killed_copies_left_is_swept(library: Path, cli: Callable[..., Any]) -> None:
    left = library.with_name(f".{library.stem}-20260101-101500.db.0123456789ab.partial")
    own = library.with_name(".notes.0123456789ab.partial")
    for path in (left, own):
        path.write_bytes(b"half")
    cli("ingest", __file__, "--format", "text")
    assert cli("db", "backup").exit_code == 0
    assert not left.exists()
    assert own.exists()
