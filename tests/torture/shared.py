"""A library in PostgreSQL: that a stranger may write; eight writers while its server is killed."""

import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import lpisearch
from lpisearch.errors import LpiSearchError
from lpisearch.location import Address
from lpisearch.model.documents import Filter
from lpisearch.storage import open_store
from tests.servers import Server, programs_of, running, start
from tests.torture.scene import forked

WRITERS, _FILES = 8, 12


def has_server() -> bool:
    """Tell whether a server can be started here."""
    try:
        return bool(programs_of())
    except pytest.skip.Exception:
        return False


def strangers(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Let the tables name folders and files of chance; nothing outside the cache may change."""
    chance = random.Random(seed)  # noqa: S311 (faults, not secrets)
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in _HARMS}
    with _place() as folder, running(programs_of()) as server:
        victim, address = folder / "victim", server.address()
        for name in ("photos-0123456789ab", ".partial-0123456789ab", "plain"):
            (victim / name).mkdir(parents=True)
            (victim / name / "vectors.npy").write_bytes(b"mine")
        files = folder / "files"
        files.mkdir()
        for number in range(_FILES):
            (files / f"{number}.txt").write_text(f"ship boat {'tide ' * (number % 4)}{number}")
        with lpisearch.open(address) as library:
            library.ingest(files)
        for number in range(tries):
            if time.monotonic() > until:
                break
            kind = chance.choice(sorted(_HARMS))
            outcome = _attacked(server, address, folder, kind, chance)
            counts[kind][outcome.split(":")[0]] += 1
            if ":" in outcome:
                print(f"{kind} {seed}, try {number}: {outcome}")  # noqa: T201 (a person watches)
    return counts


def _attacked(
    server: Server, address: Address, folder: Path, kind: str, chance: random.Random
) -> str:
    shutil.rmtree(folder / "cache", ignore_errors=True)
    server.run("DELETE FROM settings WHERE name = 'index_store'")
    with lpisearch.open(address) as library:
        library.index("lsi", dims=2)
    if chance.random() < 0.7:  # as on another machine
        shutil.rmtree(folder / "cache", ignore_errors=True)
    _HARMS[kind](server, address, folder, chance)
    before = _seen(folder)
    outcome = "answered"
    try:
        with lpisearch.open(address) as library:
            library.search("ship")
            library.status()
            library.examine()
            library.index("lsi", dims=3)
    except LpiSearchError:
        outcome = "stated"
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what is looked for)
        return f"unstated: {type(error).__name__}: {error}"
    now = _seen(folder)
    return outcome if now == before else f"damage: {sorted(now ^ before)}"


def _seen(folder: Path) -> set[tuple[str, int]]:
    """Return all files but those of the cache of indexes, which is ours."""
    own = folder / "cache" / "lpisearch" / "indexes"
    found = (path for path in folder.rglob("*") if own != path and own not in path.parents)
    above = {(str(path), 0) for path in (folder.parent / f"{folder.name}-evil",) if path.exists()}
    above |= {(str(path), 0) for path in Path(tempfile.gettempdir()).glob("evil-*")}
    return above | {
        (str(path), path.stat().st_size) for path in found
        if not path.is_dir() or not own.is_relative_to(path)
    }  # fmt: skip


def _name(folder: Path, chance: random.Random) -> str:
    """Return a name that leads somewhere else, or nearly."""
    up = "../" * chance.randrange(1, 12)
    digits = chance.choice(["", "-0123456789ab"])
    return chance.choice([
        f"{up}victim{digits}", f"{folder}/victim/plain{digits}", f"{up}{folder}/victim", "..", ".",
        "", "/", "a/../../victim", "a\\..\\victim", f"victim{digits}", "C:evil", "\n", "~", "~root",
        f"{folder}-evil{digits}", f"{tempfile.gettempdir()}/evil-0123456789ab", "x" * 300, "é",
        f"victim/../victim{digits}", "victim/", "./victim", "photos-0123456789ab", "manifest.json",
    ])  # fmt: skip


def _set(address: Address, **choice: str) -> None:
    with open_store(address, writable=True) as store, store.writing() as transaction:
        transaction.settings.set("index_store", choice)


def _entry(_server: Server, address: Address, folder: Path, chance: random.Random) -> None:
    with open_store(address, writable=True) as store, store.writing() as transaction:
        (entry,) = transaction.indexes.entries()
        transaction.indexes.save(replace(entry, folder=_name(folder, chance)))


def _files(server: Server, _address: Address, folder: Path, chance: random.Random) -> None:
    name = _name(folder, chance).replace("'", "''")
    if chance.random() < 0.5:
        server.run(f"DELETE FROM index_files WHERE name = '{name}'")
        server.run(f"UPDATE index_files SET name = '{name}' WHERE name = "
                   "(SELECT min(name) FROM index_files WHERE name <> 'manifest.json')")  # fmt: skip
    else:
        server.run("INSERT INTO index_files SELECT DISTINCT folder, "
                   f"'{name}', 0, 'x'::bytea FROM index_files ON CONFLICT DO NOTHING")  # fmt: skip


Harm = Callable[[Server, Address, Path, random.Random], None]
_HARMS: dict[str, Harm] = {
    "name": lambda _, address, folder, chance: _set(address, name=_name(folder, chance), folder=""),
    "folder": lambda _, address, folder, chance: _set(
        address, name="victim", folder=chance.choice([str(folder), _name(folder, chance)])
    ),
    "both": lambda _, address, folder, chance: _set(
        address, name=_name(folder, chance), folder=str(folder)
    ),
    "entry": _entry,
    "files": _files,
}


def writers(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Let eight processes write while the server is killed and started; nothing may be lost."""
    chance = random.Random(seed)  # noqa: S311 (moments, not secrets)
    counts: Counter[str] = Counter()
    with _place() as folder, running(programs_of(), durable=True) as server:
        # Where a database has this default, transactions may fail for lack of an order.
        server.run("ALTER ROLE tests SET default_transaction_isolation = 'serializable'")
        for number in range(tries):
            if time.monotonic() > until:
                break
            outcome = _written(server, folder / str(number), f"library_{number}", chance)
            counts[outcome.split(":")[0]] += 1
            if ":" in outcome:
                print(f"writers {seed}, try {number}: {outcome}")  # noqa: T201 (a person watches)
            shutil.rmtree(folder / str(number), ignore_errors=True)
    return {f"{WRITERS} writers, a server killed": counts}


def _written(server: Server, folder: Path, schema: str, chance: random.Random) -> str:
    server.run(f"CREATE SCHEMA {schema}")
    address = server.address(schema=schema)
    for writer in range(WRITERS):
        (folder / str(writer)).mkdir(parents=True)
        for number in range(_FILES):
            text = f"ship{writer} boat{number} harbour tide"
            (folder / str(writer) / f"{number}.txt").write_text(text)
    work = [partial(_write, address, folder / str(writer)) for writer in range(WRITERS)]
    children = [forked(one) for one in work]
    time.sleep(chance.uniform(0, 4))
    server.kill()
    restarted = Server(
        server.programs, server.folder, start(server.programs, server.folder, durable=True)
    )
    object.__setattr__(server, "pid", restarted.pid)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if wrong := [status for status in statuses if status not in {0, 3}]:
        return f"unstated: {wrong}"
    for one in work:  # as a person does, who is told to
        one()
    with lpisearch.open(address) as library:
        found = {document.id or "": document.labels for document in library}
        unsound = [one.check for one in library.examine() if not one.ok]
    if len(found) != WRITERS * _FILES:
        return f"lost: {len(found)} of {WRITERS * _FILES} documents"
    if any("mine" not in labels for labels in found.values()):
        return "lost: a label"
    return f"unsound: {unsound}" if unsound else "stated" if 3 in statuses else "done"


def _write(address: Address, folder: Path) -> None:
    with lpisearch.open(address) as library:
        library.ingest(folder)
        library.label(add="mine", where=Filter(path=f"{folder}/*"))


@contextmanager
def _place() -> Iterator[Path]:
    """Give a folder with a cache of its own."""
    folder = Path(tempfile.mkdtemp(prefix="lpisearch-torture-"))
    former = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    try:
        yield folder
    finally:
        if former is None:
            del os.environ["XDG_CACHE_HOME"]
        else:
            os.environ["XDG_CACHE_HOME"] = former
        shutil.rmtree(folder, ignore_errors=True)
