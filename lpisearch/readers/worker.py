"""The worker process that reads and tokenises files, its frames, and what it may do.

A frame is a line with its kind and two sizes, then that many bytes of JSON and of texts. Texts do
not go through JSON: that would take longer than reading them. Requests come on stdin, each one line
of JSON; answers go to stdout:

```text
→ {"reader": …, "source": {path, name, gzipped}, "options": {…}, "seconds": …, "silent": …,
   "tokens": null or {path, settings, language}}
← a pack of records, with "seconds" and "consumed"     any number of times, then one of
← {"done": true}
← {"failed": [what, next step]}                        the file, or the rest of it, is unreadable
← {"system": [errno, message]}                         it could not be opened or read
← {"memory": true}                                     the reader ran out of memory
```

The worker does not read ahead: it blocks until its stdout is read. It ends when its stdin closes,
so none outlives its parent. `isolation` starts it: `python -P -m lpisearch.readers.worker
MEMORY_BYTES`.

A file that takes over its extractor should reach nothing but the pipe to the parent. Each means is
tried by itself, because kernels, containers and accounts differ in what they allow:

- a network namespace of its own (Linux), in which there is no network;
- Landlock (Linux 5.13), which denies to create, change, rename or remove any file; since 6.7 also
  TCP, and since 6.12 signals and abstract sockets of other processes;
- limits on memory, on the size of files that are written, and no core files (POSIX).

On other systems the parent watches the memory (`resident_bytes`). Converters that a worker starts
inherit all of it. docs/hostile-files.md has the table of systems.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from lpisearch.errors import ReaderError
from lpisearch.messages import as_plain, from_plain
from lpisearch.model.documents import Document, Problem, Section, Traits
from lpisearch.options import ReadOptions
from lpisearch.readers.base import Reader, SourceFile, document_bytes, within_budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lpisearch.text.tokeniser import Tokeniser

    Analysed = tuple[str, Traits]
    Record = tuple[Document | Problem, Analysed | None]
    Analyse = Callable[[Document | Problem], Analysed | None]


IS_WATCHED = sys.platform != "linux" or "t" in sys.abiflags
"""Whether the parent has to watch the memory of workers: the system does not limit it, or the
allocator of free-threaded Python reserves more addresses than the limit."""


def confine(memory_bytes: int) -> None:
    """Give up all rights of this process that reading files does not need."""
    limit_resources(memory_bytes)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # no C library that can be asked
            libc = ctypes.CDLL(None, use_errno=True)
            _leave_network(libc)
            _deny_writes(libc)


def limit_resources(memory_bytes: int) -> None:
    """Limit the files that are written, and the address space if the parent does not watch."""
    try:
        import resource
    except ImportError:
        return
    kinds = (resource.RLIMIT_FSIZE, *(() if IS_WATCHED else (resource.RLIMIT_AS,)))
    for kind, limit in ((resource.RLIMIT_CORE, 0), *((kind, memory_bytes) for kind in kinds)):
        hard = resource.getrlimit(kind)[1]
        bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        with suppress(OSError, ValueError):  # macOS refuses some limits
            resource.setrlimit(kind, (bound, bound))


def resident_bytes(pid: int) -> int:
    """Return the memory that a process holds; 0 if it cannot be told."""
    try:
        import psutil

        resident: int = psutil.Process(pid).memory_info().rss
    except (ImportError, psutil.Error):
        return 0
    return resident


_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000


def _leave_network(libc: Any) -> None:
    """Enter a network namespace without any network; without privileges, by a user namespace."""
    if libc.unshare(_NEW_NETWORK):
        libc.unshare(_NEW_NETWORK | _NEW_USER)


# The same numbers on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_WRITE_FILE = 1 << 1
# Write, remove folders and files, create anything; by version: rename elsewhere, truncate.
_WRITES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
_LATER_WRITES = {2: 1 << 13, 3: 1 << 14}
_TCP, _SINCE_TCP = 0b11, 4
_OTHER_PROCESSES, _SINCE_SCOPES = 0b11, 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _deny_writes(libc: Any) -> None:
    """Let Landlock deny every change of files, but writing to the null device."""
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    if version < 1:
        return
    rules = _Ruleset(
        files=_WRITES | sum(b for since, b in _LATER_WRITES.items() if version >= since)
    )
    size = ctypes.sizeof(ctypes.c_uint64)
    if version >= _SINCE_TCP:
        rules.net, size = _TCP, 2 * size
    if version >= _SINCE_SCOPES:
        rules.scopes, size = _OTHER_PROCESSES, ctypes.sizeof(_Ruleset)
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return
    try:
        with _opened(os.devnull) as null:
            allowed = _Beneath(allowed=_WRITE_FILE, parent=null)
            libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(allowed), 0)
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        libc.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    """Open a path as a place alone, without reading it."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


