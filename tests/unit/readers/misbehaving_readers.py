"""Readers that crash, hang, swell and talk: called "misbehaving_readers:ATTRIBUTE" by the tests."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.readers.base import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lpisearch.options import ReadOptions
    from lpisearch.readers.base import SourceFile


def _crash(_source: SourceFile, _options: ReadOptions, /) -> Iterator[Document | Problem]:
    yield Document("before", "the crash")
    os.kill(os.getpid(), signal.SIGSEGV)


def _exit(_source: SourceFile, _options: ReadOptions, /) -> Iterator[Document | Problem]:
    os._exit(3)


def _hang(_source: SourceFile, _options: ReadOptions, /) -> Iterator[Document | Problem]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1)


def _swell(_source: SourceFile, _options: ReadOptions, /) -> Iterator[Document | Problem]:
    held = []
    while True:
        held.append(bytearray(16 << 20))


def _break_out(source: SourceFile, _options: ReadOptions, /) -> Iterator[Document | Problem]:
    """Try what a reader has no need of; tell what succeeded."""
    path, port = source.path, int(source.path.read_text("utf-8"))
    attempts: dict[str, Callable[[], object]] = {
        "null": lambda: Path(os.devnull).write_text("x", "utf-8"),
        "read": path.read_text,
        "write": lambda: path.with_name("new").write_text("x", "utf-8"),
        "change": lambda: path.write_text("x", "utf-8"),
        "truncate": lambda: os.truncate(path, 0),
        "remove": path.unlink,
        "rename": lambda: path.rename(path.with_name("renamed")),
        "link": lambda: path.with_name("link").symlink_to(path),
        "folder": path.with_name("folder").mkdir,
        "temporary": tempfile.mkstemp,
        "TCP": lambda: socket.create_connection(("127.0.0.1", port), 5),
        "UDP": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(
            b"x", ("127.0.0.1", port)
        ),
        "signal": lambda: os.kill(os.getppid(), 0),
        "program": lambda: subprocess.run(["cp", path, path.with_name("copy")], check=True),
    }
    succeeded = []
    for name, attempt in attempts.items():
        with suppress(OSError, subprocess.SubprocessError):
            attempt()
            succeeded.append(name)
    yield Document("broken out", " ".join(succeeded))


def _talk(_source: SourceFile, _options: ReadOptions, /) -> Iterator[Document | Problem]:
    print("a stray line")  # noqa: T201 - this is what is tested
    os.write(1, b'{"done": true}\n')
    assert sys.stdin.read() == ""
    yield Document("talkative", "text")


def _echo(source: SourceFile, _options: ReadOptions, /) -> Iterator[Document | Problem]:
    """Tell which process read the file, and what was in it."""
    with source.open() as stream:
        text = stream.read().decode("utf-8")
    time.sleep(float(text) if text.startswith("0.") else 0)
    modules = sorted({name.partition(".")[0] for name in sys.modules})
    yield Problem("a warning", "line 1", warning=True)
    yield Document(
        source.stem,
        text,
        labels=("a", "b"),
        metadata={"pid": os.getpid(), "cwd_on_path": "" in sys.path, "modules": modules},
    )


def _gush(_source: SourceFile, options: ReadOptions, /) -> Iterator[Document | Problem]:
    yield Document("whole", "é" * (options.max_document_bytes // 2 + 1))


def _drivel(_source: SourceFile, _options: ReadOptions, /) -> Iterator[Document | Problem]:
    while True:
        yield Document("drivel", "a" * 100_000)


def _stream(_source: SourceFile, _options: ReadOptions, /) -> Iterator[Document | Problem]:
    """Tell when each document was made: that of the second half after the wait of the test."""
    begun = time.monotonic()
    for number in range(100):
        early = time.monotonic() - begun < 1
        yield Document(str(number), "a" * 500_000, metadata={"before": early * number * 500_000})


def _refuse_late(_source: SourceFile, _options: ReadOptions, /) -> Iterator[Document | Problem]:
    yield Document("before", "the damage")
    raise ReaderError("is not to my taste")


def _fail(_source: SourceFile, _options: ReadOptions, /) -> Iterator[Document | Problem]:
    raise ZeroDivisionError("by a fault of the reader")


def _refuse(_source: SourceFile, _options: ReadOptions, /) -> Iterator[Document | Problem]:
    raise ReaderError("is not to my taste", "eat something else")


CRASH = Reader("crash", (), _crash)
EXIT = Reader("exit", (), _exit)
HANG = Reader("hang", (), _hang)
SWELL = Reader("swell", (), _swell)
BREAK_OUT = Reader("break_out", (), _break_out)
TALK = Reader("talk", (), _talk)
ECHO = Reader("echo", (), _echo)
GUSH = Reader("gush", (), _gush)
DRIVEL = Reader("drivel", (), _drivel, many=True)
STREAM = Reader("stream", (), _stream, many=True)
REFUSE_LATE = Reader("refuse-late", (), _refuse_late, many=True)
FAIL = Reader("fail", (), _fail)
REFUSE = Reader("refuse", (), _refuse)
NOT_A_READER = object()
