"""A library and the same in three shards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import lpisearch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lpisearch import Library

TOPICS = {
    "sea": "ship harbour dawn sailors deck storm ocean lamp rock anchor tide",
    "kitchen": "bread oven cake butter sugar flour dough soup onion salt yeast",
    "sky": "star telescope moon mirror comet planet orbit eclipse lens night",
}
SAID = {topic: words.split() for topic, words in TOPICS.items()}
EACH = 20


def _records() -> list[dict[str, object]]:
    """Make documents of three topics, some of two; every tenth is long, some are alike."""
    rng = np.random.default_rng(7)
    records: list[dict[str, object]] = []
    for number in range(EACH * len(SAID)):
        topic = list(SAID)[number % len(SAID)]
        other = list(SAID)[(number + 1) % len(SAID)]
        length = 900 if number % 10 == 4 else 15 + number % 7
        words = rng.choice(SAID[topic], length).tolist()
        words += rng.choice(SAID[other], length // 4).tolist()
        text = " ".join(words) + ". The old harbour lamp was lit." * (number % 6 == 0)
        records.append(
            {
                "id": f"{topic}/{number:02}",
                "title": f"About {words[0]} {number % 4}",
                "text": text,
                "labels": [topic],
                "date": f"20{number % 20 + 10}-03-01" if number % 5 else "",
                "split": "train" if number % 3 else "test",
                "path": f"/notes/{topic}/{number}.txt",
            }
        )
    copies = [records[3] | {"id": "copy/1"}, records[3] | {"id": "copy/2"}]
    return [*records, *copies]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the library and its shards."""
    folder = tmp_path_factory.mktemp("sharded")
    lines = "".join(json.dumps(record) + "\n" for record in _records())
    (folder / "records.jsonl").write_text(lines, encoding="utf-8")
    with lpisearch.open(folder / "notes.db") as library:
        library.ingest(folder / "records.jsonl")
        library.index(dims=6)
        library.split(folder / "parts", 3)
    return folder


@pytest.fixture
def whole(made: Path) -> Iterator[Library]:
    """Open the library."""
    with lpisearch.open(made / "notes.db") as library:
        yield library


@pytest.fixture
def parts(made: Path) -> Iterator[Library]:
    """Open its shards as one."""
    with lpisearch.open(made / "parts") as library:
        yield library
