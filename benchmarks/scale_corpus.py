"""A large realistic corpus: sentences of public collections, sampled within a topic.

A document takes its sentences from two documents of one topic, so that it shares rare words with
some others as real documents do; one in twenty is an earlier document with one sentence changed.
Vocabulary, lengths of sentences and uneven topics are those of the collections; the number of
documents is free. The same seed gives the same corpus.

Run `python -m benchmarks.scale_corpus FILE [--documents N]`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parents[2] / "shared" / "data"
COLLECTIONS = (
    "20newsgroups",
    "debian-packages",
    "reuters21578",
    "pgdocs",
    "scifact",
    "cacm",
    "cisi",
    "cranfield",
    "med",
    "npl",
)
WORDS = 80
NEAR_DUPLICATES = 0.05
REMEMBERED = 1000  # earlier documents, of which one is changed a little
SEED = 20261118
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_FEWEST_WORDS, _MOST_WORDS = 4, 40
_FEWEST_DOCUMENTS = 20  # of a topic; smaller ones are left out


def main() -> None:
    """Write a corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    arguments = parser.parse_args()
    write_corpus(arguments.file, arguments.documents)


def write_corpus(path: Path, n_documents: int, seed: int = SEED) -> None:
    """Write JSON Lines: id, title, text, labels, date, split."""
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(each) + "\n" for each in documents(n_documents, seed))


def documents(n_documents: int, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Draw documents one by one."""
    draw = random.Random(seed)  # noqa: S311 (nothing secret)
    topics = _topics()
    names = list(topics)
    sizes = [len(topics[name]) for name in names]
    earlier: list[tuple[str, list[str]]] = []
    for number in range(n_documents):
        if earlier and draw.random() < NEAR_DUPLICATES:
            topic, sentences = draw.choice(earlier)
            sentences = list(sentences)
            changed = draw.randrange(len(sentences))
            sentences[changed] = draw.choice(draw.choice(topics[topic]))
        else:
            topic = draw.choices(names, sizes)[0]
            sentences = _sentences(topics[topic], draw)
        earlier = [*earlier[-REMEMBERED:], (topic, sentences)] if number % 10 == 0 else earlier
        yield _record(number, topic, sentences, draw)


def _sentences(topic: list[list[str]], draw: random.Random) -> list[str]:
    """Draw sentences of two documents of a topic, and of any others when these are used up."""
    pool = list(chain.from_iterable(draw.sample(topic, 2)))
    draw.shuffle(pool)
    chosen: list[str] = []
    words = 0
    while words < WORDS:
        sentence = pool.pop() if pool else draw.choice(draw.choice(topic))
        chosen.append(sentence)
        words += sentence.count(" ") + 1
    return chosen


def _record(number: int, topic: str, sentences: list[str], draw: random.Random) -> dict[str, Any]:
    return {
        "id": str(number),
        "title": " ".join(sentences[0].split()[:8]),
        "text": " ".join(sentences),
        "labels": [topic],
        "date": f"{draw.randrange(1990, 2026)}-{draw.randrange(1, 13):02}",
        "split": "test" if draw.random() < 0.1 else "train",
    }


def _topics() -> dict[str, list[list[str]]]:
    """Return topic → documents → sentences."""
    topics: dict[str, list[list[str]]] = {}
    for name in COLLECTIONS:
        with gzip.open(DATA / name / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                labels = record.get("labels") or ["all"]
                sentences = _split(record["text"])
                if sentences:
                    topics.setdefault(f"{name}/{labels[0]}", []).append(sentences)
    return {name: texts for name, texts in topics.items() if len(texts) >= _FEWEST_DOCUMENTS}


def _split(text: str) -> list[str]:
    sentences = [" ".join(part.split()) for part in _SENTENCE_END.split(text)]
    return [each for each in sentences if _FEWEST_WORDS <= each.count(" ") + 1 <= _MOST_WORDS]


if __name__ == "__main__":
    main()
