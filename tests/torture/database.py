"""Damage in the database: it is found, said in plain words, and mended from the files.

Each try takes a copy of a sound library, damages it (a bit, two pages, the end, a cell), and asks
of the program what a person would. A try fails where an error is not a stated one, or where
`doctor` says that all is well and anything that the library holds differs from what it was.
"""

import json
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import lpisearch
from lpisearch.cli.app import app

_CORPUS = Path(__file__).parents[2] / "sample_corpus" / "documents"
_QUESTIONS = ("dough", "stars and the moon")
_VERBS = (
    ("status",),
    ("docs", "list", "--json"),
    ("docs", "export"),
    ("query", _QUESTIONS[0], "--json"),
    ("query", _QUESTIONS[1], "--by", "lexical", "--explain"),
    ("similar", "baking/leaven.txt"),
    ("topics", "-n", "3"),
    ("db", "check"),
)
_TABLES = (
    *("sources", "documents", "document_sections", "labels", "label_edits", "predicted_labels"),
    *("document_tokens", "document_traits", "settings", "indexes"),
)


def make_library(folder: Path) -> Path:
    """Make the library that is damaged: some documents of each topic and format, and an index."""
    files = folder / "files"
    for number, path in enumerate(sorted(_CORPUS.rglob("*"))):
        if path.is_file() and number % 5 == 0:
            (files / path.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, files / path.parent.name)
    (files / "more.jsonl").write_text(
        "".join(
            json.dumps({"id": f"more-{n}", "text": f"A stated id, {n}. " * 40, "year": n}) + "\n"
            for n in range(20)
        ),
        encoding="utf-8",
    )
    library = folder / "library.db"
    with lpisearch.open(library) as opened:
        report = opened.ingest(files, labels="folder")
        if report.failed or report.added < 40:
            raise RuntimeError(f"the sample corpus cannot be read: {report}")
        opened.index("lsi", dims=5)
    return library


def run(tries: int, seed: int, kinds: tuple[str, ...] = ()) -> dict[str, Counter[str]]:
    """Damage the library so often in each way; return what became of it, by kind of damage.

    Returns
    -------
    dict
        For each kind the counts of "harmless", "found", "mended", and of failures: "silent",
        "unstated".
    """
    counts: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory(prefix="lpisearch-torture-") as name:
        folder = Path(name)
        whole = make_library(folder)
        before = contents(whole)
        for kind in kinds or tuple(DAMAGES):
            chance = random.Random(f"{kind} {seed}")  # noqa: S311 (faults, not secrets)
            counts[kind] = Counter()
            for number in range(tries):
                outcome = _try(whole, before, DAMAGES[kind], chance)
                counts[kind][outcome.split(":")[0]] += 1
                if outcome.split(":")[0] in {"silent", "unstated"}:
                    sys.stderr.write(f"{kind} {seed}, try {number}: {outcome}\n")
    return counts


def _try(
    whole: Path, before: dict[str, Any], damage: Callable[[Path, random.Random], None],
    chance: random.Random,
) -> str:  # fmt: skip
    library = whole.with_name("damaged.db")
    for path in whole.parent.glob("damaged*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copyfile(whole, library)
    shutil.copytree(whole.with_suffix(".index"), library.with_suffix(".index"))
    damage(library, chance)
    said: list[str] = []
    sound = _asked(library, ("doctor",), said)
    for verb in chance.sample(_VERBS, 3):
        _asked(library, verb, said)
    if sound and not said:
        difference = _difference(before, library)
        return f"silent: {difference}" if difference else "harmless"
    mended = _asked(library, ("doctor", "--repair"), said)
    if said:
        return f"unstated: {said[0]}"
    if sound or not mended:
        return "found"
    difference = _difference(before, library)
    return f"silent: after the repair {difference}" if difference else "mended"


def _asked(library: Path, words: tuple[str, ...], said: list[str]) -> bool:
    """Run a verb; note an error that is not a stated one; return whether it did what was asked."""
    done = CliRunner().invoke(app, ["--db", str(library), *words])
    stated = done.exit_code in {0, 1, 2} and "unexpected" not in done.stderr
    if not stated or (done.exit_code and not (done.stdout or "Next: " in done.stderr)):
        said.append(f"{' '.join(words)}: {done.stderr.strip()[:300]}")
    return done.exit_code == 0


def _difference(before: dict[str, Any], library: Path) -> str:
    """Return the first thing that a library holds and did not hold before."""
    try:
        now = contents(library)
    except sqlite3.DatabaseError as error:
        return str(error)
    for part, rows in before.items():
        if rows != now[part]:
            gone = [row for row in rows if row not in now[part]]
            come = [row for row in now[part] if row not in rows]
            return f"{part}: {_apart(str(gone), str(come))}"
    return ""


def _apart(gone: str, come: str) -> str:
    """Show two texts from where they differ."""
    at = next((n for n, pair in enumerate(zip(gone, come, strict=False)) if len(set(pair)) > 1), 0)
    start = max(at - 60, 0)
    return f"{gone[start : at + 100]} became {come[start : at + 100]}"


def contents(library: Path) -> dict[str, Any]:
    """Return all rows of a library, and what is found in it, whatever keys documents have."""
    with closing(sqlite3.connect(f"{library.as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        names = dict(map(tuple, connection.execute("SELECT id, external_id FROM documents")))
        found: dict[str, Any] = {
            table: sorted(
                _facts(row, table, names) for row in connection.execute(f"SELECT * FROM {table}")
            )
            for table in _TABLES
        }
        matching = "SELECT rowid FROM documents_fts WHERE documents_fts MATCH 'star OR moon'"
        found["full text"] = sorted(names.get(row[0], "") for row in connection.execute(matching))
    return found


# What a repair may change: when something was read, and that a file is to be read again.
_TIMES = {"ingested_at", "read_at", "checksum"}
_READ_AGAIN = {"size", "mtime_ns", "ctime_ns", "read_options", "format", "root"}


def _facts(row: sqlite3.Row, table: str, names: dict[int, str]) -> str:
    left_out = _TIMES | {"sources": _READ_AGAIN, "documents": {"id"}}.get(table, set())
    facts = {name: row[name] for name in row.keys() if name not in left_out}  # noqa: SIM118 (a row)
    if "document_id" in facts:
        facts["document_id"] = names.get(facts["document_id"])
    return repr(facts)


# The damages.


def flip(library: Path, chance: random.Random) -> None:
    """Turn one bit over."""
    at = chance.randrange(library.stat().st_size)
    with library.open("r+b") as stream:
        stream.seek(at)
        (byte,) = stream.read(1)
        stream.seek(at)
        stream.write(bytes([byte ^ 1 << chance.randrange(8)]))


def swap(library: Path, chance: random.Random) -> None:
    """Put two pages in each other's place."""
    size = _page_bytes(library)
    first, second = chance.sample(range(library.stat().st_size // size), 2)
    with library.open("r+b") as stream:
        pages = []
        for page in (first, second):
            stream.seek(page * size)
            pages.append(stream.read(size))
        for page, content in zip((second, first), pages, strict=True):
            stream.seek(page * size)
            stream.write(content)


def truncate(library: Path, chance: random.Random) -> None:
    """Cut the end off, at a page or anywhere."""
    size = chance.randrange(library.stat().st_size)
    page = _page_bytes(library)
    with library.open("r+b") as stream:
        stream.truncate(size // page * page if chance.random() < 0.5 else size)


def overwrite(library: Path, chance: random.Random) -> None:
    """Put zeros, rubbish or another page in the place of a page."""
    size = _page_bytes(library)
    pages = library.stat().st_size // size
    with library.open("r+b") as stream:
        stream.seek(chance.randrange(pages) * size)
        other = stream.read(size)
        stream.seek(chance.randrange(pages) * size)
        stream.write(chance.choice([bytes(size), chance.randbytes(size), other]))


def spoil_a_cell(library: Path, chance: random.Random) -> None:
    """Put something else in a cell, past the program: another type, JSON that is none, nothing."""
    with closing(sqlite3.connect(library)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        table = chance.choice(_TABLES)
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column = chance.choice(columns)
        rows = [row[0] for row in connection.execute(f"SELECT rowid FROM {table}")]
        if not rows:
            return
        value = chance.choice([b"\xff\xfe", "", "{", "[1, 2", 7, -1, 1.5, "é", "null", "[]"])
        connection.execute("PRAGMA ignore_check_constraints = ON")
        with suppress(sqlite3.IntegrityError):  # a key takes nothing but numbers
            connection.execute(
                f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid = ?",
                (value, chance.choice(rows)),
            )


def _page_bytes(library: Path) -> int:
    with library.open("rb") as stream:
        return int.from_bytes(stream.read(18)[16:18], "big")


DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    "flip": flip,
    "swap": swap,
    "truncate": truncate,
    "overwrite": overwrite,
    "cell": spoil_a_cell,
}
