import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from lpisearch import __version__
from lpisearch.cli.hits import HitOutput, print_answer, section_name
from lpisearch.cli.output import size, weight_text
from lpisearch.model.answers import Answer, Hit, Passage
from lpisearch.model.documents import Section
from tests.programs import Cli
from tests.unit.cli.test_progress import terminal


def _lines(done: Result) -> list[str]:
    assert done.exit_code == 0, done.output
    assert "\x1b" not in done.output
    assert not set("│─╭╮╰╯┃━") & set(done.output)
    return done.stdout.splitlines()


def test_a_first_and_a_second_ingest(cli: Cli, folder: Callable[..., Path]) -> None:
    root = folder({"sea/a.txt": "A letter about ships.", "program.exe": b"\0\1\2" * 999})
    first = cli("ingest", root)
    assert _lines(first)[0].startswith("1 document added in ")
    passed_over, language, then = first.stderr.splitlines()
    assert passed_over == "Skipped, unsupported format: .exe (1)"
    assert language.startswith("Language: english")
    assert then.startswith("Next: lpisearch ")
    second = cli("ingest", root)
    assert _lines(second)[0].startswith("1 document unchanged in ")


def test_what_is_gone_is_said(cli: Cli, folder: Callable[..., Path]) -> None:
    root = folder({"a.txt": "One.", "b.txt": "Two."})
    cli("ingest", root)
    (root / "a.txt").unlink()
    assert "1 document is no longer on disk; --prune removes it." in cli("ingest", root).stderr
    assert "1 document unchanged, 1 removed in " in _lines(cli("ingest", root, "--prune"))[0]


def test_failures_are_grouped_by_reason(cli: Cli, folder: Callable[..., Path]) -> None:
    """A line for each reason, the most frequent first, with a few places."""
    root = folder({"a.jsonl": '{"text": "x"}\n' + "{broken\n" * 30, "b.pdf": "%PDF-x", "c.txt": ""})
    errors = cli("ingest", root).stderr.splitlines()
    at = errors.index("failed\treason\twhere")
    assert errors[at + 1].startswith("30\tnot valid JSON")
    assert errors[at + 1].endswith(f"{root}/a.jsonl, line 4; …")
    assert errors[at + 2] == f"1\tis damaged, or not a PDF file\t{root}/b.pdf"
    assert "1 file is empty." in errors
    assert "(--failures all lists each one)" in errors
    every = cli("ingest", root, "--failures", "all").stderr
    assert f"{root}/a.jsonl\tline 31\tnot valid JSON" in every


def test_known_failures_are_a_count(cli: Cli, folder: Callable[..., Path]) -> None:
    root = folder({"a.csv": ",,\n1,2,3\n", "b.txt": "one"})
    cli("ingest", root)
    again = cli("ingest", root)
    assert _lines(again)[0].startswith("1 document unchanged, 1 failed in ")
    assert "1 failure from earlier runs (--failures all lists" in again.stderr
    assert "no header" not in again.stderr
    assert "no header" in cli("ingest", root, "--failures", "all").stderr
    assert cli("ingest", root, "--strict").exit_code == 1
    report = json.loads(cli("ingest", root, "--json").stdout)
    assert (report["failures"], len(report["known_failures"])) == ([], 1)


def test_a_quiet_ingest_says_new_failures_alone(cli: Cli, folder: Callable[..., Path]) -> None:
    root = folder({"a.csv": ",,\n1", "b.txt": "one", ".c.txt": "", "d.xyz": "\0", "e.txt": ""})
    done = cli("ingest", root, "--quiet")
    assert done.stdout == ""
    assert done.stderr == f"\nfailed\treason\twhere\n1\thas no header row\t{root}/a.csv\n"
    done = cli("ingest", root, "-q")
    assert (done.stdout, done.stderr) == ("", "")


def test_what_is_left_out_is_said(cli: Cli, folder: Callable[..., Path]) -> None:
    """The report counts what was left out, by reason, with the option that takes it in."""
    files = {
        ".gitignore": "*.log",
        "a.log": "",
        "b.txt": "one",
        "node_modules/c.txt": "two",
        ".d": "",
    }
    root = folder({**files, "skip.txt": "three"})
    errors = cli("ingest", root, "--exclude", "skip*").stderr
    said = "Excluded: 1 by --exclude, 1 by .gitignore, 1 folder of installed packages, 2 hidden"
    assert f"{said} (include with --no-ignore, --hidden)" in errors
    assert "2 documents added" in _lines(cli("ingest", root, "--no-ignore"))[0]


@pytest.mark.parametrize("language", ["chinese", "zh", "Thai"])
def test_a_language_that_is_cut_in_pairs(
    cli: Cli, folder: Callable[..., Path], library: Path, language: str
) -> None:
    done = cli("ingest", folder({"a.txt": "我喜欢船"}), "--language", language)
    assert done.exit_code == 2
    assert "pairs of characters" in done.stderr
    assert "Next: use --language none or omit the option" in done.stderr
    assert not library.exists()
    assert cli("ingest", folder({}), "--language", "none").exit_code == 0


