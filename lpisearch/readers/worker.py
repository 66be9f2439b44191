"""The worker process that runs a reader in isolation.

Requests come in on stdin, each one line of JSON; answers go out on stdout (see `transport`):

```text
→ {"reader": …, "source": {path, name, gzipped}, "options": {…}, "seconds": …, "silent": …}
← a pack of records, with "seconds" and "consumed"     as often as need be, then one of
← {"done": true}
← {"failed": [what, next step]}                        the file is of no use, or no more of it is
← {"system": [errno, message]}                         it could not be opened or read
← {"memory": true}                                     the reader ran out of memory
```

It does not read ahead: what nobody takes from stdout stops it. The process ends when its stdin
closes, so none outlives its parent. Started by `process`:
`python -P -m lpisearch.readers.worker MEMORY_BYTES`.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from lpisearch.errors import ReaderError
from lpisearch.messages import as_plain
from lpisearch.readers.base import Reader, SourceFile
from lpisearch.readers.budget import document_bytes, within_budget
from lpisearch.readers.transport import pack, word
from lpisearch.records import Document
from lpisearch.settings import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.records import Problem

ORPHAN_GRACE_SECONDS = 5
"""A hung worker ends by itself this long after its parent should have ended it."""

_PACK_BYTES = 64 * 1024
_PACK_RECORDS = 500


def main() -> None:
    """Serve requests until stdin closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle
    requests, answers = _take_standard_streams()
    _limit_resources(int(sys.argv[1]))
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


def find_reader(name: str) -> Reader:
    """Import the reader called `name`, or "module:attribute".

    A reader called as its module is looked for there alone: to import all costs each worker time.
    """
    module, _, attribute = name.partition(":")
    own = f"lpisearch.readers.{name}"
    if attribute:
        found = getattr(importlib.import_module(module), attribute)
    elif importlib.util.find_spec(own):
        found = importlib.import_module(own).READER
    else:
        found = importlib.import_module("lpisearch.readers.registry").READERS[name]
    if not isinstance(found, Reader):
        raise TypeError(f"{name} is not a reader")
    return found


def _take_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep stdin and stdout for the protocol: what an extractor prints goes to stderr."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - only its descriptor matters
        os.dup2(nothing.fileno(), 0)
    return requests, answers


def _limit_resources(memory_bytes: int) -> None:
    """Bound the address space and write no core files, where the system can."""
    try:
        import resource
    except ImportError:
        return
    for kind, limit in ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        with suppress(OSError, ValueError):  # macOS refuses some limits
            resource.setrlimit(kind, (bound, bound))


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
    """Yield the records of a file, as many at a time as make up for the way."""
    reader = find_reader(request["reader"])
    source = SourceFile(**request["source"] | {"path": Path(request["source"]["path"])})
    options = ReadOptions(**request["options"])
    begun = time.process_time()
    records: list[Document | Problem] = []
    size = 0

    def packed() -> bytes:
        spent = time.process_time() - begun
        return pack(records, seconds=spent, consumed=source.consumed())

    try:
        for record in within_budget(reader.read(source, options), reader, options):
            records.append(record)
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


def _set_timer(timer: str, seconds: float) -> None:
    """Let the system end this process after so many seconds; 0: do not."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(getattr(signal, timer), seconds)


if __name__ == "__main__":
    main()
