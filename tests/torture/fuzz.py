"""Bytes of chance for every reader: documents, problems or a stated error, and always an end."""

import copy
import io
import os
import random
import tempfile
import time
import xml.etree.ElementTree as ET
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document
from lpisearch.options import ReadOptions
from lpisearch.readers.base import Reader, SourceFile
from lpisearch.readers.registry import READERS
from tests.contracts.test_readers import EXAMPLES, check_items

Spoiling = tuple[
    Callable[[str, tuple[str, bytes]], tuple[str, bytes]],
    Callable[[str, bytes, random.Random], bytes],
]

_MOST_SECONDS = 60.0
_AS_IT_IS = 0.3
VALUES = ("", "-1", "0", "9" * 30, "9" * 5000, "nan", "1e999", "\u0661", "../..", "\x85", "\u202e",
           "1900-02-31", "x" * 5000)  # fmt: skip
# A file of Word 97 is not made by hand: one can be named. Where no converter is installed, its
# first bytes are all that is looked at.
_WORD_FILE = "LPISEARCH_WORD_FILE"
_WORD_BEGINNING = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


def run(
    tries: int, seed: int, until: float, names: tuple[str, ...] = ()
) -> dict[str, Counter[str]]:
    """Give each reader so many spoilt files; return what it made of them, by reader."""

    def as_it_is(_name: str, example: tuple[str, bytes]) -> tuple[str, bytes]:
        return example

    def spoil(_name: str, data: bytes, chance: random.Random) -> bytes:
        return spoilt_file(data, chance)

    return read_spoilt(tries, str(seed), until, names, (as_it_is, spoil))


def read_spoilt(
    tries: int, seed: str, until: float, names: tuple[str, ...], spoiling: Spoiling
) -> dict[str, Counter[str]]:
    """Give each reader so many files that are spoilt in one way."""
    example_of, spoil = spoiling
    readers = {name: READERS[name] for name in sorted(names or READERS)}
    counts: dict[str, Counter[str]] = {name: Counter() for name in readers}
    chance = {name: random.Random(f"{name} {seed}") for name in readers}  # noqa: S311 (faults)
    with tempfile.TemporaryDirectory(prefix="lpisearch-torture-") as folder:
        for number in range(tries):
            if time.monotonic() > until:
                break
            for name, reader in readers.items():
                filename, example = example_of(name, _example(name))
                data = spoil(name, example, chance[name])
                outcome = _outcome(reader, Path(folder) / filename, data)
                counts[name][outcome.split(":")[0]] += 1
                if ":" in outcome:
                    print(f"{name} {seed}, try {number}: {outcome}: {data[:200]!r}")  # noqa: T201
    return counts


def spoilt_file(data: bytes, chance: random.Random) -> bytes:
    """Spoil a file: a zip archive as it is, or in one of its parts, so that it still unpacks."""
    if not zipfile.is_zipfile(io.BytesIO(data)) or chance.random() < _AS_IT_IS:
        return spoilt_xml(data, chance) if data.startswith(b"<a>") else spoilt(data, chance)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = chance.choice(sorted(parts))
    parts[name] = chance.choice([spoilt, spoilt_xml])(parts[name], chance)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for each, content in parts.items():
            archive.writestr(each, content)
    return made.getvalue()


def spoilt_xml(data: bytes, chance: random.Random) -> bytes:
    """Spoil what is in XML, not its form: elements doubled, moved, renamed; other values."""
    try:
        root = ET.fromstring(data)  # noqa: S314 (our own)
    except ET.ParseError:
        return spoilt(data, chance)
    for _ in range(chance.randint(1, 6)):
        element, other = chance.choices(list(root.iter()), k=2)
        value = chance.choice([*VALUES, other.text or ""])
        match chance.randrange(5):
            case 0:
                element.text = value
            case 1:
                element.tail = value
            case 2:
                element.set(chance.choice([*element.keys(), *other.keys(), "t"]), value)
            case 3:
                element.append(copy.deepcopy(other))
            case _:
                element.tag = other.tag
    return ET.tostring(root)


def spoilt(data: bytes, chance: random.Random) -> bytes:
    """Change some bytes: flipped, cut out, doubled, replaced by rubbish or by what parts fields."""
    for _ in range(chance.randint(1, 6)):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice([1, 1, 4, 30, 300]))
        piece = chance.choice([
            b"", data[start:end] * chance.choice([2, 3, 50]), chance.randbytes(end - start),
            chance.choice([b"<", b">", b'"', b"\\", b"[", b"{", b"\0", b"\n", b"\xff\xfe", b"&#x0;",
                           b"\t", b",", b"---\n", b"-1", b"9" * 30, b"9" * 5000, b"From ", b"\xc3",
                           b"}", b"\\u", b"*", b":", b".de ", b"&", b"<!--", b"]]>", b"<a>" * 300]),
        ])  # fmt: skip
        data = data[:start] + piece + data[end:]
    return data


@cache
def _example(name: str) -> tuple[str, bytes]:
    if name in EXAMPLES:
        return EXAMPLES[name]
    named = os.environ.get(_WORD_FILE)
    return f"boat.{name}", Path(named).read_bytes() if named else _WORD_BEGINNING


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
    try:
        check_items(items)
    except (AssertionError, ValueError, UnicodeError) as error:
        return f"wrong: {type(error).__name__}: {error}"
    return "read" if any(isinstance(item, Document) for item in items) else "refused"
