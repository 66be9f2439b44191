"""Count stored tokens, block by block: the first step of a build."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lpisearch.compute.gathering import Derived
from lpisearch.compute.row_blocks import BLOCK_ROWS, map_blocks
from lpisearch.errors import NothingToIndex
from lpisearch.indexes.workspace import Kept
from lpisearch.messages import Message, call

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.compute.row_blocks import RowBlocks
    from lpisearch.indexes.workspace import Room
    from lpisearch.records import TokenShard
    from lpisearch.terms.boilerplate import EdgeCounts, Edges
    from lpisearch.terms.vocabulary import Vocabulary
    from lpisearch.terms.weighting import Weighting

HASH_BYTES = 16


@dataclass(frozen=True, eq=False, slots=True)
class Counted:
    """All documents as counts of terms.

    Attributes
    ----------
    terms
        All of them, in the order of their first appearance: the columns of `rows`.
    rows
        Documents as rows (the papers write them as columns).
    frequencies
        In how many documents each term is.
    factors
        Of each term: below 1 for boilerplate.
    lengths
        The number of tokens of each document.
    keys, hashes
        Of each document: its key in the store, and its content hash (documents x bytes).
    """

    terms: tuple[str, ...]
    rows: RowBlocks
    frequencies: NDArray[np.int32]
    factors: NDArray[np.float32]
    lengths: NDArray[np.int32]
    keys: NDArray[np.int64]
    hashes: NDArray[np.uint8]

    @classmethod
    def of_kept(cls, kept: Kept) -> Counted:
        """Take what `count_tokens` gave."""
        if kept.rows is None:
            raise ValueError("This step has no rows.")
        arrays = kept.arrays
        terms = tuple(arrays["all_terms"].tobytes().decode().split())
        named = ("all_frequencies", "all_factors", "lengths", "document_rows", "content_hashes")
        frequencies, factors, lengths, keys, hashes = (arrays[name] for name in named)
        return cls(terms, kept.rows, frequencies, factors, lengths, keys, hashes)

    @property
    def words(self) -> int:
        """How many tokens there are."""
        return int(self.lengths.sum(dtype=np.int64))

    def vocabulary(self) -> tuple[Vocabulary, NDArray[np.bool_]]:
        """Choose the terms that become columns; return also which those are.

        Raises
        ------
        NothingToIndex
        """
        from lpisearch.terms.vocabulary import Vocabulary

        n_documents = len(self.keys)
        vocabulary, stays = Vocabulary.choose_by(self.terms, self.frequencies, n_documents)
        if not len(vocabulary):
            raise NothingToIndex(
                f"None of the {n_documents:,} documents contains words to index.",
                Message(call("entries"), "  (is the language right? ", call("status"), ")"),
            )
        return vocabulary, stays

    def known_words(self, stays: NDArray[np.bool_]) -> int:
        """Return how many tokens have a column."""
        return int(sum(map_blocks(_KnownWords(stays), self.rows)))

    def weighed(self, stays: NDArray[np.bool_], weighting: Weighting) -> RowBlocks:
        """Return the weights of the terms with a column, rows at unit length, as they are read."""
        return Derived(self.rows, _Weigh(stays, weighting), int(np.count_nonzero(stays)))


def count_tokens(shards: Iterable[TokenShard], room: Room) -> Kept:
    """Count the terms of all documents, a block at a time.

    Parameters
    ----------
    shards
        The tokens of the documents in their order; read once.
    room
        Where the counts are put.
    """
    from lpisearch.terms.boilerplate import Edges
    from lpisearch.terms.counts import TermNumbers

    numbers, edges, writer = TermNumbers(), Edges(), room.rows()
    keys, hashes, lengths = array("q"), bytearray(), array("i")
    for texts in _blocks(shards, edges, keys, hashes):
        counts = numbers.count(texts)
        writer.add(counts.matrix)
        lengths.frombytes(counts.lengths.tobytes())
    terms = numbers.terms
    rows = writer.finish(len(terms))
    frequencies = np.zeros(len(terms), np.int32)
    for found in map_blocks(_document_frequencies, rows):
        frequencies += found
    documents = CountedDocuments(
        np.array(keys, np.int64),
        np.frombuffer(bytes(hashes), np.uint8).reshape(-1, HASH_BYTES),
        np.array(lengths, np.int32),
    )
    return keep_counted(
        room, rows, CountedTerms(terms, frequencies, edges.of_terms(terms)), documents
    )


class CountedTerms(NamedTuple):
    """All terms in their order, in how many documents each is, and what stands at edges."""

    terms: Sequence[str]
    frequencies: NDArray[np.int32]
    edges: EdgeCounts


class CountedDocuments(NamedTuple):
    """Of each document: its key, its content hash and the number of its tokens."""

    keys: NDArray[np.int64]
    hashes: NDArray[np.uint8]
    lengths: NDArray[np.int32]


def keep_counted(
    room: Room, rows: RowBlocks, terms: CountedTerms, documents: CountedDocuments
) -> Kept:
    """Put what was counted where `Counted.of_kept` finds it."""
    room.put("all_terms", np.frombuffer("\n".join(terms.terms).encode(), np.uint8))
    room.put("all_frequencies", terms.frequencies)
    room.put("all_factors", terms.edges.factors(rows))
    room.put("lengths", documents.lengths)
    room.put("document_rows", documents.keys)
    room.put("content_hashes", documents.hashes)
    return Kept(rows=rows)


def _blocks(
    shards: Iterable[TokenShard], edges: Edges, keys: array[int], hashes: bytearray
) -> Iterator[Sequence[str]]:
    """Give the tokens of so many documents at a time as a block has; note whose they are."""
    texts: list[str] = []
    for shard in shards:
        keys.extend(shard.keys)
        for each in shard.hashes:
            hashes += each
        texts += next(edges.watch([shard.tokens]))
        while len(texts) >= BLOCK_ROWS:
            yield texts[:BLOCK_ROWS]
            texts = texts[BLOCK_ROWS:]
    if texts:
        yield texts


def _document_frequencies(block: csr_array, start: int) -> NDArray[np.int32]:
    del start
    return np.bincount(block.indices, minlength=block.shape[1]).astype(np.int32)


@dataclass(frozen=True, eq=False, slots=True)
class _KnownWords:
    stays: NDArray[np.bool_]

    def __call__(self, block: csr_array, start: int) -> float:
        del start
        return float(block.data[self.stays[block.indices]].sum(dtype=float))


@dataclass(frozen=True, eq=False, slots=True)
class _Weigh:
    """Counts of all terms to weights of those with a column, rows at unit length."""

    stays: NDArray[np.bool_]
    weighting: Weighting

    def __call__(self, block: csr_array) -> csr_array:
        from lpisearch.terms.counts import narrow
        from lpisearch.terms.weighting import normalise_rows

        return normalise_rows(self.weighting.apply(narrow(block, self.stays)))
