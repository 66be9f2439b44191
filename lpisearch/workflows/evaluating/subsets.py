"""Subsets of the documents that hold a word, over which olpi-2005 takes its means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.workflows.evaluating.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.settings import SimilarityOptions
    from lpisearch.workflows.evaluating.collection import Collection


def word_subsets(
    collection: Collection, wanted: SimilarityOptions
) -> tuple[list[tuple[str, Collection]], list[str]]:
    """Return the documents that hold each word, and the words where nothing is to be told apart.

    Raises
    ------
    BadOption
        All unknown words at once.
    NothingToEvaluate
        No word is in so many documents.
    """
    columns = collection.counts.tocsc()
    if wanted.words:
        named = _columns_of(collection, wanted.words)
    else:
        named = _frequent(collection, np.diff(columns.indptr), wanted)
    found, alike = [], []
    for word, column in named:
        rows = columns.indices[columns.indptr[column] : columns.indptr[column + 1]]
        subset = collection.of(np.sort(rows))
        if has_pairs(subset) and len({name for own in subset.labels for name in own}) > 1:
            found.append((word, subset))
        else:
            alike.append(word)
    if not found:
        raise NothingToEvaluate(
            "No subset of documents with one of these words has two classes.",
            "name other words: --words",
        )
    return found, alike


def has_pairs(collection: Collection) -> bool:
    """Tell whether two documents share a label."""
    names = [name for own in collection.labels for name in own]
    return len(set(names)) < len(names)


def _columns_of(collection: Collection, words: Sequence[str]) -> list[tuple[str, int]]:
    if collection.terms:
        stems = _stems(collection, words)
        places = {term: column for column, term in enumerate(collection.terms)}
        known = {word: places.get(stems[word], places.get(word)) for word in words}
    else:
        n_terms = collection.counts.shape[1]
        known = {
            word: int(word) if word.isdecimal() and int(word) < n_terms else None for word in words
        }
    unknown = [word for word, column in known.items() if column is None]
    if unknown:
        raise BadOption("--words", f"no labelled document holds {quoted(unknown)}")
    return [(word, column) for word, column in known.items() if column is not None]


def _stems(collection: Collection, words: Sequence[str]) -> Mapping[str, str]:
    from lpisearch.terms.tokeniser import Tokeniser

    tokeniser = Tokeniser(collection.tokeniser)
    return {word: " ".join(tokeniser.tokens(word)) for word in words}


def _frequent(
    collection: Collection, frequencies: NDArray[np.integer[Any]], wanted: SimilarityOptions
) -> list[tuple[str, int]]:
    fitting = np.flatnonzero((frequencies >= wanted.least) & (frequencies <= wanted.most))
    if not len(fitting):
        raise NothingToEvaluate(
            f"No word is in {wanted.least:,} to {wanted.most:,} labelled documents.",
            "give other bounds: --subset-size 50..500",
        )
    best = fitting[np.argsort(-frequencies[fitting], kind="stable")][: wanted.most_frequent]
    return [
        (collection.terms[column] if collection.terms else str(column), column)
        for column in best.tolist()
    ]
