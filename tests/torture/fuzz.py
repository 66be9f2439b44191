"""Bytes of chance for every reader: documents, problems or a stated error, and always an end."""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.base import SourceFile
from lpisearch.readers.registry import READERS
from lpisearch.records import Document, Problem
from lpisearch.settings import ReadOptions
from tests.contracts.test_readers import EXAMPLES

if TYPE_CHECKING:
    from lpisearch.readers.base import Reader

_MOST_SECONDS = 60.0


def run(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Give each reader so many spoilt files; return what it made of them, by reader."""
    # What reads by a program that is installed has no file of its own making to spoil.
    readers = {name: reader for name, reader in sorted(READERS.items()) if name in EXAMPLES}
    counts: dict[str, Counter[str]] = {name: Counter() for name in readers}
    chance = {name: random.Random(f"{name} {seed}") for name in readers}  # noqa: S311 (faults)
    with tempfile.TemporaryDirectory(prefix="lpisearch-torture-") as folder:
        for number in range(tries):
            if time.monotonic() > until:
                break
            for name, reader in readers.items():
                filename, example = EXAMPLES[name]
                data = spoilt(example, chance[name])
                outcome = _outcome(reader, Path(folder) / filename, data)
                counts[name][outcome.split(":")[0]] += 1
                if ":" in outcome:
                    print(f"{name} {seed}, try {number}: {outcome}: {data[:200]!r}")  # noqa: T201
    return counts


def spoilt(data: bytes, chance: random.Random) -> bytes:
    """Change some bytes: flipped, cut out, doubled, replaced by rubbish or by what parts fields."""
    for _ in range(chance.randint(1, 6)):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice([1, 1, 4, 30, 300]))
        piece = chance.choice([
            b"", data[start:end] * chance.choice([2, 3, 50]), chance.randbytes(end - start),
            chance.choice([b"<", b">", b'"', b"\\", b"[", b"{", b"\0", b"\n", b"\xff\xfe", b"&#x0;",
                           b"\t", b",", b"---\n", b"-1", b"9" * 30, b"From ", b"\xc3"]),
        ])  # fmt: skip
        data = data[:start] + piece + data[end:]
    return data


def _outcome(reader: Reader, path: Path, data: bytes) -> str:
    path.write_bytes(data)
    begun = time.process_time()
    try:
        items = list(reader.read(SourceFile.at(path), ReadOptions()))
    except ReaderError:
        return "refused"
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what is looked for)
        return f"unstated: {type(error).__name__}: {error}"
    if time.process_time() - begun > _MOST_SECONDS:
        return "slow: it took more than a minute"
    if not all(isinstance(item, (Document, Problem)) for item in items):
        return "wrong: it gave something else"
    return "read" if any(isinstance(item, Document) for item in items) else "refused"
