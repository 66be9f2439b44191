"""What all verbs have in common: help, examples, the library that is meant."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lpisearch.cli.app import app
from lpisearch.cli.commands import load
from lpisearch.cli.verbs import EXAMPLES, FIRST, VERBS
from tests.programs import Cli


def _commands() -> Iterator[tuple[str, Any]]:
    for name in VERBS:
        command = load(name)
        words = getattr(command, "commands", {})
        if not words or command.invoke_without_command:
            yield name, command
        yield from ((f"{name} {word}", each) for word, each in words.items())


COMMANDS = dict(_commands())


def _run(*words: str | Path, **environment: str) -> Result:
    return CliRunner().invoke(app, [*map(str, words)], env=environment)


@pytest.mark.parametrize("verb", COMMANDS)
def test_help_shows_examples_and_what_holds_everywhere(verb: str) -> None:
    printed = _run(*verb.split(), "--help").stdout
    assert printed == _run(*verb.split(), "-h").stdout
    assert COMMANDS[verb].help
    assert printed.count(f"\n    lpisearch {verb}") >= len(EXAMPLES[verb]) > 0
    assert "\nGlobal options:\n  --db FILE " in printed
    assert "--debug" in printed
    assert "<list[" not in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_there_are_examples_of_verbs_only() -> None:
    assert set(EXAMPLES) == set(COMMANDS)


@pytest.mark.parametrize(
    ("verb", "purpose", "typed"),
    [(verb, *example) for verb, examples in EXAMPLES.items() for example in examples],
)
def test_examples_can_be_typed(verb: str, purpose: str, typed: str) -> None:
    assert purpose
    words = shlex.split(typed.partition(" | ")[0])
    assert words[: len(verb.split())] == verb.split()
    command = COMMANDS[verb]
    context = command.make_context(verb, words[len(verb.split()) :], obj=object())
    assert not context.args


@pytest.mark.parametrize("verb", ["search", "index"])
def test_many_options_stand_under_headings(verb: str) -> None:
    printed = _run(verb, "--help-all").stdout
    headings = [line for line in printed.splitlines() if line.endswith(":") and line[0] != " "]
    assert len(headings) >= 6
    assert {"search": "Filters:", "index": "Neighbour graph:"}[verb] in headings
    assert "Output:" in headings


def test_the_library_is_named_before_or_after_the_verb(shelf: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    for words in (
        ("--db", shelf, "status"),
        ("status", "--db", shelf),
        ("status", f"--db={shelf}"),
        ("--db", other, "status", "--db", shelf),
        ("docs", "--db", shelf, "list"),
        ("docs", "list", "--db", shelf),
        ("evaluate", "--db", shelf, "cluster"),
        ("query", "ship", "--db", shelf, "-storm", "-k", "3"),
        ("db", "check", "--db", shelf),
    ):
        assert _run(*words, LPISEARCH_DB=str(other)).exit_code == 0, words
    missing = _run("--db", shelf, "docs", "list", "--db", other)
    assert f"No library found at {other}." in missing.output


def test_a_library_named_before_goes_before_the_environment(shelf: Path, tmp_path: Path) -> None:
    assert _run("--db", shelf, "status", LPISEARCH_DB=str(tmp_path / "no.db")).exit_code == 0
    assert _run("status", LPISEARCH_DB=str(shelf)).exit_code == 0


def test_debugging_is_asked_for_after_the_verb_too(tmp_path: Path) -> None:
    result = _run("status", "--db", tmp_path / "no.db", "--debug")
    assert type(result.exception).__name__ == "LibraryNotFound"


@pytest.mark.parametrize(
    ("words", "help_of"),
    [
        (("query", "ship", "--by", "magic"), "search"),
        (("index", "--dims", "many"), "index"),
        (("evaluate", "classify", "--train", "much"), "evaluate classify"),
        (("evaluate", "--seed", "1", "cluster"), "evaluate"),
        (("topics", "-n", "few"), "topics"),
    ],
)
def test_a_wrong_value_points_at_the_help_of_its_verb(
    shelf: Path, words: tuple[str, ...], help_of: str
) -> None:
    result = _run("--db", shelf, *words)
    assert result.exit_code == 2
    assert f"lpisearch {help_of} --help" in result.output


def test_a_folder_is_a_prefix(
    folder: Callable[..., Path],
    ingest: Callable[..., Any],
    library: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notes = folder(
        {"code docs/a.txt": "One.", "code docs/deep/b.txt": "Two.", "code.txt": "Three."}
    )
    ingest(notes)
    monkeypatch.chdir(notes.parent)
    for path in ("code docs", "code docs/", f"{notes}/code docs", "notes/code docs", "*docs"):
        for words in (("docs", "list"), ("query", "one two three", "--by", "lexical")):
            printed = _run("--db", library, *words, "--path", path).stdout
            assert ("a.txt" in printed, "b.txt" in printed) == (True, True), (words, path)
            assert "code.txt" not in printed, (words, path)


def test_help_lists_every_verb(cli: Cli) -> None:
    printed = cli("--help-all").stdout
    for name, verb in VERBS.items():
        assert re.search(f"\n  {name} +{re.escape(verb.purpose)}\n", printed)


def test_the_first_page_is_short(cli: Cli) -> None:
    printed = cli("--help").stdout
    assert printed == cli("help").stdout
    assert len(printed.splitlines()) <= 32
    for name, verb in VERBS.items():
        assert (f"  {name} " in printed and verb.purpose in printed) is (name in FIRST)
    others = ", ".join(name for name in VERBS if name not in FIRST)
    assert f" More commands: {others} " in " ".join(printed.split())


@pytest.mark.parametrize("words", [(), ("docs",), ("db",)], ids=" ".join)
def test_a_verb_alone_prints_its_help(words: tuple[str, ...]) -> None:
    """The help keeps its lines, so that it can be read."""
    done = _run(*words)
    assert done.exit_code == 2
    assert done.stderr == _run(*words, "--help").stdout


@pytest.mark.parametrize("verb", COMMANDS)
def test_the_short_help_has_a_dozen_options(verb: str) -> None:
    """The full help has all others too; both have each option once."""
    short, full = (
        re.findall(r"^  (-.*?)(?:  |$)", _run(*verb.split(), form).stdout, re.MULTILINE)
        for form in ("--help", "--help-all")
    )
    assert len(short) - 3 <= 13  # --db, --debug and --help are everywhere
    assert set(short) <= set(full)
    assert len(full) == len(set(full))
    hidden = [option for option in COMMANDS[verb].params if option.hidden]
    assert len(full) - len(short) == len(hidden) + 1  # --help-all itself
    more = f"More options: lpisearch {verb} --help-all"
    assert (more in _run(*verb.split(), "--help").stdout) is bool(hidden)


@pytest.mark.parametrize(
    ("typed", "verb"),
    [
        ("query", "search"),
        ("find", "search"),
        ("add", "ingest"),
        ("list", "docs list"),
        ("show", "docs show"),
        ("help search", "search"),
        ("help docs list", "docs list"),
        ("help list", "docs list"),
    ],
)
def test_other_names_of_a_verb(typed: str, verb: str) -> None:
    help_of = [] if typed.startswith("help ") else ["--help"]
    assert _run(*typed.split(), *help_of).stdout == _run(*verb.split(), "--help").stdout


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("evaluat", "evaluate"),
        ("serach", "search"),
        ("qurey", "query"),
        ("rm", "docs delete"),
        ("backup", "db backup"),
        ("reindex", "index"),
    ],
)
def test_a_mistyped_verb_is_guessed(cli: Cli, typed: str, meant: str) -> None:
    for words in ((typed,), ("help", typed)):
        result = cli(*words)
        assert result.exit_code == 2
        assert f"Did you mean '{meant}'?" in result.output
    assert "Did you mean" not in cli("xyzzy").output


def test_a_verb_does_not_import_the_others() -> None:
    code = (
        "import sys\nfrom lpisearch.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith('lpisearch.cli.')])"
    )
    for words, own in (((), set()), (("topics",), {"subjects"})):
        run = [sys.executable, "-c", code, *words, "--help"]
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        modules = set(done.stdout.splitlines()[-1].replace("'", "").strip("[]").split(", "))
        verbs = {f"lpisearch.cli.{verb.module}" for verb in VERBS.values()}
        assert modules & verbs == {f"lpisearch.cli.{name}" for name in own}
