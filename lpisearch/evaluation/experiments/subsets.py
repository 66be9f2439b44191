"""Subsets of documents that contain a word, averaged over as in olpi-2005."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.messages import Message, Option
from lpisearch.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.evaluation.experiments.collection import Collection
    from lpisearch.settings import SimilarityOptions


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
    from lpisearch import evaluation

    named = _columns_of(collection, wanted.words) if wanted.words else _frequent(collection, wanted)
    rows = evaluation.word_subsets(collection.counts, [column for _, column in named], least=0)
    found, alike = [], []
    for word, column in named:
        subset = collection.of(rows[column])
        if has_pairs(subset) and len({name for own in subset.labels for name in own}) > 1:
            found.append((word, subset))
        else:
            alike.append(word)
    if not found:
        raise NothingToEvaluate(
            "None of these words occurs in documents of two classes.",
            Message("choose other words: ", Option("words")),
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
        raise BadOption("words", f"no labelled document contains {quoted(unknown)}")
    return [(word, column) for word, column in known.items() if column is not None]


def _stems(collection: Collection, words: Sequence[str]) -> Mapping[str, str]:
    from lpisearch.terms.tokeniser import Tokeniser

    tokeniser = Tokeniser(collection.tokeniser)
    return {word: " ".join(tokeniser.tokens(word)) for word in words}


def _frequent(collection: Collection, wanted: SimilarityOptions) -> list[tuple[str, int]]:
    from lpisearch.evaluation import frequent_terms

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