def test_a_listing(cli: Cli, folder: Callable[..., Path]) -> None:
    """A listing in a pipe is one line a document, whatever is in its title."""
    title = "Two\\nlines\\tand \\u001b[31mred\\u001b[0m \\u0007"
    root = folder({"sea/a.jsonl": f'{{"id": "a", "title": "{title}", "text": "x"}}'})
    cli("ingest", root)
    done = cli("docs", "list")
    assert _lines(done)[0].split("\t") == ["id", "title", "labels", "split", "predicted"]
    assert _lines(done)[1].split("\t")[0] == "a"
    assert "Two lines and" in _lines(done)[1]
    assert len(_lines(done)) == 2
    assert done.stderr == "1 of 1 document\n"


def test_status_and_doctor(cli: Cli, folder: Callable[..., Path]) -> None:
    cli("ingest", folder({"sea/a.txt": "A letter about ships."}), "--labels", "folder")
    assert "documents\t1" in _lines(cli("status"))
    assert "sea\t1" in _lines(cli("status"))
    assert "ok\tdatabase file\tintact" in _lines(cli("doctor"))


def test_a_document(cli: Cli, folder: Callable[..., Path]) -> None:
    """A shown document is its facts, an empty line and its text."""
    cli("ingest", folder({"sea/a.txt": "A letter about ships.\nTwo lines."}), "--labels", "folder")
    lines = _lines(cli("docs", "show", "sea/a.txt"))
    assert "labels\tsea" in lines
    assert lines[-3:] == ["", "A letter about ships.", "Two lines."]


def test_export_to_standard_output(cli: Cli, folder: Callable[..., Path]) -> None:
    cli("ingest", folder({"a.txt": "One.", "b.txt": "Two."}))
    assert len(_lines(cli("docs", "export"))) == 2


def test_other_commands_say_what_they_did(cli: Cli, folder: Callable[..., Path]) -> None:
    root = folder({"a.txt": "One.", "b.txt": "Two."})
    cli("ingest", root)
    assert _lines(cli("docs", "delete", "a.txt")) == ["Documents removed: 1."]
    assert _lines(cli("db", "check")) == ["The tables match the expected schema."]
    assert _lines(cli("db", "retokenise")) == ["Documents split into words again: 1."]
    assert _lines(cli("db", "backup", root / "copy.db")) == [f"Copied to {root / 'copy.db'}."]
    assert "is at schema" in _lines(cli("db", "upgrade"))[0]


def test_the_version(cli: Cli) -> None:
    """--version prints the version."""
    assert _lines(cli("--version")) == [f"lpisearch {__version__}"]


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2_000_000, "2.0 MB"), (3e9, "3.0 GB")],
)
def test_sizes(number: float, shown: str) -> None:
    """Sizes are shown in the unit that people would choose."""
    assert size(number) == shown


def test_weights_of_the_subspace_are_said_by_length() -> None:
    calibration = {"safe": False, "documents": 500, "weights": {"16": 1.2, "4": 0.98, "8": 1.4}}
    said = "0.98 at 4, 1.4 at 8, 1.2 at 16 words, learned from 500 documents"
    assert weight_text(calibration) == said


@pytest.mark.parametrize(
    ("section", "page", "name"),
    [
        (None, "", ""),
        (Section(0, "page", "iv"), "iv", "page iv"),
        (Section(9, "heading", "Results"), "", "Results"),
        (Section(9, "heading", "Results"), "12", "page 12, Results"),
        (Section(0, "chapter", "The tide"), "", "chapter The tide"),
        (Section(0, "slide", "3"), "", "slide 3"),
        (Section(0, "sheet", "Prices"), "", "sheet Prices"),
    ],
)
def test_a_passage_is_named_by_page_and_section(
    section: Section | None, page: str, name: str
) -> None:
    assert section_name(Passage("text", section=section, page=page)) == name


def test_a_document_says_how_many_sections_it_has(
    folder: Callable[..., Path], ingest: Callable[..., object], cli: Callable[..., Result]
) -> None:
    ingest(folder({"a.md": "# Ships\n\nThey sail.\n\n## Masts\n\nThey stand.", "b.txt": "Plain."}))
    assert "2 headings" in cli("docs", "show", "a.md").stdout
    assert "heading" not in cli("docs", "show", "b.txt").stdout
    shown = json.loads(cli("docs", "show", "a.md", "--json").stdout)
    assert shown["sections"][1] == {"start": 19, "kind": "heading", "name": "Masts"}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_as_many_passages_as_asked_for(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    passages = tuple(Passage(f"Passage {n} of it.") for n in range(3))
    hits = [Hit(n, f"id{n}", "", (), "", "", 1.0, passages=passages) for n in (1, 2)]
    assert print_answer(Answer(tuple(hits), "hybrid"), HitOutput(passages=number))
    assert screen.getvalue().count("Passage ") == 2 * number
