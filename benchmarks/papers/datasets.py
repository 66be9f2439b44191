"""The collections of the papers, as they can be had today."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.evaluation.experiments.collection import (
    Collection,
    matrix_collection,
    single_labelled,
)
from lpisearch.terms.counts import count_all_terms, narrow
from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokeniser import Tokeniser
from lpisearch.terms.vocabulary import VocabularyLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DATA = Path(__file__).parents[3] / "shared" / "data"
LARGEST = 30
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
    """Read documents of Reuters-21578 with one topic, of the 30 largest; words, not stems."""
    words = Tokeniser(TokeniserSettings(language="none", stop_words="english-1"))
    collection = _of_texts("reuters21578", words)
    used = [row for row, split in enumerate(collection.splits) if split != "unused"]
    return single_labelled(collection.of(used), LARGEST)


def _newsgroups() -> Collection:
    """Read 20 Newsgroups with headers; stems that at least 5 messages have."""
    collection = _of_texts("20newsgroups", Tokeniser())
    counts = collection.counts
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
    return replace(collection, counts=narrow(counts, frequencies >= NEWSGROUPS_MIN_DF))


DATASETS: dict[str, Callable[[], Collection]] = {
    "tdt2": _tdt2,
    "tdt2-20": _tdt2_largest,
    "reuters": _reuters,
    "newsgroups": _newsgroups,
}


def _of_texts(name: str, tokeniser: Tokeniser) -> Collection:
    records = list(_records(DATA / name / "docs.jsonl.gz"))
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


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
