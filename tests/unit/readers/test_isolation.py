from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections import deque
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lpisearch import messages
from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem, Section
from lpisearch.options import MEBIBYTE, ReadOptions
from lpisearch.readers import isolation
from lpisearch.readers import isolation as answers
from lpisearch.readers.base import READING_SECONDS, SourceFile, reading_seconds
from lpisearch.readers.isolation import IsolatedReaders
from lpisearch.readers.registry import READERS
from lpisearch.readers.worker import Frame, find_reader, pack, receive, resident_bytes, word

if TYPE_CHECKING:
    from collections.abc import Iterator


pytestmark = pytest.mark.skipif(os.name != "posix", reason="the limits need a POSIX system")

_HERE = Path(__file__).parent
_OPTIONS = ReadOptions()


@pytest.fixture(autouse=True)
def _readers_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(_HERE))


@pytest.fixture
def source(tmp_path: Path) -> SourceFile:
    """Make a small text file."""
    path = tmp_path / "note.txt"
    path.write_text("A note.", encoding="utf-8")
    return SourceFile.at(path)


@pytest.fixture
def readers() -> Iterator[IsolatedReaders]:
    """Start a pool of one worker."""
    with IsolatedReaders(_OPTIONS, 1) as pool:
        yield pool


def _misbehaving(name: str) -> str:
    return f"misbehaving_readers:{name}"


def _document(readers: IsolatedReaders, source: SourceFile) -> Document:
    document = list(readers.submit(source, _misbehaving("ECHO")))[-1]
    assert isinstance(document, Document)
    return document


