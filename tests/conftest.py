"""A library, a folder of files, an ingest and the command line, each in a folder of its own."""

from __future__ import annotations

import itertools
import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from typer.testing import CliRunner

import lpisearch
from lpisearch.cli.app import app
from lpisearch.settings import IngestOptions, ReadOptions
from tests.servers import programs_of, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from typer.testing import Result

    from lpisearch.places import Address
    from lpisearch.records import IngestReport
    from tests.servers import Server

_DATA = Path(__file__).parents[2] / "shared" / "data"
_TOPICS = {
    "sea": "ship boat harbour sail anchor tide wave storm pilot rope mast cargo",
    "kitchen": "bread flour oven butter sugar cake yeast kneel crust salt recipe bowl",
    "sky": "star planet moon comet orbit telescope galaxy light dust sun eclipse night",
    "music": "violin tune chord rhythm opera song choir drum string piano concert melody",
}
_COMMON = "morning letter friend road window garden winter story table paper"
_SCHEMAS = itertools.count(1)
_READ_OPTIONS = frozenset(ReadOptions.__dataclass_fields__)


settings.register_profile("untimed", deadline=None)  # a machine may be busy
settings.load_profile("untimed")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a case of bytes after its argument: packed bytes hold the time they were packed."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep evaluations, answers and settings apart from those of the user."""
    folder = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LPISEARCH_DB", raising=False)
        for name in ("CACHE", "CONFIG", "STATE"):
            patch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
        yield folder


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Give a server of PostgreSQL, one for each process of tests."""
    with running(programs_of()) as found:
        yield found


@pytest.fixture
def new_address(server: Server) -> Callable[[], Address]:
    """Return a maker of addresses: each of a schema of its own, in which there is nothing."""

    def make() -> Address:
        name = f"library_{next(_SCHEMAS)}"
        server.run(f"CREATE SCHEMA {name}")
        return server.address(schema=name)

    return make


@pytest.fixture
def data() -> Path:
    """Return the folder of the public collections, where there is one."""
    if not _DATA.is_dir():
        pytest.skip(f"no public collections at {_DATA}")
    return _DATA


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return the path of a library that does not exist yet."""
    return tmp_path / "library.db"


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Return a maker of folders: names of files to their texts or bytes."""

    def make(files: Mapping[str, str | bytes], name: str = "notes") -> Path:
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        for relative, content in files.items():
            path = root / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return root

    return make


@pytest.fixture
def ingest(library: Path) -> Callable[..., IngestReport]:
    """Return `run_ingest` into the library; options are given flat, by name."""
    from lpisearch.ingest.ingesting import run_ingest

    def run(*paths: Path | str, into: Path = library, **options: Any) -> IngestReport:
        read = {name: options.pop(name) for name in _READ_OPTIONS & options.keys()}
        chosen = IngestOptions(read=ReadOptions(**read), **options)
        return run_ingest(into, [str(path) for path in paths], chosen)

    return run


@pytest.fixture
def put(ingest: Callable[..., IngestReport], tmp_path: Path) -> Callable[..., IngestReport]:
    """Return an ingest of records: what was put in before under that name is replaced."""

    def run(
        records: Iterable[Mapping[str, Any]], name: str = "records", **options: Any
    ) -> IngestReport:
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return ingest(path, **{"prune": True} | options)

    return run


@pytest.fixture(scope="session")
def records() -> list[dict[str, Any]]:
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


@pytest.fixture
def shelf(records: list[dict[str, Any]], put: Callable[..., IngestReport], library: Path) -> Path:
    """Return a library that holds the records."""
    assert put(records).added == len(records)
    return library


@pytest.fixture
def sql(library: Path) -> Callable[..., list[Any]]:
    """Return a runner of one SQL statement on the library, past the program."""

    def run(statement: str, *parameters: Any, on: Path = library) -> list[Any]:
        with closing(sqlite3.connect(on)) as connection, connection:
            return connection.execute(statement, parameters).fetchall()

    return run


@pytest.fixture
def sound(library: Path) -> Callable[..., None]:
    """Return an assertion that `doctor` finds nothing wrong."""
    from lpisearch.maintenance.doctor import examine

    def check(path: Path = library) -> None:
        assert [finding for finding in examine(path) if not finding.ok] == []

    return check


@pytest.fixture
def cli(library: Path) -> Callable[..., Result]:
    """Return a runner of `lpisearch --db LIBRARY …` in this process."""

    def run(*words: str | Path, text: str | None = None) -> Result:
        return CliRunner().invoke(app, ["--db", str(library), *map(str, words)], input=text)

    return run


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]) -> Path:
    """Return the folder of a library that holds the records and has an index."""
    folder = tmp_path_factory.mktemp("built")
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "records.jsonl").write_text(lines, encoding="utf-8")
    with lpisearch.open(folder / "shelf.db") as library:
        library.ingest(folder / "records.jsonl")
        library.index(dims=4)
    return folder
