"""What the servers of a library share: jobs, sessions of browsers, and saved values.

All processes that serve a library see the same jobs and sessions, on one machine or several. A
library in PostgreSQL has them in two tables next to its own, which the first server creates; where
its role may not write them, and for a library in a file, they are in a small database of their own
in the user's state folder. So progress of a job neither waits for an ingest, nor changes the state
of the library.

A job belongs to the process that does it. This process writes its state, and that it lives, every
second; a job whose process has been silent for ten, or has gone from this machine, is interrupted.
Times are those of the database.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import sqlite3
from collections.abc import Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Engine,
    Float,
    Identity,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    and_,
    case,
    create_engine,
    delete,
    false,
    insert,
    literal,
    or_,
    select,
    text,
    true,
    update,
)
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import QueuePool

from lpisearch.errors import LibraryUnwritable
from lpisearch.location import Address, Location

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


WAITING, RUNNING, INTERRUPTED = "waiting", "running", "interrupted"
_SILENT_SECONDS = 10.0
_PRIVATE, _PRIVATE_FOLDER = 0o600, 0o700
_BUSY_SECONDS = 10.0
_NOT_THROUGH_LINKS = getattr(os, "O_NOFOLLOW", 0)
_METADATA = MetaData()
_KEY = BigInteger().with_variant(Integer(), "sqlite")
_JOBS = Table(
    "lpisearch_jobs",
    _METADATA,
    Column("number", _KEY, Identity(), primary_key=True),
    Column("id", String, unique=True, nullable=False),
    Column("is_writer", Boolean, nullable=False),
    Column("state", String, nullable=False),
    Column("owner", String, nullable=False),
    Column("seen", Float, nullable=False),  # when its process was last known to live
    Column("facts", String, nullable=False),  # as JSON
    Column("result", String),  # as JSON
    Column("is_unwanted", Boolean, nullable=False),
    Column("is_noted", Boolean, nullable=False),  # a start has named it as interrupted
)
_VALUES = Table(
    "lpisearch_values",
    _METADATA,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
    Column("ends", Float),  # None for never
)
TABLES = list(_METADATA.tables)
"""The names of the tables in a library on a server."""
_CLOCKS = {
    "sqlite": text("SELECT (julianday('now') - 2440587.5) * 86400.0"),
    "postgresql": text("SELECT extract(epoch FROM clock_timestamp())::FLOAT8"),
}
_TURN = text("SELECT pg_advisory_xact_lock(hashtext('lpisearch ' || current_schema()), 2)")
_MAY_WRITE = text(
    "SELECT bool_and(has_table_privilege(name, kind)) FROM unnest(CAST(:names AS VARCHAR[])) name, "
    "unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) kind"
)
# Also where they are there already, or a standby or read-only transactions forbid it.
_MAY_CREATE = text(
    "SELECT current_schema() IS NOT NULL AND NOT pg_is_in_recovery() "
    "AND current_setting('transaction_read_only') = 'off' "
    "AND (has_schema_privilege(current_schema(), 'CREATE') OR (SELECT count(*) FROM pg_class "
    "WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' "
    "AND relname = ANY(CAST(:names AS VARCHAR[]))) = cardinality(CAST(:names AS VARCHAR[])))"
)
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class JobRow(NamedTuple):
    """A job as it is stored: its facts and, where requested, its result are JSON values."""

    id: str
    state: str
    facts: dict[str, Any]
    result: Any


SavedJob: TypeAlias = tuple[str, str, Mapping[str, Any], Any]
"""The id, the state, the facts and the result of a job."""


class ServerRecords:
    """The shared records of a library; any number of threads may use them.

    Parameters
    ----------
    library
        The library, which may not exist yet.
    file
        The database file that is used where the library is a file, or may not be written.
    """

    def __init__(self, library: Location, file: Path) -> None:
        self._library, self._file = library, file
        self._owner = f"{_machine()}:{os.getpid()}:{secrets.token_hex(8)}"
        self._lock = Lock()
        self._engine: Engine | None = None

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose()
            self._engine = None

    # Jobs.

    def add_job(
        self, name: str, facts: dict[str, Any], *, is_writer: bool, most_waiting: int
    ) -> bool:
        """Queue a job of this process; return False if too many wait."""
        with self._writing() as (connection, now):
            _interrupt(connection, now)
            queue = (_JOBS.c.state == WAITING, _JOBS.c.is_writer == literal(is_writer))
            waiting = connection.execute(select(_JOBS.c.id).where(*queue)).all()
            if len(waiting) >= most_waiting:
                return False
            fresh = {"id": name, "owner": self._owner, "is_writer": is_writer, "seen": now}
            fresh |= {"state": WAITING, "is_unwanted": False, "is_noted": False}
            connection.execute(insert(_JOBS).values(**fresh, facts=json.dumps(facts)))
        return True

    def begin_job(self, name: str) -> bool | None:
        """Let a job run if it is its turn; return False if it is not, and None if it is stopped.

        Of the jobs that write, one runs at a time, in the order in which they were queued.
        """
        with self._writing() as (connection, now):
            _interrupt(connection, now)
            known = select(_JOBS.c.state, _JOBS.c.number, _JOBS.c.is_writer)
            job = connection.execute(known.where(_JOBS.c.id == name)).one_or_none()
            if job is None or job.state != WAITING:
                return None
            if job.is_writer:
                earlier = and_(_JOBS.c.state == WAITING, _JOBS.c.number < job.number)
                before = or_(_JOBS.c.state == RUNNING, earlier)
                busy = select(_JOBS.c.id).where(_JOBS.c.is_writer == true(), before)
                if connection.execute(busy.limit(1)).first() is not None:
                    return False
            mine = update(_JOBS).where(_JOBS.c.id == name)
            connection.execute(mine.values(state=RUNNING, seen=now))
        return True

    def save_jobs(self, jobs: Iterable[SavedJob]) -> set[str]:
        """Save jobs of this process, which lives; return the ids of those that are to stop."""
        with self._writing() as (connection, now):
            mine = update(_JOBS).where(_JOBS.c.owner == self._owner)
            connection.execute(mine.where(_UNFINISHED).values(seen=now))
            for name, state, facts, result in jobs:
                values = {"state": state, "facts": json.dumps(facts), "seen": now}
                values["result"] = None if result is None else json.dumps(result)
                connection.execute(mine.where(_JOBS.c.id == name).values(**values))
            unwanted = select(_JOBS.c.id).where(_JOBS.c.owner == self._owner, _UNFINISHED)
            rows = connection.execute(unwanted.where(_JOBS.c.is_unwanted == true()))
            return set(rows.scalars())

    def stop_job(self, name: str) -> None:
        """Let the process of a job end it; a job that waits is to stop at once."""
        with self._writing() as (connection, _):
            named = update(_JOBS).where(_JOBS.c.id == name, _UNFINISHED)
            connection.execute(named.values(is_unwanted=True))

    def release_jobs(self) -> None:
        """Interrupt the unfinished jobs of this process, which ends."""
        with self._writing() as (connection, _):
            mine = update(_JOBS).where(_JOBS.c.owner == self._owner, _UNFINISHED)
            connection.execute(mine.values(state=INTERRUPTED))

    def forget_jobs(self, most: int) -> None:
        """Remove the oldest jobs that have ended, but for so many."""
        with self._writing() as (connection, _):
            ended = select(_JOBS.c.number).where(~_UNFINISHED).order_by(_JOBS.c.number.desc())
            oldest = connection.execute(ended.offset(most).limit(1)).scalar()
            if oldest is not None:
                old = delete(_JOBS).where(~_UNFINISHED, _JOBS.c.number <= oldest)
                connection.execute(old)

    def forget_job(self, name: str) -> None:
        """Remove a job that has ended."""
        with self._writing() as (connection, _):
            connection.execute(delete(_JOBS).where(~_UNFINISHED, _JOBS.c.id == name))

    def jobs(self) -> list[JobRow]:
        """Return the jobs without their results, newest first."""
        with self._reading() as (connection, now):
            rows = connection.execute(_listed(now).order_by(_JOBS.c.number.desc())).all()
        return [JobRow(one.id, one.now, json.loads(one.facts), None) for one in rows]

    def job(self, name: str) -> JobRow | None:
        """Return a job with its result; None if there is none of this id."""
        with self._reading() as (connection, now):
            listed = _listed(now).add_columns(_JOBS.c.result).where(_JOBS.c.id == name)
            one = connection.execute(listed).one_or_none()
        if one is None:
            return None
        result = None if one.result is None else json.loads(one.result)
        return JobRow(one.id, one.now, json.loads(one.facts), result)

    def note_interrupted(self) -> set[str]:
        """Return the ids of interrupted jobs, each at one call alone."""
        with self._writing() as (connection, now):
            _interrupt(connection, now)
            fresh = (_JOBS.c.state == INTERRUPTED, _JOBS.c.is_noted == false())
            names = set(connection.execute(select(_JOBS.c.id).where(*fresh)).scalars())
            connection.execute(update(_JOBS).where(*fresh).values(is_noted=True))
        return names

    # Values, such as sessions.

    def set_value(self, name: str, value: str, seconds: float | None = None) -> None:
        """Set a value, which ends after some seconds, or never."""
        with self._writing() as (connection, now):
            connection.execute(delete(_VALUES).where(or_(_VALUES.c.ends <= now, _named(name))))
            ends = None if seconds is None else now + seconds
            connection.execute(insert(_VALUES).values(name=name, value=value, ends=ends))

    def value(self, name: str) -> str | None:
        """Return a value; None if there is none, or it has ended."""
        with self._reading() as (connection, now):
            lasting = or_(_VALUES.c.ends.is_(None), _VALUES.c.ends > now)
            named = select(_VALUES.c.value).where(_named(name), lasting)
            found: str | None = connection.execute(named).scalar()
        return found

    def remove_value(self, name: str) -> None:
        """Remove a value."""
        with self._writing() as (connection, _):
            connection.execute(delete(_VALUES).where(_named(name)))

    def keep_values(self, prefix: str, most: int) -> None:
        """Remove the values of a prefix that end first, but for so many."""
        with self._writing() as (connection, _):
            own = _VALUES.c.name.startswith(prefix, autoescape=True)
            ordered = select(_VALUES.c.name).where(own).order_by(_VALUES.c.ends.desc())
            for name in connection.execute(ordered.offset(most)).scalars().all():
                connection.execute(delete(_VALUES).where(_named(name)))

    @contextmanager
    def _reading(self) -> Iterator[tuple[Connection, float]]:
        with self._stated(), self._opened().connect() as connection:
            yield connection, _now(connection)

    @contextmanager
    def _writing(self) -> Iterator[tuple[Connection, float]]:
        with self._stated(), self._opened().begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(_TURN)
            else:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection, _now(connection)

    @contextmanager
    def _stated(self) -> Iterator[None]:
        """Turn errors of the database into ours."""
        if isinstance(self._library, Address):
            from lpisearch.storage.postgres.database import translate_errors

            with translate_errors(self._library):
                yield
            return
        try:
            yield
        except (DatabaseError, OSError) as error:
            raise LibraryUnwritable(self._file, str(getattr(error, "orig", error))) from error

    def _opened(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = self._on_server() or _in_file(self._file)
            return self._engine

    def _on_server(self) -> Engine | None:
        """Return the engine of a library on a server, if its role may write the tables."""
        if not isinstance(self._library, Address):
            return None
        from lpisearch.storage.postgres.database import Database

        engine = Database.connect(self._library, writable=True).engine
        names = {"names": TABLES}
        with self._stated(), engine.begin() as connection:
            connection.execute(_TURN)
            may_write = bool(connection.execute(_MAY_CREATE, names).scalar())
            if may_write:
                _METADATA.create_all(connection)
                may_write = bool(connection.execute(_MAY_WRITE, names).scalar())
        if may_write:
            return engine
        engine.dispose()
        return None


_UNFINISHED = _JOBS.c.state.in_((WAITING, RUNNING))


def _now(connection: Connection) -> float:
    return float(connection.execute(_CLOCKS[connection.dialect.name]).scalar_one())


def _named(name: str) -> ColumnElement[bool]:
    return _VALUES.c.name == name


def _is_silent(now: float) -> ColumnElement[bool]:
    """Return the condition for unfinished jobs whose process has gone."""
    return and_(_UNFINISHED, _JOBS.c.seen < now - _SILENT_SECONDS)


def _interrupt(connection: Connection, now: float) -> None:
    """Interrupt the unfinished jobs whose process has gone."""
    connection.execute(update(_JOBS).where(_is_silent(now)).values(state=INTERRUPTED))
    owners = connection.execute(select(_JOBS.c.owner).where(_UNFINISHED).distinct()).scalars()
    if gone := [owner for owner in owners if _has_gone(owner)]:
        theirs = update(_JOBS).where(_UNFINISHED, _JOBS.c.owner.in_(gone))
        connection.execute(theirs.values(state=INTERRUPTED))


def _machine() -> str:
    """Return a name for the processes among which a number means the same, also in a container."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:  # not Linux
        space = boot = ""
    return f"{platform.node()}/{boot}/{space}".replace(":", "")


