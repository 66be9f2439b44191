from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from lpisearch.text import vocabulary as module
from lpisearch.text.vocabulary import VocabularyLimits, count_terms
from tests.indexing import build_counts

EVERY_TERM = VocabularyLimits(min_df=1, max_terms=None)
texts = st.lists(st.lists(st.sampled_from("abcdefgh")).map(" ".join), max_size=20)


def test_example_made_by_hand() -> None:
    """Columns come in the order of first appearance, equal words are added up."""
    vocabulary, counts = build_counts([["b a b", ""], ["a c"]], EVERY_TERM)
    assert vocabulary.terms == ("b", "a", "c")
    assert vocabulary.n_documents == 3
    assert_array_equal(vocabulary.document_frequencies, [1, 2, 1])
    assert_array_equal(counts.matrix.toarray(), [[2, 1, 0], [0, 0, 0], [0, 1, 1]])
    assert_array_equal(counts.lengths, [3, 0, 2])


@given(texts, st.integers(1, 7), st.integers(1, 3))
def test_shards_blocks_and_limits_change_no_count(
    documents: list[str], shard: int, min_df: int
) -> None:
    """Whatever the shards and the limits, each entry is what counting by hand gives."""
    shards = [documents[start : start + shard] for start in range(0, len(documents), shard)]
    vocabulary, counts = build_counts(shards, VocabularyLimits(min_df=min_df, max_terms=None))
    by_hand = [Counter(text.split()) for text in documents]
    frequencies = Counter(chain.from_iterable(by_hand))
    assert {*vocabulary.terms} == {term for term, df in frequencies.items() if df >= min_df}
    dense = counts.matrix.toarray()
    assert dense.shape == (len(documents), len(vocabulary))
    for row, counted in zip(dense, by_hand, strict=True):
        assert row.tolist() == [counted[term] for term in vocabulary.terms]
    assert vocabulary.document_frequencies.tolist() == [
        frequencies[term] for term in vocabulary.terms
    ]


@given(texts, texts)
def test_new_documents_are_counted_by_the_vocabulary_of_the_old(
    old: list[str], new: list[str]
) -> None:
    """New words have no column but count in the length, and one text is counted as in a matrix."""
    vocabulary, counts = build_counts([old], EVERY_TERM)
    assert_array_equal(count_terms([old], vocabulary).matrix.toarray(), counts.matrix.toarray())
    again = count_terms([new], vocabulary)
    for row, text in enumerate(new):
        words = text.split()
        unknown = sum(word not in vocabulary.index for word in words)
        assert again.lengths[row] - again.matrix[[row]].sum() == unknown
        one = vocabulary.count(words)
        assert one.unknown == unknown
        start, end = again.matrix.indptr[row : row + 2]
        assert_array_equal(one.indices, again.matrix.indices[start:end])
        assert_array_equal(one.counts, again.matrix.data[start:end])


def test_matrix_is_compact_and_in_canonical_form() -> None:
    """Indices are int32, sorted and without duplicates; counts are float32."""
    rng = np.random.default_rng(0)
    documents = [" ".join(map(str, rng.integers(0, 300, 40))) for _ in range(3 * module.BLOCK)]
    matrix = build_counts([documents], VocabularyLimits(min_df=20))[1].matrix
    assert matrix.dtype == np.float32
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    claimed = matrix.copy()
    matrix.has_canonical_format = False
    matrix.sum_duplicates()
    assert_array_equal(matrix.indices, claimed.indices)
    assert matrix.data.min() > 0


def test_no_documents_and_no_words() -> None:
    """Nothing in gives a matrix of the right shape with nothing in it."""
    for shards, rows in (([], 0), ([[]], 0), ([["", ""]], 2)):
        vocabulary, counts = build_counts(shards)
        assert len(vocabulary) == 0
        assert counts.matrix.shape == (rows, 0)
    vocabulary, _ = build_counts([["a"]])
    assert count_terms([["b b"]], vocabulary).matrix.toarray().tolist() == [[0]]
