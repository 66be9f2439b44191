"""A library of an earlier version goes on: it opens, answers, grows and is built again.

Each `library-VERSION.tar.xz` has 24 documents on the sea and the kitchen with two indexes, as the
last commit of that version wrote them: `lpisearch index --dims 3 --neighbours 4` and
`lpisearch index --name wet --method nmf --dims 2 --where label=sea`.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lpisearch
from lpisearch.cli.output import render_message
from lpisearch.model.documents import Filter
from lpisearch.options import IndexSpec
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.testing import Result

_DATA = Path(__file__).parents[2] / "data"
_VERSIONS = ("0.1", "0.2", "0.3")
# What each printed for: lpisearch query "ship at sea" -k 3 --by semantic
_COSINES = {"sea/20": 0.996479, "sea/10": 0.993979, "sea/14": 0.980578}


@pytest.fixture(params=_VERSIONS)
def earlier(library: Path, request: pytest.FixtureRequest) -> Path:
    """Unpack the library of a version."""
    with tarfile.open(_DATA / f"library-{request.param}.tar.xz") as packed:
        packed.extractall(library.parent, filter="data")
    return library


def _states(library: Path) -> dict[str, dict[str, Any]]:
    with lpisearch.open(library) as opened:
        return {each["name"]: each for each in opened.status()["indexes"]}


def test_every_earlier_version_has_a_library() -> None:
    assert {f"library-{each}.tar.xz" for each in _VERSIONS} == {one.name for one in _DATA.iterdir()}


def test_it_answers_as_it_did(earlier: Path) -> None:
    with lpisearch.open(earlier) as library:
        answer = library.search("ship at sea", k=3, by="semantic")
        told = library.classify("ship and sail", k=1)
        assert library.search("ship at sea").hits
    assert answer.by == "semantic"
    assert answer.notes == ()
    assert [hit.id for hit in answer.hits] == list(_COSINES)
    assert [hit.cosine for hit in answer.hits] == pytest.approx(list(_COSINES.values()), abs=1e-5)
    assert told.labels[0].label == "sea"


def test_what_it_was_asked_for_is_known(earlier: Path) -> None:
    states = _states(earlier)
    assert {name: each["state"] for name, each in states.items()} == {
        "default": "ready",
        "wet": "ready",
    }
    commands = [render_message(each["rebuild_command"]) for each in states.values()]
    assert commands == [
        "lpisearch index --dims 3 --neighbours 4",
        "lpisearch index --name wet --method nmf --dims 2 --where label=sea",
    ]
    assert open_index(earlier, "wet").manifest.spec == IndexSpec(
        name="wet", method="nmf", dims=2, where=Filter(labels=("sea",))
    )


def test_it_grows(earlier: Path, put: Callable[..., Any]) -> None:
    """New documents are taken in, or a note names the command to type; they are found."""
    report = put([{"id": "new", "text": "anchor of a ship", "labels": ["sea"]}], name="new")
    assert report.added == 1
    assert all("Next: lpisearch index" in render_message(note) for note in report.index_notes)
    with lpisearch.open(earlier) as library:
        assert "new" in {hit.id for hit in library.search("anchor", k=20).hits}


def test_it_is_built_anew(earlier: Path, cli: Callable[..., Result]) -> None:
    for state in _states(earlier).values():
        done = cli(*render_message(state["rebuild_command"]).split()[1:])
        assert done.exit_code == 0, done.stderr
    after = _states(earlier)
    assert {name: (each["state"], each["documents"]) for name, each in after.items()} == {
        "default": ("ready", 24),
        "wet": ("ready", 12),
    }
