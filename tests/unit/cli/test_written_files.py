"""Verbs that write a file: none replaces what it did not make, unless told so."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lpisearch.cli.commands import load
from lpisearch.cli.verbs import VERBS

Cli = Callable[..., Any]

# Every option and argument that names a file or a folder: those that are written, and those read.
_WRITTEN = {
    "docs export FILE": ("docs", "export"),
    "db backup FILE": ("db", "backup"),
    "index --export": ("index", "--export"),
    "demo FOLDER": (),  # makes a library, and ingests into one that is there
    "evaluate --report": ("evaluate", "--report"),
    "evaluate similarity --report": ("evaluate", "similarity", "--report"),
    "evaluate classify --report": ("evaluate", "classify", "--report"),
    "evaluate cluster --report": ("evaluate", "cluster", "--report"),
    "evaluate retrieval --report": (),  # as all the others, but it needs judgements
    "evaluate sweep --report": (),
    "evaluate spectrum --report": (),
}
_READ = {
    "ingest PATH",
    "watch PATH",
    "search --queries",
    "classify TEXT|FILE",
    "index --pairs",
    "serve --root",
    "mcp --root",
    "index --encoder",  # a module, a table of words or an address
    "index --index-store",  # a folder of folders, as that beside a library
    *(f"evaluate{verb} --{name}" for verb in ("", " retrieval", " sweep")
      for name in ("queries", "qrels")),
    *(f"evaluate{verb} --matrix"
      for verb in ("", " similarity", " classify", " cluster", " sweep", " spectrum")),
}  # fmt: skip
_NAMES_A_FILE = ("FILE", "FOLDER", "DIR", "PATH")
_REPORTS = [name for name, words in _WRITTEN.items() if "--report" in words]


def _commands() -> Iterator[tuple[str, Any]]:
    for name in VERBS:
        command = load(name)
        yield name, command
        for word, below in getattr(command, "commands", {}).items():
            yield f"{name} {word}", below


def _named_files() -> Iterator[str]:
    for verb, command in _commands():
        for parameter in command.params:
            if parameter.name in {"db", "path"}:  # the library, and a filter of documents
                continue
            metavar = str(parameter.metavar or "").strip("[].…")
            if any(part in _NAMES_A_FILE for part in metavar.split("|")):
                is_option = parameter.param_type_name == "option"
                yield f"{verb} {parameter.opts[0] if is_option else metavar}"


def test_every_verb_that_names_a_file_is_known_here() -> None:
    named = set(_named_files())
    assert {name for name in named if name not in _READ} == set(_WRITTEN)


@pytest.fixture
def precious(shelf: Path, cli: Cli, tmp_path: Path) -> dict[str, Path]:
    """Return files that no verb may replace: the library, of its index, and a person's own."""
    assert cli("index", "--method", "lsi", "--dims", "5").exit_code == 0
    other = tmp_path / "other.db"
    other.write_bytes(shelf.read_bytes())
    (folder,) = shelf.with_suffix(".index").iterdir()
    own = {
        "essay.txt": "An essay.",
        "queries.jsonl": '{"id": "q1", "text": "ships"}\n',
        "page.html": "<!DOCTYPE html>\n<title>Mine</title>",
    }
    for name, text in own.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    made = {"library": shelf, "other": other, "manifest": folder / "manifest.json"}
    return made | {"vectors": folder / "vectors.npy"} | {name: tmp_path / name for name in own}


@pytest.mark.parametrize("verb", ["docs export FILE", "db backup FILE", "index --export"])
def test_no_file_of_another_kind_is_replaced(
    cli: Cli, precious: dict[str, Path], verb: str
) -> None:
    for path in precious.values():
        before = path.read_bytes()
        done = cli(*_WRITTEN[verb], path)
        assert done.exit_code in {1, 2}
        assert "Error: " in done.stderr
        assert "Next: " in done.stderr
        assert path.read_bytes() == before


