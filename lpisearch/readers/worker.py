"""The worker process that runs a reader out of harm's way.

Requests come in on stdin and answers go out on stdout, each one line of JSON:

```text
→ {"reader": …, "source": {path, name, gzipped}, "options": {…}, "seconds": …}
← {"document": {…}} or {"problem": {…}}                as many as the file gives, then one of
← {"done": true}
← {"failed": [what, next step]}                        the file is of no use
← {"system": [errno, message]}                         it could not be opened or read
← {"memory": true}                                     the reader ran out of memory
```

The process ends when its stdin closes, so none outlives its parent. Started by `isolation`:
`python -P -m lpisearch.readers.worker MEMORY_BYTES`.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from lpisearch.errors import ReaderError
from lpisearch.messages import as_plain
from lpisearch.readers.base import Reader, SourceFile
from lpisearch.readers.streams import over_limit
from lpisearch.records import Document
from lpisearch.settings import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.records import Problem

ORPHAN_GRACE_SECONDS = 5
"""A hung worker ends by itself this long after its parent should have ended it."""


def main() -> None:
    """Serve requests until stdin closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle
    requests, answers = _take_standard_streams()
    _limit_resources(int(sys.argv[1]))
    for line in requests:
        for answer in _answers(json.loads(line)):
            answers.write(encode(answer))
        answers.flush()


def encode(message: dict[str, Any]) -> bytes:
    """Turn a message into its line; lone surrogates (of file names) pass."""
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def decode(line: bytes) -> Any:
    """Turn a line back into its message; raises ValueError if it is none."""
    return json.loads(line.decode("utf-8", "surrogatepass"))


def find_reader(name: str) -> Reader:
    """Import the reader called `name`: `lpisearch.readers.NAME`, or "module:attribute".

    Only its own module is imported, since the others would cost time in each worker.
    """
    module, _, attribute = name.partition(":")
    if not attribute:
        module, attribute = f"lpisearch.readers.{name}", "READER"
    found = getattr(importlib.import_module(module), attribute)
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


def _answers(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    _set_alarm(request["seconds"] + ORPHAN_GRACE_SECONDS)
    try:
        yield from _records(request)
        yield {"done": True}
    except ReaderError as error:
        yield {"failed": [as_plain(error.what), error.next_step]}
    except OSError as error:
        yield {"system": [error.errno or 0, error.strerror or str(error)]}
    except MemoryError:
        yield {"memory": True}
    except Exception as error:  # noqa: BLE001 - extractors fail in ways of their own
        yield {"failed": [f"cannot be read ({type(error).__name__}: {error})", ""]}
    finally:
        _set_alarm(0)


def _records(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    reader = find_reader(request["reader"])
    source = SourceFile(**request["source"] | {"path": Path(request["source"]["path"])})
    options = ReadOptions(**request["options"])
    size = 0
    for record in reader.read(source, options):
        size += _text_bytes(record)
        if size > options.max_document_bytes:
            raise ReaderError(over_limit(options.max_document_bytes, size))
        kind = "document" if isinstance(record, Document) else "problem"
        yield {kind: asdict(record)}


def _text_bytes(record: Document | Problem) -> int:
    if not isinstance(record, Document):
        return len(record.reason)
    return len(record.title) + len(record.text.encode("utf-8", "surrogatepass"))


def _set_alarm(seconds: float) -> None:
    """Let the system end this process; reaches native code that never returns. 0: do not."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    main()
