"""Files that are spoilt within their structure: what a reader gets past the first look is odd.

A file is taken apart into the pieces of its format (elements, cells, headers, control words, parts
of an archive), some of them are left out, doubled, exchanged, put within each other or replaced by
odd values, and it is put together again.
"""

import io
import json
import random
import re
import zipfile
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.torture.examples import RICH, archive_of, parts_of
from tests.torture.fuzz import VALUES, read_spoilt, spoilt_xml

_MARKUP = rb"<!--.*?-->|<[^<>]*>|&[^;\s]*;|[^<>&]+"
_PIECES = {
    "html": _MARKUP, "xml": _MARKUP, "reuters": _MARKUP, "trec": _MARKUP,
    "json": rb'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s"\[\]{}:,]+|\s+',
    "csv": rb'"[^"]*"|[,;\t\n]|[^,;\t\n"]+', "tsv": rb"[^\t\n]+|[\t\n]",
    "rtf": rb"\\[a-z]+-?\d*|\\'..|\\.|[{}]|[^\\{}]+",
    "pdf": rb"<<|>>|\[|\]|\([^)]*\)|/\w+|\d+ \d+ R|\w+|\s+|.",
}  # fmt: skip
_PIECES["jsonl"] = _PIECES["json"]
_JSON_VALUES: tuple[Any, ...] = (
    *VALUES, None, True, -1, 2**70, 1e308, float("nan"), float("inf"), [], {}, [[]], [None, 7, "x"],
    {"": {"": 0}}, "\ud800", "a\0b", "\r\n", ["a", "a"],
)  # fmt: skip
_WORDS = rb"\n|[ \t]+|[\w.]+|[^\w\s]"
_NAMES = ("mimetype", "../a", "/a", "a\\b", "CON", "", "x" * 150, "\u202e", "[Content_Types].xml")


def run(
    tries: int, seed: int, until: float, names: tuple[str, ...] = ()
) -> dict[str, Counter[str]]:
    """Give each reader so many files with a spoilt structure; return what it made of them."""
    return read_spoilt(tries, f"structure {seed}", until, names, (example_of, spoilt_structure))


def example_of(name: str, example: tuple[str, bytes]) -> tuple[str, bytes]:
    """Return the file that is spoilt for a reader."""
    filename, smallest = example
    return filename, RICH[name]() if name in RICH else smallest


def spoilt_structure(name: str, data: bytes, chance: random.Random) -> bytes:
    """Spoil the structure of a file of a format."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        return _spoilt_archive(data, chance)
    if name in _TREES and chance.random() < 0.7:  # else what is read is no tree any more
        return _TREES[name](data, chance)
    pattern = _PIECES.get(name, _WORDS)
    if name not in _PIECES and chance.random() < 0.5:  # of lines, of words
        pattern = rb"[^\n]*\n|[^\n]+"
    return spoilt_pieces(data, pattern, chance)


def _spoilt_json(data: bytes, chance: random.Random) -> bytes:
    """Spoil one record: the values and names in it, not its form."""
    records = re.findall(rb"\{.*\}", data)
    at = chance.randrange(len(records))
    record = json.loads(records[at])
    for _ in range(chance.randint(1, 4)):
        inner = chance.choice([record, record.get("deep")])
        if not isinstance(inner, dict) or not inner:
            continue
        name = chance.choice(sorted(inner))
        match chance.randrange(3):
            case 0:
                inner[name] = chance.choice(_JSON_VALUES)
            case 1:
                inner[chance.choice(VALUES)] = inner.pop(name)
            case _:
                inner[name] = [inner[name]] * chance.choice([1, 3, 100])
    return data.replace(records[at], json.dumps(record).encode(), 1)


def spoilt_pieces(data: bytes, pattern: bytes, chance: random.Random) -> bytes:
    """Take bytes apart and put them together with some pieces in other places."""
    pieces = re.findall(pattern, data, re.DOTALL) or [data]
    for _ in range(chance.randint(1, 8)):
        at, other = chance.randrange(len(pieces)), chance.randrange(len(pieces))
        match chance.randrange(7):
            case 0:
                del pieces[at]
            case 1:
                pieces.insert(at, pieces[other])
            case 2:
                pieces[at], pieces[other] = pieces[other], pieces[at]
            case 3:
                pieces[at] = chance.choice(VALUES).encode()
            case 4:
                pieces[at:at] = pieces[min(at, other) : max(at, other)]
            case 5:
                pieces[at:at] = [pieces[other]] * chance.choice([2, 30, 300])
            case _:
                pieces[at] = _inside(pieces[at], chance)
        pieces = pieces or [b""]
    return b"".join(pieces)


def _inside(piece: bytes, chance: random.Random) -> bytes:
    """Replace one word of a piece by an odd value."""
    words = re.split(rb"(\w+)", piece)
    words[chance.randrange(len(words))] = chance.choice(VALUES).encode()
    return b"".join(words)


def _spoilt_archive(data: bytes, chance: random.Random) -> bytes:
    """Spoil the parts of an archive, or what parts there are."""
    parts = list(parts_of(data).items())
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(parts))
        name, content = parts[at]
        match chance.randrange(8):
            case 0 if len(parts) > 1:
                del parts[at]
            case 1:
                parts.append((name, chance.choice(parts)[1]))
            case 2:
                parts[at] = chance.choice([*_NAMES, chance.choice(parts)[0]]), content
            case 3 | 4:
                parts[at] = name, spoilt_pieces(content, _MARKUP, chance)
            case _:
                parts[at] = name, spoilt_xml(content, chance)
    return archive_of(parts)


_TREES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "xml": spoilt_xml,
    "json": _spoilt_json,
    "jsonl": _spoilt_json,
}
