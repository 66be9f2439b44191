"""A query as an index sees it: known terms and query vector."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.indexes.scoring.fusion import known_part
from lpisearch.projections.rows import SparseRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.indexes.postings import Postings


@dataclass(frozen=True, eq=False, slots=True)
class Question:
    """A query in the numbers of an index.

    Attributes
    ----------
    words
        Numbers of its terms in the postings.
    weights
        How much each counts for BM25: how often it is in the query, unless it was made of
        documents.
    vector
        Its place in the subspace at unit length; zeros if no word has a column.
    unknown
        Words that are in no document.
    length
        How many words it has, unknown ones too.
    known
        How much of it the map knows, from 0 to 1: see `known_part` in fusion.py.
    """

    words: NDArray[np.int64]
    weights: NDArray[np.float32]
    vector: NDArray[np.float32]
    unknown: tuple[str, ...] = ()
    length: int = 0
    known: float = 1.0

    def is_known(self, by: str) -> bool:
        """Whether a leg has anything to go by: "lexical" and "semantic" are one, "hybrid" both."""
        words = bool(len(self.words)) and by != "semantic"
        return words or (self.has_place and by != "lexical")

    @property
    def has_place(self) -> bool:
        """Whether it lies anywhere in the subspace."""
        return bool(self.vector.any())


def ask(
    index: SubspaceIndex, postings: Postings, tokens: Iterable[str] | Mapping[str, float]
) -> Question:
    """Find the terms of a query and place it as the documents were placed.

    Tokens may be counted already, and count in parts.
    """
    counted = Counter(tokens)
    numbers = {token: postings.find(token) for token in counted}
    known = {numbers[token]: count for token, count in counted.items() if numbers[token] >= 0}
    words = np.array(sorted(known), np.int64)
    counts = np.array([known[number] for number in words.tolist()], np.float32)
    unknown = tuple(token for token in counted if numbers[token] < 0)
    return Question(
        words,
        counts,
        place(index, postings, words, counts),
        unknown,
        length=round(sum(counted.values())),
        known=_known(postings, words, counts, [counted[token] for token in unknown]),
    )


def _known(
    postings: Postings,
    words: NDArray[np.int64],
    counts: NDArray[np.float32],
    unknown: Sequence[int],
) -> float:
    nowhere = np.zeros(len(unknown), np.int64)
    return known_part(
        np.concatenate([counts, np.array(unknown, np.float32)]),
        np.concatenate([postings.frequencies(words), nowhere]),
        np.concatenate([postings.lexicon_columns[words] >= 0, nowhere.astype(np.bool_)]),
        postings.n_documents,
    )


def place(
    index: SubspaceIndex,
    postings: Postings,
    words: NDArray[np.int64],
    counts: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Place counts of terms where a document with them would lie."""
    columns = postings.lexicon_columns[words]
    known = columns >= 0
    columns, counts = columns[known], counts[known]
    weights = index.weighting.weigh_query(columns, counts)
    rows = SparseRows.of_query(columns, weights, index.n_terms)
    return np.asarray(index.place(rows)[0])
