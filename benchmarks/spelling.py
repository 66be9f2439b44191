"""How often a misspelt word is corrected, and how long a suggestion takes.

Run `python -m benchmarks.spelling [COLLECTION …]`; without one: pgdocs, med and 20newsgroups.
LPISEARCH_DATA names the folder of collections.

Of the words of five letters or more that two documents or more contain, 400 get one random mistake
each: a letter is missing, added, exchanged or transposed. Mistakes that give a known word are left
out. A suggestion is right if it has the stem of the word.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from string import ascii_lowercase
from time import process_time

from benchmarks import arguments
from benchmarks.retrieval import COLLECTIONS, build_library
from lpisearch.search.engine import Engine
from lpisearch.search.expansion import IndexWords
from lpisearch.text.spelling import allowed_edits
from lpisearch.text.tokeniser import Tokenisers
from tests.indexing import open_index

WORDS = 400
SHOWN = 3
_LETTERS, _DOCUMENTS = 5, 2


def main() -> None:
    """Print a line for each collection."""
    known = (*COLLECTIONS, "20newsgroups")
    names = arguments.names(__doc__, "COLLECTION", known) or ["pgdocs", "med", "20newsgroups"]
    print(f"{'':14}{'words':>9}{'mistakes':>10}{'first':>8}{'of three':>10}{'ms each':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            _measure(name, build_library(name, Path(folder)))


def _measure(name: str, library: Path) -> None:
    index = open_index(library)
    tokens = Tokenisers().of(index.manifest.tokeniser).of_language("").tokens
    source = IndexWords(Engine(index), Tokenisers().of(index.manifest.tokeniser))
    table, lines = source.written(), index.written_words
    if table is None or lines is None:
        raise SystemExit(f"{name}: the index has no table of words")
    counted = zip(lines, index.written_documents.tolist(), strict=True)
    words = [word for word, n in counted if n >= _DOCUMENTS and len(word) >= _LETTERS]
    chance = random.Random(1)  # noqa: S311 (mistakes, not secrets)
    mistakes = {_mistake(word, chance): word for word in chance.sample(words, WORDS)}
    unknown = {
        typed: word for typed, word in mistakes.items() if not all(map(source.has, tokens(typed)))
    }
    started, first, among = process_time(), 0, 0
    for typed, word in unknown.items():
        near = [tokens(one) for one in table.nearest_written(typed, SHOWN, allowed_edits(typed))]
        first += near[:1] == [tokens(word)]
        among += tokens(word) in near
    n, spent = len(unknown), process_time() - started
    print(f"{name:14}{len(table):9,}{n:10}{first / n:8.0%}{among / n:10.0%}{1000 * spent / n:9.1f}")


def _mistake(word: str, chance: random.Random) -> str:
    """Return a word with one random mistake."""
    at, letter = chance.randrange(len(word) - 1), chance.choice(ascii_lowercase)
    return chance.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        ]
    )


if __name__ == "__main__":
    main()
