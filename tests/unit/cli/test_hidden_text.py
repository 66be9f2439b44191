"""What documents, files and words that are typed hold never reaches a terminal as a command."""

import json
import re
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from lpisearch.cli.app import app
from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.model.report_text import csv_line
from lpisearch.options import IndexOptions, IngestOptions

Run = Callable[..., str]

# A title for the window, a cleared screen as C0 and as C1, text from right to left, a hidden sign,
# another end of a line, a bell, and half of a pair of surrogates.
HIDDEN = "\x1b]0;owned\x07\x1b[2J\x9b2J\u202e\u2066\u200b\u2028\x08\x7f"
# What colours, what moves a progress bar, and links to addresses without a special sign.
_STYLE = re.compile(
    r"\x1b\[[0-9;]*m|\r?\x1b\[(\?25[lh]|2K|1A)|\x1b\]8;(id=\d+)?;(file://[\w/.%~#=-]*)?\x1b\\",
    re.ASCII,
)
_FIELDS = ("Title", "Text", "Id", "Label", "File", "Key", "Value", "Split", "Query", "Typed",
           "Section")  # fmt: skip
_FACES = {"terminal": True, "pipe": False}

# What is run, and the fields that it shows.
_OUTPUTS = [
    ("docs list", "Title Id Label Split"),
    ("docs show ID", "Title Text Id Label File Key Value Split"),
    ("docs export", "Title Text Id Label File Key Value Split"),
    ("docs list --json", "Title Id Label Split"),
    ("docs show ID --json", "Title Text Id Label File Key Value Split"),
    ("query Text -k 20", "Title Label"),
    ("query Text -k 20 --explain", "Title Label"),
    ("query Text -k 20 --json", "Title Id Label File Section"),
    ("query Text -k 20 --csv", "Title Id Label Section"),
    ("ingest FILE", ""),
    ("label TYPED +x", "Typed"),
    ("config", ""),
    ("open TYPED", "Typed"),
    ("query Text -k 20 --trec", "Id"),
    ("query --queries QUERIES -k 20", "Query Id"),
    ("query --queries QUERIES --json", "Query Id"),
    ("query --queries QUERIES --csv", "Query Id"),
    ("query --queries QUERIES --trec", "Query Id"),
    ("similar ship0", "Title Label"),
    ("similar ship0 --csv", "Title Id Label"),
    ("classify Text", "Label"),
    ("classify FILE", "Id Label"),
    ("classify BROKEN", "File"),
    ("topics -n 2", "Label"),
    ("topics -n 2 --json", "Label"),
    ("status", "Label Split"),
    ("status --json", "Label Split"),
    ("evaluate classify --methods terms --classifiers centroid --repeats 1", ""),
    ("evaluate classify --methods terms --classifiers centroid --repeats 1 --json", ""),
    ("evaluate classify --methods terms --classifiers centroid --repeats 1 --csv", ""),
    ("evaluate classify --methods terms --classifiers centroid --repeats 1 --markdown", ""),
    ("docs show TYPED", "Typed"),
    ("docs delete TYPED", "Typed"),
    ("similar TYPED", "Typed"),
    ("similar BROKEN", "File"),
    ("query x --label LABE", "Label"),
    ("query x --by TYPED", "Typed"),
    ("query x --index TYPED", "Typed"),
    ("query x --since TYPED", "Typed"),
    ("query x --where TYPED", "Typed"),
    ("query --queries TYPED", "Typed"),
    ("query x TYPED", ""),
    ("index --dims TYPED", "Typed"),
    ("index --method TYPED", "Typed"),
    ("ingest TYPED", "Typed"),
    ("ingest BROKEN --retry", "File"),
    ("ingest BROKEN --format TYPED", ""),
    ("docs export TYPED/TYPED", "Typed"),
    ("db backup TYPED/TYPED", "Typed"),
    ("status TYPED", "Typed"),
    ("TYPED", "Typed"),
    ("status --TYPED", "Typed"),
]


