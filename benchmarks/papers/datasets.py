"""The collections of the papers, as they can be had today."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.evaluation.collection import Collection, matrix_collection, single_labelled
from lpisearch.text.languages import TokeniserSettings
from lpisearch.text.tokeniser import Tokeniser
from lpisearch.text.vocabulary import VocabularyLimits, count_all_terms, narrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DATA = Path(__file__).parents[3] / "shared" / "data"
LARGEST = 30
FILLER = "Blah blah"
# The papers' 26,214 terms of 20 Newsgroups must be without rare words: all stems are 146,063.
NEWSGROUPS_MIN_DF = 5
EVERY_TERM = VocabularyLimits(min_df=1, max_terms=None)


@lru_cache
def load(name: str) -> Collection:
    """Read one of `DATASETS`, once in a process."""
    return DATASETS[name]()


def _tdt2() -> Collection:
    """Read TDT2: the very counts that the authors published."""
    return matrix_collection(DATA / "tdt2" / "tdt2.npz")


def _tdt2_largest() -> Collection:
    """Read the 20 largest classes of TDT2, as olpi-2005 has them."""
    return single_labelled(_tdt2(), 20)


def _reuters() -> Collection:
    """Read documents of Reuters-21578 with one topic, of the 30 largest; words, not stems.

    Of these 8,885 the papers have 8,067. Left out here are those without an article: a body that
    is a filler (“Blah blah”) or one line of asterisks, which leaves 8,116, and those without a
    title, which leaves 8,068.
    """
    words = Tokeniser(TokeniserSettings(language="none", stop_words="english-1"))
    records = _used_records()
    return _of_texts("reuters21578", records, words).of(_rows_of_papers(records))


def reuters_records() -> list[dict[str, Any]]:
    """Return the texts of these documents, in the same order."""
    records = _used_records()
    return [records[row] for row in _rows_of_papers(records)]


def _used_records() -> list[dict[str, Any]]:
    return [each for each in _records("reuters21578") if each["split"] != "unused"]


def _is_article(record: dict[str, Any]) -> bool:
    text, title = record["text"], record["title"]
    return not (FILLER in text or text.lstrip().startswith("***") or not title.strip())


def _rows_of_papers(records: list[dict[str, Any]]) -> list[int]:
    """Return the articles with one label, one of the largest."""
    single = [row for row, record in enumerate(records) if len(record["labels"]) == 1]
    sizes = Counter(records[row]["labels"][0] for row in single)
    largest = {name for name, _ in sizes.most_common(LARGEST)}
    rows = (row for row in single if records[row]["labels"][0] in largest)
    return [row for row in rows if _is_article(records[row])]


def _newsgroups() -> Collection:
    """Read 20 Newsgroups with headers; stems that at least 5 messages have."""
    collection = _of_texts("20newsgroups", list(_records("20newsgroups")), Tokeniser())
    counts = collection.counts
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
    return replace(collection, counts=narrow(counts, frequencies >= NEWSGROUPS_MIN_DF))


DATASETS: dict[str, Callable[[], Collection]] = {
    "tdt2": _tdt2,
    "tdt2-20": _tdt2_largest,
    "reuters": _reuters,
    "newsgroups": _newsgroups,
}


def read_texts(name: str) -> Collection:
    """Read a collection of texts, all its documents, with stems."""
    return _of_texts(name, list(_records(name)), Tokeniser())


def _of_texts(name: str, records: list[dict[str, Any]], tokeniser: Tokeniser) -> Collection:
    texts = [tokeniser.joined(f"{record['title']}\n{record['text']}") for record in records]
    _, counts = count_all_terms([texts])
    return Collection(
        name=name,
        counts=counts.matrix,
        labels=tuple(tuple(record["labels"]) for record in records),
        splits=tuple(record["split"] for record in records),
        terms=(),
        keys=(),
        weighting="tf",
        limits=EVERY_TERM,
        fingerprint=name,
    )


def _records(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / name / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
