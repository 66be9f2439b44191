"""Subsets of documents that contain a word; counts are a sparse array of documents x terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.messages import Message, Option, quoted
from lpisearch.methods.base import check_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.evaluation.collection import Collection
    from lpisearch.options import SimilarityOptions

    Whole = NDArray[np.integer[Any]]


def word_subsets(
    collection: Collection, wanted: SimilarityOptions
) -> tuple[list[tuple[str, Collection]], list[str]]:
    """Return the documents that contain each word, and the words that do not test anything."""
    named = _columns_of(collection, wanted.words) if wanted.words else _frequent(collection, wanted)
    rows = term_subsets(collection.counts, [column for _, column in named], least=0)
    subsets, alike = [], []
    for word, column in named:
        subset = collection.of(rows[column])
        if has_pairs(subset) and len({name for own in subset.labels for name in own}) > 1:
            subsets.append((word, subset))
        else:
            alike.append(word)
    if not subsets:
        raise NothingToEvaluate(
            "None of these words occurs in documents of two classes.",
            Message("choose other words: ", Option("words")),
        )
    return subsets, alike


def has_pairs(collection: Collection) -> bool:
    """Return whether two documents share a label."""
    names = [name for own in collection.labels for name in own]
    return len(set(names)) < len(names)


def _columns_of(collection: Collection, words: Sequence[str]) -> list[tuple[str, int]]:
    if collection.terms:
        stems = _stems(collection, words)
        columns = {term: column for column, term in enumerate(collection.terms)}
        known = {word: columns.get(stems[word], columns.get(word)) for word in words}
    else:
        n_terms = collection.counts.shape[1]
        known = {
            word: int(word) if word.isdecimal() and int(word) < n_terms else None for word in words
        }
    unknown = [word for word, column in known.items() if column is None]
    if unknown:
        raise BadOption("words", f"no labelled document contains {quoted(unknown)}")
    return [(word, column) for word, column in known.items() if column is not None]


def _stems(collection: Collection, words: Sequence[str]) -> Mapping[str, str]:
    from lpisearch.text.tokeniser import Tokeniser

    tokeniser = Tokeniser(collection.tokeniser)
    return {word: " ".join(tokeniser.tokens(word)) for word in words}


def _frequent(collection: Collection, wanted: SimilarityOptions) -> list[tuple[str, int]]:
    number = wanted.most_frequent or 1
    least, most = wanted.subset_size
    best = frequent_terms(collection.counts, number, least, most)
    if not best:
        raise NothingToEvaluate(
            f"No word occurs in {least:,} to {most:,} labelled documents.",
            Message("choose other bounds: ", Option("subset_size", (50, 500))),
        )
    return [
        (collection.terms[column] if collection.terms else str(column), column) for column in best
    ]


def term_subsets(counts: Any, columns: Sequence[int], least: int = 2) -> dict[int, Whole]:
    """Return, for each column, the rows of its documents if there are at least `least`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from lpisearch.evaluation.subsets import term_subsets
    >>> counts = csr_array([[1, 0, 2], [0, 0, 1], [3, 1, 0]])
    >>> {column: rows.tolist() for column, rows in term_subsets(counts, [2, 1, 0]).items()}
    {2: [0, 1], 0: [0, 2]}
    """
    counts = sparse.csc_array(counts)
    beyond = [column for column in columns if not 0 <= column < counts.shape[1]]
    if beyond:
        raise ValueError(f"There is no column {beyond[0]}: there are {counts.shape[1]} terms.")
    subsets = {}
    for column in columns:
        part = slice(counts.indptr[column], counts.indptr[column + 1])
        rows = np.unique(counts.indices[part][counts.data[part] != 0])
        if len(rows) >= least:
            subsets[int(column)] = rows
    return subsets


def frequent_terms(counts: Any, number: int, least: int = 2, most: int | None = None) -> list[int]:
    """Return up to `number` columns of the most frequent terms, in `least` to `most` documents.

    The most frequent come first; of equally frequent ones, the first column.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from lpisearch.evaluation.subsets import frequent_terms
    >>> counts = csr_array([[1, 0, 2, 1], [0, 0, 1, 1], [3, 1, 0, 1]])
    >>> frequent_terms(counts, 2, most=2)
    [0, 2]
    """
    check_count("number", number)
    counts = sparse.csr_array(counts)
    frequency = np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])
    highest = counts.shape[0] if most is None else most
    within = np.flatnonzero((frequency >= max(least, 1)) & (frequency <= highest))
    ranked: list[int] = within[np.argsort(-frequency[within], kind="stable")][:number].tolist()
    return ranked