_TEXT = "text"
_DOCUMENT_FIELDS = tuple(field.name for field in fields(Document) if field.name != _TEXT)
_document_values = attrgetter(*_DOCUMENT_FIELDS)
_PACK, _WORD = b"pack", b"word"
_LONGEST_LINE = 64
_UTF8 = ("utf-8", "surrogatepass")  # lone surrogates of file names pass


class Frame(NamedTuple):
    """A received frame: facts, or the records of a pack, not yet unpacked."""

    is_pack: bool
    header: bytes
    texts: bytes = b""

    def __len__(self) -> int:
        return len(self.header) + len(self.texts)

    def facts(self) -> dict[str, Any]:
        """Return the facts of a frame; raises ValueError if it is damaged."""
        facts: dict[str, Any] = json.loads(self.header.decode(*_UTF8))
        return facts

    def records(self, facts: dict[str, Any]) -> Iterator[Record]:
        """Yield the records of a pack, given its facts, and the tokens and traits of documents."""
        start = 0
        columns = (facts["records"], facts["sizes"], facts["traits"])
        for values, sizes, traits in zip(*columns, strict=True):
            if sizes is None:
                yield Problem(**values | {"reason": from_plain(values["reason"])}), None
                continue
            texts = []
            for size in sizes:
                texts.append(self.texts[start : start + size].decode(*_UTF8))
                start += size
            document = _document(values, texts[0])
            yield document, None if traits is None else (texts[1], Traits(*traits))


def word(facts: dict[str, Any]) -> bytes:
    """Return a frame of facts."""
    return _frame(_WORD, facts, ())


def pack(records: Sequence[Record], **facts: Any) -> bytes:
    """Return a frame of records and facts about them."""
    values = [_values(record) for record, _ in records]
    texts: list[bytes] = []
    sizes: list[list[int] | None] = []
    for record, analysed in records:
        own = [record.text.encode(*_UTF8)] if isinstance(record, Document) else []
        own += [analysed[0].encode(*_UTF8)] if analysed else []
        texts += own
        sizes.append([*map(len, own)] if own else None)
    traits = [analysed[1] if analysed else None for _, analysed in records]
    return _frame(_PACK, facts | {"records": values, "sizes": sizes, "traits": traits}, texts)


def receive(stream: BinaryIO, most_bytes: int) -> Frame | None:
    """Read the next frame; None if the stream ended, or contains anything else or too much."""
    words = stream.readline(_LONGEST_LINE).split()
    if len(words) != len((_PACK, 0, 0)) or words[0] not in {_PACK, _WORD}:
        return None
    sizes = [int(size) for size in words[1:]]
    if sum(sizes) > most_bytes:
        return None
    header, texts = (stream.read(size) if size else b"" for size in sizes)
    if len(header) + len(texts) < sum(sizes):
        return None
    return Frame(words[0] == _PACK, header, texts)


def _frame(kind: bytes, facts: dict[str, Any], texts: Sequence[bytes]) -> bytes:
    header = json.dumps(facts, ensure_ascii=False).encode(*_UTF8)
    return b"".join((b"%s %d %d\n" % (kind, len(header), sum(map(len, texts))), header, *texts))


def _values(record: Document | Problem) -> Any:
    if isinstance(record, Document):
        return _document_values(record)
    facts = {field.name: getattr(record, field.name) for field in fields(record)}
    return facts | {"reason": as_plain(record.reason)}


def _document(values: list[Any], text: str) -> Document:
    title, name, labels, *facts = values
    facts[-1] = tuple(Section(*each) for each in facts[-1])
    return Document(title, text, name, tuple(labels), *facts)


# A hung worker ends by itself this long after its parent should have ended it.
ORPHAN_GRACE_SECONDS = 5
_PACK_BYTES = 64 * 1024
_PACK_RECORDS = 500


