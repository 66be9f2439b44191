"""Watching folders; the service that does so."""

from __future__ import annotations

import os
import plistlib
import re
import shlex
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.cli import ingest as watching
from lpisearch.cli.ingest import ingest_once
from lpisearch.errors import LibraryLocked
from lpisearch.options import FindOptions, IngestOptions
from lpisearch.watching import Changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from typer.testing import Result

    Cli = Callable[..., Result]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], Any]]:
    """Return what happens before each look; after the last one Ctrl-C is typed."""
    happens: list[Callable[[], Any]] = []

    def wait(_changes: Changes) -> bool:
        if not happens:
            raise KeyboardInterrupt
        happens.pop(0)()
        return True

    monkeypatch.setattr(Changes, "wait", wait)
    monkeypatch.setattr(Changes, "pause", lambda _changes: None)
    return happens


@pytest.mark.parametrize("words", [["watch"], ["ingest", "--watch"]])
def test_changes_are_ingested_until_ctrl_c(
    cli: Cli, folder: Callable[..., Path], steps: list[Callable[[], Any]], words: list[str]
) -> None:
    root = folder({"a.txt": "ships and sails", "b.txt": "bread and butter"})
    away = root.with_name("away")
    steps += [
        lambda: None,
        lambda: folder({"c.txt": "stars and moons"}),
        (root / "a.txt").unlink,
        lambda: root.rename(away),
        lambda: None,
        lambda: away.rename(root),
        lambda: (root / "b.txt").rename(root / "d.txt"),
    ]
    done = cli(*words, root, "--no-index")
    assert done.exit_code == 130
    counts = [line.rpartition(" in ")[0] for line in done.stdout.splitlines()]
    assert counts == [
        "2 documents added",
        "1 document added, 2 unchanged",
        "2 documents unchanged",
        "1 document moved, 1 unchanged",
    ]
    assert done.stderr.count("1 document is no longer on disk") == 2
    assert done.stderr.count(f"No such file or folder: {root}. Retrying.") == 1
    assert "Interrupted." in done.stderr


def test_a_folder_that_is_away_is_not_pruned(
    cli: Cli, folder: Callable[..., Path], steps: list[Callable[[], Any]], sql: Callable[..., Any]
) -> None:
    root, other = folder({"a.txt": "ships"}), folder({"b.txt": "bread"}, "other")
    steps += [lambda: root.rename(root.with_name("away")), (other / "b.txt").unlink]
    assert cli("watch", root, other, "--prune", "--no-index").exit_code == 130
    assert sql("SELECT count(*) FROM documents") == [(2,)]


def test_the_index_is_kept_in_step(
    cli: Cli, shelf: Path, folder: Callable[..., Path], steps: list[Callable[[], Any]]
) -> None:
    root = folder({"a.txt": "ship boat"})
    steps.append(lambda: folder({"b.txt": "moon star"}))
    done = cli("watch", root, "--index")
    assert "Index built" in done.stdout, done.stderr
    assert "ready" in cli("status").stdout
    assert shelf.exists()