def _is_running(pid: int) -> bool:
    """Tell whether a process runs; one that ended and waits to be reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.split()[0] != "Z"


def _wait_for_end(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not _is_running(pid):
            return True
        time.sleep(0.02)
    return False


def test_records_come_back_as_they_were(readers: IsolatedReaders, source: SourceFile) -> None:
    problem, document = list(readers.submit(source, _misbehaving("ECHO")))
    assert problem == Problem("a warning", "line 1", warning=True)
    assert isinstance(document, Document)
    assert (document.title, document.text, document.labels) == ("note", "A note.", ("a", "b"))
    assert document.id is None
    assert document.metadata["pid"] != os.getpid()


def test_one_worker_serves_many_files(readers: IsolatedReaders, source: SourceFile) -> None:
    first, second = (_document(readers, source).metadata["pid"] for _ in range(2))
    assert first == second


def test_worker_is_replaced_after_many_files(
    readers: IsolatedReaders, source: SourceFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "FILES_PER_WORKER", 2)
    pids = [_document(readers, source).metadata["pid"] for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_worker_imports_little(readers: IsolatedReaders, source: SourceFile) -> None:
    metadata = _document(readers, source).metadata
    heavy = {"numpy", "scipy", "sklearn", "sqlalchemy", "typer", "rich", "pypdfium2", "selectolax"}
    assert heavy.isdisjoint(metadata["modules"])
    assert not metadata["cwd_on_path"]


def test_readers_are_called_by_their_names(readers: IsolatedReaders, tmp_path: Path) -> None:
    book = tmp_path / "a.odt"
    with zipfile.ZipFile(book, "w") as archive:
        archive.writestr("content.xml", "<body><p>High water</p></body>")
    (document,) = list(readers.submit(SourceFile.at(book), "odt"))
    assert isinstance(document, Document)
    assert document.text == "High water"
    with pytest.raises(ReaderError, match="is damaged, or not a PDF file"):
        list(readers.submit(SourceFile.at(book), "pdf"))


@pytest.mark.parametrize(
    ("reader", "reason"),
    [
        ("CRASH", r"its extractor crashed \(signal 11\)"),
        ("EXIT", "its extractor ended with status 3"),
        ("FAIL", r"cannot be read \(ZeroDivisionError: by a fault of the reader\)"),
        ("REFUSE", "is not to my taste Next: eat something else"),
        ("NO_SUCH", "cannot be read"),
        ("NOT_A_READER", "is not a reader"),
    ],
)
def test_failure_is_stated_and_the_next_file_is_read(
    readers: IsolatedReaders, source: SourceFile, reader: str, reason: str
) -> None:
    with pytest.raises(ReaderError, match=reason):
        list(readers.submit(source, _misbehaving(reader)))
    assert _document(readers, source).text == "A note."


def test_hang_ends_at_the_time_limit(source: SourceFile) -> None:
    with IsolatedReaders(_OPTIONS, 1, silent_seconds=1) as readers:
        _document(readers, source)
        with pytest.raises(ReaderError, match=r"^gave no response in 1 s$"):
            list(readers.submit(source, _misbehaving("HANG")))
        assert _document(readers, source).text == "A note."


def test_memory_is_limited(source: SourceFile) -> None:
    with IsolatedReaders(_OPTIONS, 1, memory=256 * MEBIBYTE) as readers:
        before = _document(readers, source).metadata["pid"]
        with pytest.raises(ReaderError, match="needs more than 256 MiB of memory"):
            list(readers.submit(source, _misbehaving("SWELL")))
        assert _document(readers, source).metadata["pid"] != before


def test_memory_is_watched_where_the_system_does_not_limit_it(
    source: SourceFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resident_bytes(os.getpid()) > MEBIBYTE
    assert resident_bytes(1 << 30) == 0
    held = [MEBIBYTE]
    monkeypatch.setattr(isolation, "IS_WATCHED", True)
    monkeypatch.setattr(isolation, "resident_bytes", lambda _pid: held[0])
    with IsolatedReaders(_OPTIONS, 1) as readers:
        assert _document(readers, source).text == "A note."
        held[0] *= 10_000
        with pytest.raises(ReaderError, match="needs more than 768 MiB of memory"):
            list(readers.submit(source, _misbehaving("HANG")))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems forbid less")
def test_a_worker_reaches_nothing_but_its_pipe(tmp_path: Path) -> None:
    version = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)
    if version < 6:  # of Linux 6.12
        pytest.skip(f"Landlock of this kernel has version {version}")
    path = tmp_path / "port.txt"
    with socket.create_server(("127.0.0.1", 0)) as server, IsolatedReaders(_OPTIONS, 1) as readers:
        path.write_text(str(server.getsockname()[1]), encoding="utf-8")
        (found,) = readers.submit(SourceFile.at(path), _misbehaving("BREAK_OUT"))
        assert isinstance(found, Document)
        may = {"null", "read", "UDP"} if not _has_namespaces() else {"null", "read"}
        assert set(found.text.split()) == may
        assert [one.name for one in tmp_path.iterdir()] == ["port.txt"]
        assert path.read_text(encoding="utf-8") == str(server.getsockname()[1])


def _has_namespaces() -> bool:
    enter = ["import ctypes, sys; unshare = ctypes.CDLL(None).unshare",
             "sys.exit(unshare(1 << 30) and unshare(1 << 30 | 1 << 28))"]  # fmt: skip
    return subprocess.run([sys.executable, "-c", ";".join(enter)], check=False).returncode == 0


def test_processor_time_is_limited(source: SourceFile) -> None:
    with IsolatedReaders(_OPTIONS, 1, seconds=1) as readers:
        with pytest.raises(ReaderError, match=r"needs more than 1 s of CPU time"):
            deque(readers.submit(source, _misbehaving("DRIVEL")), maxlen=0)
        assert _document(readers, source).text == "A note."


def test_a_large_file_has_more_time() -> None:
    """What a file may take grows with its size, so that an honest one is never too long."""
    assert reading_seconds(100) == READING_SECONDS
    assert reading_seconds(100 * MEBIBYTE) > 10 * READING_SECONDS


def test_waiting_for_the_reader_of_documents_is_not_silence(source: SourceFile) -> None:
    with IsolatedReaders(_OPTIONS, 1, silent_seconds=1) as readers:
        answer = iter(readers.submit(source, _misbehaving("STREAM")))
        assert next(answer).title == "0"  # type: ignore[union-attr]
        time.sleep(2)
        others = list(answer)
    assert len(others) == 99
    held = [item.metadata["before"] for item in others if isinstance(item, Document)]
    assert max(held) < 3 * answers.AHEAD_BYTES


def test_a_long_wait_is_reported(
    readers: IsolatedReaders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "LONG_WAIT_SECONDS", 0.3)
    slow, quick = tmp_path / "slow.txt", tmp_path / "quick.txt"
    slow.write_text("0.9", encoding="utf-8")
    quick.write_text("quick", encoding="utf-8")
    list(readers.submit(SourceFile.at(quick), _misbehaving("ECHO")))  # the worker has started
    waits: list[tuple[str, int]] = []
    for path in (slow, quick):

        def note(name: str = path.name) -> None:
            waits.append((name, threading.get_ident()))

        list(readers.submit(SourceFile.at(path), _misbehaving("ECHO"), note))
    assert waits == [("slow.txt", threading.get_ident())]


def test_what_was_read_before_a_failure_is_kept(
    readers: IsolatedReaders, source: SourceFile
) -> None:
    taken: list[Document | Problem] = []
    with pytest.raises(ReaderError, match="is not to my taste"):
        taken.extend(readers.submit(source, _misbehaving("REFUSE_LATE")))
    assert [item.title for item in taken if isinstance(item, Document)] == ["before"]


def test_whoever_stops_early_holds_up_nobody(readers: IsolatedReaders, source: SourceFile) -> None:
    answer = iter(readers.submit(source, _misbehaving("STREAM")))
    next(answer)
    answer.close()  # type: ignore[attr-defined]
    assert _document(readers, source).text == "A note."


def test_prints_of_an_extractor_do_not_reach_the_answer(
    readers: IsolatedReaders, source: SourceFile
) -> None:
    (document,) = list(readers.submit(source, _misbehaving("TALK")))
    assert isinstance(document, Document)
    assert document.title == "talkative"


def test_size_of_a_document_is_limited(source: SourceFile) -> None:
    options = ReadOptions(max_document_bytes=100_000)
    with (
        IsolatedReaders(options, 1) as readers,
        pytest.raises(ReaderError, match="over the limit of"),
    ):
        list(readers.submit(source, _misbehaving("GUSH")))


def test_missing_file_is_an_error_of_the_system(readers: IsolatedReaders, tmp_path: Path) -> None:
    gone = SourceFile(tmp_path / "gone.txt", "gone.txt")
    with pytest.raises(FileNotFoundError) as caught:
        list(readers.submit(gone, _misbehaving("ECHO")))
    assert caught.value.filename == str(gone.path)


def test_name_of_undecodable_bytes_is_read(readers: IsolatedReaders, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.txt")
    path.write_bytes(b"text")
    assert _document(readers, SourceFile.at(path)).text == "text"


def test_answers_belong_to_their_files(tmp_path: Path) -> None:
    sources = []
    for number in range(12):
        path = tmp_path / f"{number}.txt"
        path.write_text(f"0.0{number % 3 * 2}", encoding="utf-8")
        sources.append(SourceFile.at(path))
    with IsolatedReaders(_OPTIONS, 2) as readers:
        answers = [readers.submit(item, _misbehaving("ECHO")) for item in sources]
        documents = [list(answer)[-1] for answer in answers]
    found = [document for document in documents if isinstance(document, Document)]
    assert [document.title for document in found] == [str(number) for number in range(12)]
    assert len({document.metadata["pid"] for document in found}) == 2


def test_worker_killed_between_files_is_replaced(
    readers: IsolatedReaders, source: SourceFile
) -> None:
    pid = _document(readers, source).metadata["pid"]
    os.kill(pid, signal.SIGKILL)
    assert _wait_for_end(pid, 5)
    assert _document(readers, source).metadata["pid"] != pid


def test_closing_ends_the_workers_at_once(source: SourceFile) -> None:
    with IsolatedReaders(_OPTIONS, 1) as readers:
        pid = _document(readers, source).metadata["pid"]
        running = readers.submit(source, _misbehaving("HANG"))
        waiting = readers.submit(source, _misbehaving("ECHO"))
        time.sleep(0.3)
        started = time.monotonic()
    assert time.monotonic() - started < 10
    for answer in (running, waiting):
        with pytest.raises(ReaderError):
            list(answer)
    assert not _is_running(pid)


_PARENT = """
import signal, sys, time
from pathlib import Path
from lpisearch.readers.base import SourceFile
from lpisearch.readers.isolation import IsolatedReaders
from lpisearch.options import ReadOptions

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by background jobs of a shell
source = SourceFile.at(Path(sys.argv[1]))
with IsolatedReaders(ReadOptions(), 1, silent_seconds=1) as readers:
    echo = list(readers.submit(source, "misbehaving_readers:ECHO"))[-1]
    print(echo.metadata["pid"], flush=True)
    if sys.argv[2] == "hang":
        readers.submit(source, "misbehaving_readers:HANG")
        print("asked", flush=True)
    time.sleep(60)