@pytest.mark.parametrize("verb", _REPORTS)
def test_no_page_of_others_is_replaced(
    cli: Cli, precious: dict[str, Path], tmp_path: Path, verb: str
) -> None:
    page = tmp_path / "site" / "index.html"
    page.parent.mkdir()
    page.write_bytes(precious["page.html"].read_bytes())
    done = cli(*_WRITTEN[verb], page.parent)
    assert done.exit_code == 1
    assert "is not a report. Next: choose another name, or overwrite it with --force" in done.stderr
    assert page.read_bytes() == precious["page.html"].read_bytes()


def test_a_table_of_others_is_not_replaced(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    assert shelf.exists()
    table = tmp_path / "site" / "similarity.csv"
    table.parent.mkdir()
    table.write_text("mine", encoding="utf-8")
    words = ("evaluate", "similarity", "--report", table.parent)
    done = cli(*words, "--methods", "terms,lsi")
    assert done.exit_code == 1
    assert "similarity.csv already exists" in done.stderr
    assert table.read_text(encoding="utf-8") == "mine"
    assert cli(*words, "--methods", "terms,lsi", "--force").exit_code == 0
    assert table.read_text(encoding="utf-8") != "mine"
    assert cli(*words, "--methods", "terms,lsi").exit_code == 0


def test_force_replaces_all_but_the_library_itself(cli: Cli, precious: dict[str, Path]) -> None:
    essay, library = precious["essay.txt"], precious["library"]
    assert cli("docs", "export", essay, "--force").exit_code == 0
    assert essay.read_bytes().startswith(b'{"id": ')
    assert cli("docs", "export", essay).exit_code == 0
    link = library.with_name("link.jsonl")
    link.symlink_to(library)
    for name in (library, link):
        done = cli("docs", "export", name, "--force")
        assert done.exit_code == 2
        assert "is one of the library's own files" in done.stderr
    assert library.read_bytes().startswith(b"SQLite format 3")


@pytest.mark.parametrize("name", ["shelf.db-wal", "shelf.db.lock", "lpisearch.toml", "*/new"])
def test_no_verb_takes_a_place_of_the_library(cli: Cli, shelf: Path, name: str) -> None:
    assert cli("index", "--method", "lsi", "--dims", "5").exit_code == 0
    folder = shelf.with_suffix(".index")
    name = name.replace("shelf.db", shelf.name).replace("*", folder.name)
    place = shelf.parent / name
    for words in (("docs", "export"), ("docs", "export", "--force"), ("db", "backup")):
        done = cli(*words, place)
        assert done.exit_code == 2
        assert "one of the library's own files" in done.stderr
        assert not place.exists()


def test_an_empty_export_is_replaced(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    assert shelf.exists()
    target = tmp_path / "export.jsonl"
    for label, lines in (("none", 0), ("sea", 10)):
        assert cli("docs", "export", target, "--label", label).exit_code == 0
        assert len(target.read_text(encoding="utf-8").splitlines()) == lines


@pytest.mark.skipif(os.name == "nt", reason="rights are other there")
def test_nothing_is_more_open_than_the_library(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    shelf.chmod(0o600)
    before = set(tmp_path.rglob("*"))
    assert cli("index", "--method", "lsi", "--dims", "5").exit_code == 0
    assert cli("query", "ship").exit_code == 0
    assert cli("db", "backup", tmp_path / "copy.db").exit_code == 0
    assert cli("docs", "export", tmp_path / "export.jsonl").exit_code == 0
    report = tmp_path / "new" / "report"
    assert cli("evaluate", "spectrum", "--report", report).exit_code == 0
    made = set(tmp_path.rglob("*")) - before
    assert len(made) > 10
    open_to_others = {path.name for path in made if stat.S_IMODE(path.stat().st_mode) & 0o077}
    assert open_to_others == set()


def test_a_planted_link_is_not_followed(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    assert shelf.exists()
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    for name in ("copy.db.partial", "copy.db-journal"):
        (tmp_path / name).symlink_to(precious)
    done = cli("db", "backup", tmp_path / "copy.db")
    assert done.exit_code == 0, done.stderr
    assert precious.read_bytes() == b"precious"