def test_a_lock_that_passes_is_reported_once(
    cli: Cli,
    folder: Callable[..., Path],
    steps: list[Callable[[], Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = folder({"a.txt": "ships"})
    tries: list[int] = []

    def locked(*arguments: Any) -> Any:
        tries.append(1)
        if len(tries) in {2, 3}:
            raise LibraryLocked("library.db", "another")
        return ingest_once(*arguments)

    monkeypatch.setattr(watching, "ingest_once", locked)
    steps += [lambda: None, lambda: None, lambda: folder({"b.txt": "bread"})]
    done = cli("watch", root, "--no-index")
    assert done.stderr.count("is locked: another is writing to it. Retrying.") == 1
    assert "1 document added" in done.stdout.splitlines()[-1]


def test_what_matters(library: Path, folder: Callable[..., Path]) -> None:
    """Neither the library's own files, which each ingest changes, nor hidden ones."""
    root = folder({"a.txt": "ships"}).parent
    changes = Changes([str(root)], IngestOptions(), library)
    own = ["", "-wal", ".lock", ".before-0001"]
    (library.with_name(f"{library.name}.before-0001")).touch()
    changes = Changes([str(root)], IngestOptions(), library)
    assert not any(changes.matters(f"{library}{ending}") for ending in own)
    assert not changes.matters(str(library.with_suffix(".index") / "default-1" / "terms.npy"))
    assert not changes.matters(str(root / ".git" / "index"))
    assert changes.matters(str(root / "notes" / "a.txt"))
    hidden = IngestOptions(find=FindOptions(hidden=True))
    assert Changes([str(root)], hidden, library).matters(str(root / ".git" / "index"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home; nothing may be started."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    def refuse(*_words: Any, **_options: Any) -> None:
        raise AssertionError("a program is started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(os, "system", refuse)
    return home


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_service_is_written_and_removed(
    cli: Cli, home: Path, library: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    hostile = "a b%h$HOME\"'\\"
    done = cli("watch", hostile, "--prune", "--exclude", "*.bak", "--install")
    assert done.exit_code == 0, done.stderr
    (file,) = [
        path for path in home.rglob("lpisearch*") if path.is_file() and not path.is_symlink()
    ]
    program = [sys.executable, "-P", "-m", "lpisearch", "watch", "--db", str(library)]
    program += [hostile, "--prune", "--exclude", "*.bak"]
    text = file.read_text()
    if system == "linux":
        assert file.parent == home / ".config" / "systemd" / "user"
        link = file.parent / "default.target.wants" / file.name
        assert link.resolve() == file
        (start,) = re.findall("^ExecStart=(.*)$", text, re.MULTILINE)
        words = shlex.split(start.replace("$$", "$"))
        assert [word.replace("%%", "%") for word in words] == program
        assert f"systemctl --user start {file.name}" in done.stdout
    else:
        assert file.parent == home / "Library" / "LaunchAgents"
        agent = plistlib.loads(file.read_bytes())
        assert (agent["Label"], agent["ProgramArguments"]) == (file.stem, program)
        assert f"launchctl bootstrap gui/$(id -u) {file}" in done.stdout
    assert f"Remove it: lpisearch watch --uninstall --db {library}" in done.stdout
    assert cli("watch", "other", "--install").exit_code == 0  # replaced
    assert not library.exists()
    assert f"Removed: {file}" in cli("watch", "--uninstall").stdout
    assert not [path for path in home.rglob("*") if not path.is_dir()]
    assert "no service" in cli("watch", "--uninstall").stdout


@pytest.mark.usefixtures("home")
def test_services_that_cannot_be(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert "give the files and folders" in cli("watch", "--install").stderr
    written = cli("watch", "x", "--install", "--json").stdout
    (file,) = (home / ".config" / "systemd" / "user").glob("*.service")
    assert str(file) in written
    file.write_text("[Unit]\n")
    for words in (("x", "--install"), ("--uninstall",)):
        assert "is not a service of lpisearch" in cli("watch", *words).stderr
    secret = cli("watch", "x", "--install", "--db", "postgresql://me:hush@host/notes")
    assert "must not contain a password" in secret.stderr
    assert "hush" not in secret.stderr
    monkeypatch.setattr(sys, "platform", "win32")
    assert "only systemd" in cli("watch", "x", "--install").stderr


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    return iter(process.stdout.readline, "")


@pytest.mark.slow
@pytest.mark.parametrize("by_events", [True, False])
def test_a_running_watch(folder: Callable[..., Path], tmp_path: Path, *, by_events: bool) -> None:
    """With the library in the watched folder, whose own changes it must not take for others."""
    root = folder({"a.txt": "ships"})
    hide = "" if by_events else "import sys; sys.modules['watchfiles'] = None; "
    program = f"{hide}from lpisearch.cli import main; main()"
    words: list[str | Path] = [
        sys.executable,
        "-c",
        program,
        "--db",
        root / "l.db",
        "watch",
        root,
        "--no-index",
    ]
    log = tmp_path / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        lines = _lines(process)
        assert "1 document added" in next(lines)
        time.sleep(6)
        folder({"sub/b.txt": "bread"})
        assert "1 document added" in next(lines)
        (root / "a.txt").unlink()
        assert "1 document unchanged" in next(lines)
        time.sleep(6)
        process.send_signal(signal.SIGINT)
        assert list(lines) == []
    assert process.returncode == 130
    assert ("by events" in log.read_text()) == by_events