def _named(field: str) -> str:
    return f"{field}{HIDDEN}{field}"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library of which every field holds signs that a terminal would obey."""
    root = tmp_path_factory.mktemp("hostile")
    records = root / f"{_named('File')}.jsonl"
    lines = [
        {
            "id": _named("Id") if number == 1 else f"ship{number}",
            "title": _named("Title"),
            "text": f"{_named('Text')} Text ship boat harbour number{number}",
            "labels": [_named("Label") if number % 2 else "plain"],
            "split": _named("Split"),
            "sections": [{"start": 0, "kind": "heading", "name": _named("Section")}],
            _named("Key"): _named("Value"),
        }
        for number in range(12)
    ]
    records.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (root / "queries.tsv").write_text(f"{_named('Query')}\tText ship\n", encoding="utf-8")
    (root / f"{_named('File')}.pdf").write_bytes(b"%PDF-1.4 broken")
    library = root / "library.db"
    run_ingest(library, [str(records)], IngestOptions())
    build_index(library, IndexOptions(method="lsi", dims=2, train="all"))
    return library


@pytest.fixture
def run(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a runner of words in place of a terminal or a pipe; it gives all that was printed."""
    folder = hostile.parent
    words = {
        "ID": _named("Id"),
        "QUERIES": str(folder / "queries.tsv"),
        "FILE": str(folder / f"{_named('File')}.jsonl"),
        "BROKEN": str(folder / f"{_named('File')}.pdf"),
        "LABE": _named("Label")[:-1],
        "TYPED": _named("Typed"),
        "TYPED/TYPED": f"{_named('Typed')}/{_named('Typed')}",
        "--TYPED": f"--{_named('Typed')}",
    }

    def typed(command: str, *, is_terminal: bool) -> str:
        stream = StringIO()
        monkeypatch.setattr(stream, "isatty", lambda: is_terminal, raising=False)
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", stream)
        with pytest.raises(SystemExit):
            app(["--db", str(hostile), *(words.get(word, word) for word in command.split(" "))])
        monkeypatch.undo()
        return stream.getvalue()

    return typed


def _assert_harmless(printed: str) -> None:
    left = {sign for sign in _STYLE.sub("", printed) if not sign.isprintable()}
    assert left <= {"\n", "\t"}, printed


@pytest.mark.parametrize("face", _FACES)
@pytest.mark.parametrize(("command", "shown"), _OUTPUTS, ids=[command for command, _ in _OUTPUTS])
def test_no_output_holds_what_a_terminal_obeys(
    run: Run, command: str, shown: str, face: str
) -> None:
    printed = run(command, is_terminal=_FACES[face])
    assert "Unexpected failure" not in printed
    _assert_harmless(printed)
    for field in shown.split():
        assert field in printed


def test_all_fields_are_shown_somewhere() -> None:
    assert set(_FIELDS) == {field for _, shown in _OUTPUTS for field in shown.split()}


@pytest.mark.parametrize("command", ["docs show ID --json", "docs export"])
def test_json_is_exact(run: Run, command: str) -> None:
    """What cannot be seen is written as JSON escapes it, so that nothing of a document is lost."""
    printed = run(command, is_terminal=True)
    value = json.loads(printed if "--json" in command else printed.splitlines()[1])
    assert value["id"] == _named("Id")
    assert value["title"] == _named("Title")
    assert list(value["metadata"].items()) == [(_named("Key"), _named("Value"))]


def test_a_page_holds_nothing_hidden(run: Run, tmp_path: Path) -> None:
    run(f"evaluate cluster --methods terms --report {tmp_path / 'page'}", is_terminal=False)
    texts = [
        path.read_text(encoding="utf-8")
        for path in (tmp_path / "page").iterdir()
        if path.suffix in {".html", ".csv", ".md", ".json"}
    ]
    assert len(texts) > 3
    for text in texts:
        _assert_harmless(text)


def test_a_hit_is_no_formula() -> None:
    for start in ("=", "+", "-", "@", "\uff1d", " =", "\u202e=", "\t="):
        assert csv_line([f"{start}cmd|' /C calc'!A0"]).lstrip('"').startswith("'")
    assert csv_line(["-0.25", "+3", -1.5, "", None]) == "-0.25,+3,-1.5,,\n"


def test_nothing_is_printed_past_the_one_room() -> None:
    folder = Path(sys.modules["lpisearch.cli"].__file__ or "").parent
    past = re.compile(r"typer\.s?echo|(?<![\w.])print\(|std(out|err)\.write\b")
    for path in folder.rglob("*.py"):
        if path.name not in {"output.py", "__init__.py"}:  # the latter has no text of others
            assert not past.search(path.read_text(encoding="utf-8")), path
