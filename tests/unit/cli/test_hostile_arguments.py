"""Whatever is typed, a verb answers it or says in a line why not; nothing is a defect."""

import gzip
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st

from lpisearch.admin.maintenance import examine
from lpisearch.cli.app import app
from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.options import IndexOptions, IngestOptions

_SURROGATES = "\udcff\ud800"
_MANY = 100_000
_HUGE = "9" * 20
_LONG = "x" * 300
_EXAMPLES = 120
_MANY_EXAMPLES = 3000
_LEFT_OUT = {"watch", "debug", "wait", "db", "help"}  # goes on for ever, shows tracebacks, …
_STATUSES = {0, 1, 2}

# What stands for a file of queries, by its bytes.
_QUERIES = {
    "brackets.jsonl": b'{"id": "1", "text": ' + b"[" * _MANY + b"\n",
    "brackets.tsv": b"1\t" + b"[" * _MANY + b"\n",
    "cut.tsv.gz": gzip.compress(b"1\tship\n2\tboat\n" * 999)[:60],
    "changed.tsv.gz": b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\xff" * 99,
    "none.tsv.gz": b"\x1f\x8b\x08nonsense",
    "latin.tsv": b"1\tcaf\xe9\n",
    "zero.tsv": b"1\ta\0b\n\0\t\0\n",
}
_TYPED: list[tuple[str, ...]] = [
    *(("docs", "list", "--path", sign * _MANY) for sign in "*[?"),
    *(("query", "ship", "--path", sign * _MANY) for sign in "*[?"),
    *(("docs", "list", option, _SURROGATES) for option in ("--path", "--label", "--split")),
    ("query", "ship", "--where", f"{_SURROGATES}={_SURROGATES}"),
    ("query", "ship", "--path", _SURROGATES),
    ("query", "ship", "--like", _SURROGATES),
    ("query", _SURROGATES),
    *(("docs", verb, _SURROGATES) for verb in ("show", "delete")),
    ("similar", _SURROGATES),
    ("index", "--where", f"{_SURROGATES}="),
    ("docs", "list", "-n", _HUGE, "--offset", _HUGE),
    ("query", "ship", "-k", _HUGE, "--offset", _HUGE),
    ("similar", "sea/0", "-k", _HUGE),
    ("topics", "-n", _HUGE),
    ("index", "--dims", _HUGE),
    ("index", "--neighbours", _HUGE),
    ("index", "--alpha", "9" * 400),
    *(("query", "--queries", f"ROOT/{name}") for name in _QUERIES),
    ("query", "--queries", _LONG),
    ("query", "[" * _MANY),
    ("query", '"' * _MANY),
    *(("docs", "export", f"{name}") for name in (_LONG, _SURROGATES, "\0", "ROOT")),
    *(("db", "backup", name) for name in (_LONG, "\0", f"ROOT/{_SURROGATES}")),
    ("evaluate", "cluster", "--methods", "terms", "--report", _LONG),
    *(("ingest", name) for name in (_LONG, _SURROGATES, "\0", "*" * _MANY, "[" * _MANY)),
    *(("--db", name, "status") for name in (_LONG, _SURROGATES, "\0")),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an indexed library, files of queries, and a folder of notes."""
    folder = tmp_path_factory.mktemp("typed")
    records = [
        {"id": f"{label}/{number}", "text": f"{words} number{number}", "labels": [label]}
        for number in range(6)
        for label, words in (("sea", "ship boat harbour"), ("kitchen", "bread oven flour"))
    ]
    source = folder / "records.jsonl"
    source.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    (folder / "notes").mkdir()
    (folder / "notes" / "a.txt").write_text("A letter about ships.", encoding="utf-8")
    for name, data in _QUERIES.items():
        (folder / name).write_bytes(data)
    run_ingest(folder / "library.db", [str(source)], IngestOptions())
    build_index(folder / "library.db", IndexOptions(method="lsi", dims=2))
    return folder


@pytest.fixture(scope="module")
def typed(root: Path) -> Iterator[Callable[[Sequence[str]], tuple[int, str]]]:
    """Return a runner of words; it gives the status and what was said on stderr."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("XDG_CONFIG_HOME", str(root))  # `config` writes there

        def run(words: Sequence[str]) -> tuple[int, str]:
            errors = StringIO()
            with pytest.MonkeyPatch.context() as streams:
                streams.setattr(sys, "stdin", StringIO(""))
                streams.setattr(sys, "stdout", StringIO())
                streams.setattr(sys, "stderr", errors)
                with pytest.raises(SystemExit) as end:
                    app(["--db", str(root / "library.db"), *words])
            code = end.value.code
            return (code if isinstance(code, int) else 0), errors.getvalue()

        yield run


def _check(done: tuple[int, str], *, may_find_nothing: bool = False) -> None:
    status, said = done
    assert status in _STATUSES, said
    assert "unexpected" not in said
    assert "Traceback" not in said
    assert len(said) < 2 * _MANY
    if status and not may_find_nothing:
        assert "Error: " in said or "Usage: " in said


@pytest.mark.parametrize(
    "words", _TYPED, ids=lambda words: ascii(" ".join(word[:12] for word in words))
)
def test_what_is_typed_is_answered(
    typed: Callable[[Sequence[str]], tuple[int, str]], root: Path, words: tuple[str, ...]
) -> None:
    _check(typed([word.replace("ROOT", str(root)) for word in words]))


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone cannot be changed here")
@pytest.mark.parametrize("words", [("ingest", "notes"), ("db", "backup", "--json")], ids=" ".join)
def test_a_time_zone_beyond_the_day(
    typed: Callable[[Sequence[str]], tuple[int, str]], words: tuple[str, ...]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC-25")
        time.tzset()
        done = typed(words)
    time.tzset()
    assert done[0] == 0, done


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each verb with its words; a group of verbs is gone through."""
    names = command.list_commands(None) if hasattr(command, "list_commands") else []
    for name in names:
        yield from _commands(command.get_command(None, name), (*words, name))
    if not names:
        yield words, command


_VERBS = {
    words: command
    for words, command in _commands(typer.main.get_command(app))
    if words not in {("demo",), ("serve",), ("watch",)}  # one runs the others, two do not end
}
_PLAUSIBLE = [
    "sea", "sea/0", "ship boat", "auto", "none", "lsi", "rlpi", "terms", "semantic", "lexical",
    "notes", "library.db", "records.jsonl", "cut.tsv.gz", "zero.tsv", "out.jsonl", "2", "0.5",
    "label=sea", "2024-05", "folder", "default",
]  # fmt: skip
_HOSTILE = [
    "", " ", "-", "--", "-1", "0", "nan", "inf", "-inf", "1e309", "9" * 4000, _HUGE, _LONG,
    _SURROGATES, "\0", "\x1b[2J", "\u202e", "~nobody", "*", "[", "a=b=c", "=", "%s",
    "{}", "'", '"', ";", "\n", "é" * 300, "NULL", "1970-13-45", "٣",
]  # fmt: skip
_VALUES = st.one_of(
    st.sampled_from(_PLAUSIBLE),
    st.sampled_from(_HOSTILE),
    st.text(st.characters(exclude_characters="/~"), max_size=20),  # nothing outside the folder
    st.integers(-3, 40).map(str),
    st.floats(width=32).map(str),
)


@st.composite
def _lines(draw: st.DrawFn) -> list[str]:
    """Draw a verb, some of its options with values, and its arguments."""
    words, command = draw(st.sampled_from(sorted(_VERBS.items(), key=lambda item: item[0])))
    options = [
        one
        for one in command.params
        if one.param_type_name == "option" and one.name not in _LEFT_OUT
    ]
    line = list(words)
    for option in draw(st.lists(st.sampled_from(options), max_size=4)) if options else []:
        line.append(draw(st.sampled_from(option.opts)))
        if not getattr(option, "is_flag", False):
            line.append(draw(_VALUES))
    for argument in command.params:
        if argument.param_type_name == "argument":
            line += draw(st.lists(_VALUES, max_size=3 if argument.nargs == -1 else 1))
    return line


def _try_lines(
    typed: Callable[[Sequence[str]], tuple[int, str]], chosen: int, examples: int
) -> None:
    @seed(chosen)
    @settings(max_examples=examples, database=None, suppress_health_check=[*HealthCheck])
    @given(_lines())
    def try_line(line: list[str]) -> None:
        note(f"seed {chosen}: lpisearch {line}")
        _check(typed(line), may_find_nothing="--fail-if-none" in line)

    try_line()


@pytest.mark.timeout(600)
def test_any_words_are_answered(
    typed: Callable[[Sequence[str]], tuple[int, str]], root: Path
) -> None:
    _try_lines(typed, 5, _EXAMPLES)
    assert [each.check for each in examine(root / "library.db") if not each.ok] == []


@pytest.mark.slow
def test_many_more_words_are_answered(
    typed: Callable[[Sequence[str]], tuple[int, str]], root: Path
) -> None:
    _try_lines(typed, random.SystemRandom().randrange(1 << 32), _MANY_EXAMPLES)
    assert [each.check for each in examine(root / "library.db") if not each.ok] == []
