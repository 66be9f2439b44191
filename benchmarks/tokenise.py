"""The tokeniser compared with alternatives, on 20 Newsgroups (36 MB).

Run `python benchmarks/tokenise.py [docs.jsonl.gz]`. Each way runs several times in turn, always
from a cold cache; the best time of each counts, and only ratios are meaningful.
"""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import arguments
from lpisearch.text.tokeniser import Tokeniser

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parents[2] / "shared" / "data" / "20newsgroups" / "docs.jsonl.gz"
ROUNDS = 3


def main() -> None:
    """Print one line for each way to cut up the same texts."""
    named = arguments.paths(__doc__, "docs.jsonl.gz")
    path = named[0] if named else DATA
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    characters = sum(map(len, texts))
    print(f"{len(texts)} texts, {characters / 1e6:.1f} million characters, best of {ROUNDS}\n")
    ways: dict[str, Callable[[list[str]], None]] = {
        "lpisearch, joined()": _tokenise,
        "re.findall(\\w+), lower case": _find_words,
        "FTS5 insert, porter": _insert_with_porter,
        "lpisearch, then FTS5 insert, ascii": _tokenise_and_insert,
    }
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, way in ways.items():
            started = time.perf_counter()
            way(texts)
            best[name] = min(best[name], time.perf_counter() - started)
    ours = best["lpisearch, joined()"]
    for name, seconds in best.items():
        rate = characters / seconds / 1e6
        print(f"{name:36} {seconds:6.2f} s  {rate:6.1f} M/s  {seconds / ours:5.2f} x joined()")


def _tokenise(texts: list[str]) -> None:
    joined = Tokeniser().joined
    for text in texts:
        joined(text)


def _find_words(texts: list[str]) -> None:
    find = re.compile(r"\w+").findall
    for text in texts:
        find(text.lower())


def _insert_with_porter(texts: list[str]) -> None:
    _insert("porter", texts)


def _tokenise_and_insert(texts: list[str]) -> None:
    _insert("ascii", list(map(Tokeniser().joined, texts)))


def _insert(tokenizer: str, texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "bare.db")
        connection.execute(f"CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='{tokenizer}')")
        with connection:
            connection.executemany("INSERT INTO texts VALUES (?)", ((text,) for text in texts))
        connection.close()


if __name__ == "__main__":
    main()