def _has_gone(owner: str) -> bool:
    """Tell whether a process was one of this machine and has ended."""
    machine, _, process = owner.rpartition(":")[0].rpartition(":")
    if machine != _machine() or os.name != "posix":
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


def _listed(now: float) -> Select[Any]:
    """Return a query for jobs, in which those whose process has gone are interrupted."""
    state = case((_is_silent(now), INTERRUPTED), else_=_JOBS.c.state)
    return select(_JOBS.c.id, state.label("now"), _JOBS.c.facts)


def _in_file(file: Path) -> Engine:
    """Return the engine of a file of one's own; one that is damaged is replaced."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_FOLDER)
    try:
        return _created(file)
    except DatabaseError as error:
        if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
            raise
        for kind in ("", "-wal", "-shm"):
            file.with_name(f"{file.name}{kind}").unlink(missing_ok=True)
        return _created(file)


def _created(file: Path) -> Engine:
    os.close(os.open(file, os.O_RDWR | os.O_CREAT | _NOT_THROUGH_LINKS, _PRIVATE))
    engine = create_engine("sqlite://", creator=partial(_connect, file), poolclass=QueuePool)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            _METADATA.create_all(connection)
            connection.commit()
    except BaseException:
        engine.dispose()
        raise
    return engine


def _connect(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        file, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection
