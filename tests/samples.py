"""Libraries that many tests begin with: made once in a run of all workers, then copied."""

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from alembic import command
from sqlalchemy.dialects.sqlite import dialect

import lpisearch
from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.location import Address, Location, shipped_folder
from lpisearch.options import IndexOptions, IngestOptions, ReadOptions
from lpisearch.storage.dialects import row_checksum
from lpisearch.storage.sqlite.database import Database, connect
from lpisearch.storage.tables import DOCUMENTS, SOURCES, alembic_config

_TOPICS = {
    "sea": "ship boat harbour sail anchor tide wave storm pilot rope mast cargo",
    "kitchen": "bread flour oven butter sugar cake yeast kneel crust salt recipe bowl",
    "sky": "star planet moon comet orbit telescope galaxy light dust sun eclipse night",
    "music": "violin tune chord rhythm opera song choir drum string piano concert melody",
}
_COMMON = "morning letter friend road window garden winter story table paper"
_SECONDS = 100


def records_of_topics() -> list[dict[str, Any]]:
    """Return 40 records on four topics, labelled; every fifth is in the split "test"."""
    chance = random.Random(5)  # noqa: S311 (texts, not secrets)
    found = []
    for number in range(40):
        topic = list(_TOPICS)[number % 4]
        words = chance.choices(_TOPICS[topic].split(), k=20) + chance.choices(_COMMON.split(), k=6)
        split = "train" if number % 5 else "test"
        text = " ".join(chance.sample(words, len(words)))
        found.append({"id": f"{topic}/{number}", "text": text, "labels": [topic], "split": split})
    return found


def make_shelf(folder: Path) -> None:
    """Make a library of the records."""
    lines = "".join(json.dumps(record) + "\n" for record in records_of_topics())
    (folder / "records.jsonl").write_text(lines, encoding="utf-8")
    run_ingest(folder / "library.db", [str(folder / "records.jsonl")], IngestOptions(prune=True))


def make_indexed(shelf: Path, options: IndexOptions, folder: Path) -> None:
    """Make the same library with an index."""
    build_index(copy_library(shelf, folder), options)


def make_sample(folder: Path) -> None:
    """Make a library of the sample corpus, with an index."""
    documents = shipped_folder("sample_corpus") / "documents"
    with lpisearch.open(folder / "library.db") as library:
        library.ingest(documents, options=IngestOptions(read=ReadOptions(labels="folder")))
        library.index()


def once(root: Path, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that is made by the first of all processes of a run that asks for it."""
    folder = root / name
    # A lock that any system has, and that ends with its process.
    with closing(sqlite3.connect(root / f"{name}.lock", timeout=_SECONDS)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        if not folder.exists():
            folder.mkdir()
            make(folder)
    return folder


def copy_library(made: Path, to: Path) -> Path:
    """Copy a folder with a library of its files, as if it had been made in the other folder."""
    shutil.copytree(made, to, dirs_exist_ok=True)
    with closing(connect(to / "library.db", writable=True)) as connection:
        connection.execute("BEGIN")
        for cell in ("sources SET path = replace(path", "sources SET root = replace(root",
                     "documents SET path = replace(path"):  # fmt: skip
            connection.execute(f"UPDATE {cell}, ?, ?)", (str(made), str(to)))
        for statement in _seals():
            connection.execute(statement)
        connection.execute("COMMIT")
    return to / "library.db"


@cache
def _seals() -> list[str]:
    """Return the statements that give rows the checksums of what they hold now."""
    return [
        f"UPDATE {table.name} SET checksum = {row_checksum(table).compile(dialect=dialect())}"
        for table in (SOURCES, DOCUMENTS)
    ]


def downgrade(library: Location, target: str) -> None:
    """Migrate a library to an earlier revision."""
    if isinstance(library, Address):
        from lpisearch.storage.postgres.database import single

        with single(library).begin() as connection:
            command.downgrade(alembic_config(connection), target)
        return
    with Database.connect(library, writable=True) as database, database.writing() as connection:
        command.downgrade(alembic_config(connection.core), target)