def main() -> None:
    """Serve requests until stdin closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle
    requests, answers = _take_standard_streams()
    confine(int(sys.argv[1]))
    for line in requests:
        request = json.loads(line)
        alarm = request["silent"] + ORPHAN_GRACE_SECONDS
        # Of the system, so that they reach native code that never returns.
        _set_timer("ITIMER_PROF", request["seconds"])
        _set_timer("ITIMER_REAL", alarm)
        for answer in _answers(request):
            _set_timer("ITIMER_REAL", 0)  # while it waits for its answer to be taken
            answers.write(answer)
            answers.flush()
            _set_timer("ITIMER_REAL", alarm)
        for timer in ("ITIMER_PROF", "ITIMER_REAL"):
            _set_timer(timer, 0)


# The formats that are not a module of their own.
_MODULES = {
    format_: module
    for module, formats in {
        "archives": "tar zip",
        "delimited": "csv tsv",
        "html": "epub",
        "jsonl": "json parquet",
        "legacy_office": "doc msg ppt rtf xls",
        "mail": "eml mbox newsgroups",
        "office": "docx odp ods odt pptx xlsx",
        "pdf": "image",
        "plaintext": "asciidoc code gettext info org rst text yaml",
        "trec": "reuters smart",
    }.items()
    for format_ in formats.split()
}


def find_reader(name: str) -> Reader:
    """Import the reader called `name`, or "module:attribute".

    Only the module of the format is imported: all of them would slow each worker down.
    """
    module, _, attribute = name.partition(":")
    if attribute:
        reader = getattr(importlib.import_module(module), attribute)
    else:
        home = importlib.import_module(f"lpisearch.readers.{_MODULES.get(name, name)}")
        readers = (value for value in vars(home).values() if isinstance(value, Reader))
        reader = next((one for one in readers if one.name == name), None)
    if not isinstance(reader, Reader):
        raise TypeError(f"{name} is not a reader")
    return reader


def _take_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Reserve stdin and stdout for the protocol: prints of an extractor go to stderr."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - only its descriptor matters
        os.dup2(nothing.fileno(), 0)
    return requests, answers


def _answers(request: dict[str, Any]) -> Iterator[bytes]:
    try:
        yield from _packs(request)
        yield word({"done": True})
    except ReaderError as error:
        yield word({"failed": [as_plain(error.what), error.next_step]})
    except OSError as error:
        yield word({"system": [error.errno or 0, error.strerror or str(error)]})
    except MemoryError:
        yield word({"memory": True})
    except Exception as error:  # noqa: BLE001 - extractors fail in ways of their own
        yield word({"failed": [[f"cannot be read ({type(error).__name__}: {error})"], ""]})


def _packs(request: dict[str, Any]) -> Iterator[bytes]:
    """Yield the records of a file in packs large enough to be worth a transfer."""
    reader = find_reader(request["reader"])
    source = SourceFile(**request["source"] | {"path": Path(request["source"]["path"])})
    options = ReadOptions(**request["options"])
    begun = time.process_time()
    analyse = _analyser(request.get("tokens"))
    records: list[Record] = []
    size = 0

    def packed() -> bytes:
        spent = time.process_time() - begun
        return pack(records, seconds=spent, consumed=source.consumed())

    try:
        for record in within_budget(reader.read(source, options), reader, options):
            records.append((record, analyse(record)))
            size += document_bytes(record) if isinstance(record, Document) else len(record.reason)
            if size >= _PACK_BYTES or len(records) >= _PACK_RECORDS:
                yield packed()
                records, size = [], 0
    except (ReaderError, OSError):
        if records:  # what was read before the damage is kept
            yield packed()
        raise
    if records:
        yield packed()


_TOKENISERS: dict[str, Tokeniser] = {}  # the last one


def _analyser(tokens: dict[str, Any] | None) -> Analyse:
    """Return what tokenises a document, if it is wanted; without memory, the parent does it."""
    if tokens is None:
        return lambda _record: None
    from lpisearch.text.languages import TokeniserSettings
    from lpisearch.text.tokeniser import CACHED_CHUNKS, Tokeniser, analyse

    key = json.dumps(tokens["settings"])
    known = _TOKENISERS.pop(key, None)
    if known is None or known.cached > CACHED_CHUNKS:
        _TOKENISERS.clear()
        known = Tokeniser(TokeniserSettings.from_dict(tokens["settings"]))
    tokeniser = _TOKENISERS[key] = known

    def analysed(record: Document | Problem) -> Analysed | None:
        if not isinstance(record, Document):
            return None
        try:
            return analyse(record, tokens["path"], tokeniser, tokens["language"])
        except MemoryError:
            return None

    return analysed


def _set_timer(timer: str, seconds: float) -> None:
    """Let the system end this process after that many seconds; 0 cancels."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(getattr(signal, timer), seconds)


if __name__ == "__main__":
    main()