"""


def _parent(source: SourceFile, deed: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(source.path), deed],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def test_no_worker_outlives_a_killed_parent(source: SourceFile) -> None:
    with _parent(source, "idle") as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert _is_running(pid)
        parent.kill()
    assert _wait_for_end(pid, 5)


@pytest.mark.slow
def test_hung_worker_of_a_killed_parent_ends_by_its_alarm(source: SourceFile) -> None:
    with _parent(source, "hang") as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert parent.stdout.readline() == "asked\n"
        time.sleep(0.3)
        parent.kill()
    assert _is_running(pid)
    assert _wait_for_end(pid, 20)


def test_interrupt_ends_parent_and_workers(source: SourceFile) -> None:
    with _parent(source, "hang") as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert parent.stdout.readline().strip() == "asked"
        time.sleep(0.1)
        parent.send_signal(signal.SIGINT)
        parent.wait(timeout=10)
    assert _wait_for_end(pid, 5)


def test_readers_are_imported_by_name_or_by_module_and_attribute() -> None:
    assert all(find_reader(name) is reader for name, reader in READERS.items())
    assert find_reader("lpisearch.readers.pdf:READER") is find_reader("pdf")


@pytest.mark.parametrize(
    ("name", "error"), [("no_such", ModuleNotFoundError), ("lpisearch.readers.pdf:read", TypeError)]
)
def test_other_names_are_refused(name: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"no_such|is not a reader"):
        find_reader(name)


def _sent(message: bytes, most_bytes: int = 10_000) -> Frame | None:
    return receive(BytesIO(message), most_bytes)


@pytest.mark.parametrize("text", ["", "line\nbreak", "\x00\x1f", "雨", "\udce9", "\u2028"])
def test_any_text_comes_back(text: str) -> None:
    said = _sent(word({"failed": text}))
    assert said is not None
    assert (said.is_pack, said.facts()) == (False, {"failed": text})
    records = [Document("t", text), Document("u", text)]
    assert _records(pack([(one, None) for one in records])) == records


def _records(message: bytes) -> list[Document | Problem]:
    received = _sent(message)
    assert received is not None
    assert received.is_pack
    return [record for record, _ in received.records(received.facts())]


@pytest.mark.parametrize(
    "stream", [b"", b"pack 10 10\nshort", b"noise\n", b"word 2000000 0\n{}", b"x" * 100_000]
)
def test_what_is_no_message_is_none(stream: bytes) -> None:
    assert _sent(stream) is None


def test_records_come_back_as_they_were_of_transport() -> None:
    sections = (Section(0, "page", "1"), Section(5, "page", "2"))
    full = Document("t", "one\n\ntwo", "i", ("a", "b"), "test", "2024", metadata={"k": [1, None]})
    reason = messages.Message(
        "is too large (raise it with ", messages.Option("max_document_bytes"), ")"
    )
    given: list[Document | Problem] = [
        Document("", ""),
        full,
        Document("t", "text", sections=sections),
        Problem(reason, "line 3"),
        Problem("odd", warning=True),
    ]
    back = _records(pack([(one, None) for one in given], seconds=1.0))
    assert back == given
    problem = back[3]
    assert isinstance(problem.reason, messages.Message)  # type: ignore[union-attr]
    assert problem.reason.parts == reason.parts  # type: ignore[union-attr]
