"""A batch says what one query says, and semantic answers come from an index or not at all."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import SubspaceError
from lpisearch.index.build import build_index
from lpisearch.library import Library
from lpisearch.location import index_folder
from lpisearch.options import IndexOptions, SearchOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    Cli = Callable[..., Result]

_QUERIES = "1\tship harbour\n2\tbread oven\n"


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    """Return a file of two queries."""
    path = tmp_path / "queries.tsv"
    path.write_text(_QUERIES, encoding="utf-8")
    return path


def _damaged(folder: Path) -> None:
    with next(folder.glob("*.npy")).open("r+b") as stream:
        stream.seek(-1, 2)
        stream.write(b"\x7f")


def _missing(folder: Path) -> None:
    shutil.rmtree(folder)


def _replaced(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes(b"something else")


_HARM = {"damaged": _damaged, "missing": _missing, "replaced": _replaced}


@pytest.fixture(params=["no index", *_HARM])
def unusable(shelf: Path, index_shelf: Callable[..., Path], request: pytest.FixtureRequest) -> Path:
    """Return a library whose index cannot be used."""
    if request.param in _HARM:
        index_shelf(method="lsi", dims=2)
        (folder,) = index_folder(shelf).iterdir()
        _HARM[request.param](folder)
    return shelf


@pytest.mark.usefixtures("unusable")
@pytest.mark.parametrize("form", ["--trec", "--json", "--csv"])
def test_a_batch_says_that_words_alone_answer(cli: Cli, queries: Path, form: str) -> None:
    one = cli("query", "ship harbour", "--json")
    done = cli("query", "--queries", queries, form)
    assert (one.exit_code, done.exit_code) == (0, 0)
    assert "Next: lpisearch index" in one.stderr
    assert done.stderr == one.stderr
    assert done.stdout


@pytest.mark.usefixtures("unusable")
def test_a_semantic_batch_needs_an_index(cli: Cli, queries: Path) -> None:
    done = cli("query", "--queries", queries, "--trec", "--by", "semantic")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: The ")
    assert "Next: lpisearch index" in done.stderr


@pytest.mark.usefixtures("unusable")
@pytest.mark.parametrize("words", [
    ("similar", "sea/0", "--by", "semantic"), ("classify", "ship harbour"),
], ids=" ".join)  # fmt: skip
def test_what_the_index_alone_can_tell_needs_an_index(cli: Cli, words: tuple[str, ...]) -> None:
    done = cli(*words)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Next: lpisearch index" in done.stderr


@pytest.mark.usefixtures("unusable")
def test_an_evaluation_of_semantic_needs_an_index(cli: Cli, queries: Path, tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.tsv"
    qrels.write_text("1\tsea/0\t1\n2\tkitchen/1\t1\n", encoding="utf-8")
    files = ("--queries", queries, "--qrels", qrels)
    done = cli("evaluate", "retrieval", *files, "--by", "semantic", "--json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Next: lpisearch index" in done.stderr


def test_a_batch_says_that_the_index_is_behind(shelf: Path) -> None:
    """Documents that went since the index was built are told of, as one query tells it."""
    build_index(shelf, IndexOptions(method="lsi", dims=2))
    notes: list[str] = []
    with Library(shelf) as library:
        library.delete("sea/0")
        list(library.batch([("1", "ship")], on_note=notes.append))
        assert notes == list(library.search("ship").notes)
    assert "out of date" in notes[0]


def test_a_batch_says_which_words_it_does_not_know(shelf: Path) -> None:
    build_index(shelf, IndexOptions(method="lsi", dims=2))
    notes: list[str] = []
    asked = [("first", "ship"), *((f"q{number}", "zyzzyva ship") for number in range(9))]
    with Library(shelf) as library:
        list(library.batch([*asked, ("last", "...")], on_note=notes.append))
    assert notes[0] == "Query q0: Not in any document: “zyzzyva”"
    assert notes[5:] == ["Queries with notes: 10 of 11"]


def test_in_python_a_batch_warns(shelf: Path) -> None:
    with Library(shelf) as library, pytest.warns(UserWarning, match="No index yet"):
        list(library.batch([("1", "ship")]))


def test_in_python_a_semantic_batch_is_refused(shelf: Path) -> None:
    with Library(shelf) as library, pytest.raises(SubspaceError):
        next(library.batch([("1", "ship")], options=SearchOptions(by="semantic")))
