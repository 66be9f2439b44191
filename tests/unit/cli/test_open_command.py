import gzip
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lpisearch import viewers
from lpisearch.cli.hits import state_folder
from lpisearch.cli.output import can_link, link_to
from lpisearch.cli.query import recall, remember
from lpisearch.errors import LpiSearchError
from lpisearch.model.answers import Answer, Hit, Passage
from lpisearch.viewers import HitLocation, open_location
from tests.programs import Cli


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the last answer and the settings a place of their own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return state_folder()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the commands that would have been started."""
    commands: list[list[str]] = []

    def start(command: list[str], **given: Any) -> SimpleNamespace:
        assert "shell" not in given
        commands.append(list(command))
        return SimpleNamespace(poll=lambda: 0, wait=lambda _seconds: 0)  # it has ended

    monkeypatch.setattr("lpisearch.viewers.subprocess.Popen", start)
    monkeypatch.setattr(viewers, "_viewer", lambda: ())
    monkeypatch.setattr(sys, "platform", "linux")
    return commands


@pytest.fixture
def notes(folder: Callable[..., Path], ingest: Callable[..., Any]) -> Path:
    """Return a folder that is in the library."""
    root = folder({"sea; rm -rf $HOME.txt": "A letter about ships.", "b.txt": "A recipe, ships."})
    ingest(root)
    return root


def _answer(*paths: str, page: str = "") -> Answer:
    passage = (Passage("…", page=page),)
    hits = [
        Hit(rank, f"id{rank}", "", (), path, "", 1.0, passages=passage)
        for rank, path in enumerate(paths, start=1)
    ]
    return Answer(tuple(hits), "lexical")


def test_a_hit_of_the_last_answer(cli: Cli, notes: Path, started: list[list[str]]) -> None:
    hits = json.loads(cli("query", "ships", "--json").stdout)
    for number, hit in enumerate(hits, start=1):
        assert cli("open", str(number)).stdout == f"Opened {hit['path']}.\n"
    assert started == [["xdg-open", hit["path"]] for hit in hits]
    assert {Path(command[1]).parent for command in started} == {notes}


@pytest.mark.usefixtures("notes")
def test_a_query_opens_what_it_found(cli: Cli, started: list[list[str]]) -> None:
    done = cli("query", "ships", "--json", "--open", "2")
    path = json.loads(done.stdout)[1]["path"]
    assert done.stderr.endswith(f"Opened {path}.\n")
    assert started == [["xdg-open", path]]
    assert "has no result 7" in cli("query", "ships", "--open", "7").stderr


def test_a_document_by_its_name(cli: Cli, notes: Path, started: list[list[str]]) -> None:
    shown = json.loads(cli("open", "b.txt", "--json").stdout)
    assert shown == {"id": "b.txt", "file": str(notes / "b.txt"), "page": ""}
    assert started == [["xdg-open", str(notes / "b.txt")]]


@pytest.mark.usefixtures("notes", "started")
def test_what_cannot_be_opened_is_stated(cli: Cli) -> None:
    assert "There is no earlier search to open a result from." in cli("open", "1").stderr
    cli("query", "ships", "--by", "lexical")
    assert "has no result 3; it returned results 1 to 2." in cli("open", "3").stderr
    cli("similar", "b.txt")
    assert "No document has the id or path" in cli("open", "nothing").stderr


def test_an_answer_of_another_library(cli: Cli, notes: Path, started: list[list[str]]) -> None:
    remember(notes / "other.db", _answer(str(notes / "b.txt")))
    assert "was in" in cli("open", "1").stderr
    assert started == []


def test_what_is_kept(tmp_path: Path, state: Path) -> None:
    remember(tmp_path / "a.db", _answer("/a.pdf", page="12"))
    (file,) = state.iterdir()
    assert json.loads(file.read_text()) == {
        "library": str(tmp_path / "a.db"),
        "hits": {"1": {"id": "id1", "path": "/a.pdf", "page": "12"}},
    }
    assert file.stat().st_mode & 0o077 == 0
    assert recall(1) == HitLocation("id1", "/a.pdf", "12")
    for broken in ("", "[]", '{"library": "a"}'):
        file.write_text(broken)
        with pytest.raises(LpiSearchError, match="no earlier search"):
            recall(1)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("", "has no file to open"),
        ("a.txt", "has no file to open"),
        ("https://example.org/a.txt", "has no file to open"),
        ("-", "has no file to open"),
        ("/nowhere/a.txt", "no longer exists"),
        ("//server/share/a.txt", "no longer exists"),
        ("/", "no longer exists"),
    ],
)
def test_only_files_that_are_there(started: list[list[str]], path: str, says: str) -> None:
    with pytest.raises(LpiSearchError, match=says) as caught:
        open_location(HitLocation("an id", path))
    assert "lpisearch docs show 'an id'" in str(caught.value)
    assert started == []


@pytest.mark.parametrize("name", ["a.sh", "a.DESKTOP", "a.exe", "a.py", "a.command"])
def test_programs_are_not_started(tmp_path: Path, started: list[list[str]], name: str) -> None:
    file = tmp_path / name
    file.touch()
    with pytest.raises(LpiSearchError, match="is a program"):
        open_location(HitLocation("x", str(file)))
    assert started == []
    open_location(HitLocation("x", str(file)), "less")
    assert started == [["less", str(file)]]


def test_a_page(tmp_path: Path, started: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """A PDF is opened at its page by known viewers, and by commands with a place for it."""
    file = tmp_path / "a b.pdf"
    file.touch()
    place = HitLocation("x", str(file), "12")
    open_location(place, "okular --page {page} {file}")
    open_location(place, "browser {url}#{page}")
    monkeypatch.setattr(viewers, "_viewer", lambda: viewers._VIEWERS["evince"])
    open_location(place)
    open_location(HitLocation("x", str(file)))
    assert started == [
        ["okular", "--page", "12", str(file)],
        ["browser", f"{file.as_uri()}#12"],
        ["evince", "--page-label=12", str(file)],
        ["xdg-open", str(file)],
    ]


def test_nothing_opens_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.txt"
    file.touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(LpiSearchError, match="No program could open") as caught:
        open_location(HitLocation("x", str(file)))
    assert "lpisearch config set opener COMMAND, or lpisearch docs show x" in str(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="a script is no program there")
@pytest.mark.parametrize(
    ("script", "reason"),
    [("exit 3", "no program for it is installed"), ("echo no display >&2; exit 1", "no display")],
)
def test_a_viewer_that_fails_is_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    viewer = tmp_path / "xdg-open"
    viewer.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    viewer.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(LpiSearchError, match=f"xdg-open: {reason}"):
        open_location(HitLocation("x", str(viewer)))


@pytest.mark.parametrize(
    ("name", "content", "shown"),
    [
        ("ls.1", b".TH LS 1\n.SH NAME\nls \\- list ships\n", "ls - list ships"),
        (
            "box.mbox",
            b"From a Wed Jan 31 12:30:45 2024\nSubject: Boats\n\nShips.\n",
            "Boats\n\nShips.",
        ),
        ("a.txt.gz", gzip.compress(b"Of ships\n\nThey sail."), "Of ships\n\nThey sail."),
    ],
)
def test_what_viewers_do_not_show_is_shown_here(
    cli: Cli, folder: Callable[..., Path], name: str, content: bytes, shown: str
) -> None:
    cli("ingest", folder({name: content}))
    cli("query", "ships")
    assert cli("open", "1").stdout.strip().startswith(shown)
    assert shown.rpartition("\n")[2] in json.loads(cli("open", "--json").stdout)["text"]


@pytest.mark.parametrize(
    ("environment", "taken"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "linux"}, False),
        ({}, False),
        ({"TERM": "xterm", "VTE_VERSION": "4600"}, False),
        ({"TERM": "xterm", "VTE_VERSION": "7600"}, True),
        ({"TERM": "xterm", "FORCE_HYPERLINK": "0"}, False),
        ({"TERM": "dumb", "FORCE_HYPERLINK": "1"}, True),
    ],
)
def test_terminals_that_take_links(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, *, taken: bool
) -> None:
    for name in ("TERM", "VTE_VERSION", "FORCE_HYPERLINK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", open(os.devnull, "w"))  # noqa: SIM115, PTH123 (closed below)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert can_link() is taken
    assert link_to("/a b.pdf", "12") == ("file:///a%20b.pdf#page=12" if taken else "")
    assert link_to("a.txt") == link_to("") == ""
    sys.stdout.close()
