"""A library, a folder of files, an ingest and the command line, each in a folder of its own."""

import itertools
import json
import multiprocessing
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from typer.testing import CliRunner, Result

from lpisearch.cli.app import app
from lpisearch.location import Address
from lpisearch.model.documents import IngestReport
from lpisearch.options import IndexOptions, IngestOptions, ReadOptions
from lpisearch.storage.reading import plain_tokens
from lpisearch.storage.sqlite import schema
from tests.samples import (
    copy_library,
    make_indexed,
    make_sample,
    make_shelf,
    once,
    records_of_topics,
)
from tests.servers import Server, programs_of, running

_DATA = Path(__file__).parents[2] / "shared" / "data"
_SCHEMAS = itertools.count(1)
_READ_OPTIONS = frozenset(ReadOptions.__dataclass_fields__)


# Without a deadline: a machine may be busy. `make test` draws the same each time; `make torture`
# draws anew, and says how to draw so again.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("torture", deadline=None, print_blob=True)
settings.load_profile("same")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a case of bytes after its argument: packed bytes hold the time they were packed."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep evaluations, answers and settings apart from those of the user; ingest alone."""
    folder = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LPISEARCH_DB", raising=False)
        patch.setenv("LPISEARCH_PAGER", "cat")
        for name in ("CACHE", "CONFIG", "STATE"):
            patch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
        own = folder / "config" / "lpisearch" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text('auto_index = "no"\n', encoding="utf-8")  # most tests need none
        yield folder


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a maker of folders that all workers of a run share; tests leave them as they are."""
    base = tmp_path_factory.getbasetemp()
    return partial(once, base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)


@pytest.fixture(scope="session", autouse=True)
def quick_libraries(shared: Callable[..., Path]) -> Iterator[None]:
    """Let new libraries be copies of an empty one; a place that takes none is stated as ever."""
    empty = shared("empty", lambda folder: schema._make(folder / "library.db")) / "library.db"
    make = schema._make

    def copy(path: Path) -> None:
        try:
            shutil.copy(empty, path)
        except OSError:
            make(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "_make", copy)
        yield


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
    from lpisearch.ingest.ingestion import run_ingest

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
    return records_of_topics()


@pytest.fixture
def shelf(shared: Callable[..., Path], tmp_path: Path) -> Path:
    """Return a library that holds the records."""
    return copy_library(shared("shelf", make_shelf), tmp_path)


@pytest.fixture
def index_shelf(shared: Callable[..., Path], shelf: Path) -> Callable[..., Path]:
    """Return what gives that library an index, whose options are given by name."""

    def copy(**options: Any) -> Path:
        make = partial(make_indexed, shared("shelf", make_shelf), IndexOptions(**options))
        name = " ".join(["indexed", *(f"{key}={value}" for key, value in options.items())])
        return copy_library(shared(name, make), shelf.parent)

    return copy


@pytest.fixture
def indexed(index_shelf: Callable[..., Path]) -> Path:
    """Return the library of records with an index as it is by itself."""
    return index_shelf()


@pytest.fixture(scope="session")
def sample(shared: Callable[..., Path]) -> Path:
    """Return the library of the sample corpus with an index. Tests leave it as it is."""
    return shared("sample", make_sample) / "library.db"


@pytest.fixture
def own_sample(sample: Path, tmp_path: Path) -> Path:
    """Return a copy of it."""
    shutil.copytree(sample.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / "library.db"


@pytest.fixture
def sql(library: Path) -> Callable[..., list[Any]]:
    """Return a runner of one SQL statement on the library, past the program."""

    def run(statement: str, *parameters: Any, on: Path = library) -> list[Any]:
        with closing(sqlite3.connect(on)) as connection, connection:
            connection.create_function("plain_tokens", 1, plain_tokens)  # for deletions
            return connection.execute(statement, parameters).fetchall()

    return run


@pytest.fixture
def sound(library: Path) -> Callable[..., None]:
    """Return an assertion that `doctor` finds nothing wrong."""
    from lpisearch.admin.maintenance import examine

    def check(path: Path = library) -> None:
        assert [finding for finding in examine(path) if not finding.ok] == []

    return check


@pytest.fixture(scope="session")
def processes() -> Any:
    """Return a maker of processes that need no time to start: all is imported already."""
    context = multiprocessing.get_context("forkserver")
    builds = ["lpisearch.index.build", "lpisearch.methods.lsi", "sklearn"]
    ingests = ["lpisearch.ingest.ingestion", "alembic.command", "alembic.autogenerate"]
    context.set_forkserver_preload(["__main__", *builds, *ingests])
    return context


@pytest.fixture
def cli(library: Path) -> Callable[..., Result]:
    """Return a runner of `lpisearch --db LIBRARY …` in this process."""

    def run(*words: str | Path, text: str | None = None) -> Result:
        return CliRunner().invoke(app, ["--db", str(library), *map(str, words)], input=text)

    return run


@pytest.fixture(scope="session")
def built(shared: Callable[..., Path]) -> Path:
    """Return the folder of a library that holds the records and has an index."""
    make = partial(make_indexed, shared("shelf", make_shelf), IndexOptions(dims=4))
    return shared("indexed dims=4", make)
