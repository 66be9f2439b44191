from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from lpisearch.errors import BadOption
from lpisearch.text import vocabulary as module
from lpisearch.text.vocabulary import Vocabulary, VocabularyLimits, count_terms
from tests.indexing import build_counts

FREQUENCIES = np.array([1, 5, 2, 10, 5, 3])


def chosen(limits: VocabularyLimits) -> list[int]:
    """Return the columns that stay, of ten documents."""
    return np.flatnonzero(limits.choose(FREQUENCIES, 10)).tolist()


@pytest.mark.parametrize(
    ("limits", "columns"),
    [
        (VocabularyLimits(), [0, 1, 2, 3, 4, 5]),
        (VocabularyLimits(min_df=3), [1, 3, 4, 5]),
        (VocabularyLimits(max_df=0.5), [0, 1, 2, 4, 5]),
        (VocabularyLimits(max_df=0.3), [0, 2, 5]),
        (VocabularyLimits(max_terms=2), [1, 3]),
        (VocabularyLimits(max_terms=3), [1, 3, 4]),
        (VocabularyLimits(min_df=2, max_df=0.9, max_terms=1), [1]),
        (VocabularyLimits(min_df=11), []),
    ],
)
def test_limits_keep_the_right_terms(limits: VocabularyLimits, columns: list[int]) -> None:
    assert chosen(limits) == columns


@pytest.mark.parametrize(
    ("n_documents", "smallest"), [(1, 1), (1000, 1), (1001, 2), (10_000, 2), (10_001, 3)]
)
def test_smallest_frequency_follows_the_size_of_the_library(
    n_documents: int, smallest: int
) -> None:
    assert VocabularyLimits().min_df_for(n_documents) == smallest
    assert VocabularyLimits(min_df=7).min_df_for(n_documents) == 7


@pytest.mark.parametrize(
    ("name", "value"),
    [("min_df", 0), ("max_df", 0.0), ("max_df", 1.5), ("max_df", float("nan")), ("max_terms", 0)],
)
def test_impossible_limits_are_refused(name: str, value: float) -> None:
    with pytest.raises(BadOption, match=f"{name}: must be .*{value}"):
        VocabularyLimits(**{name: value})  # type: ignore[arg-type] # a name from the table above


def test_terms_survive_storage() -> None:
    vocabulary = Vocabulary(("zebra", "añil", "東京"), np.array([3, 1, 2], np.int32), 4)
    again = Vocabulary.from_bytes(vocabulary.terms_as_bytes(), vocabulary.document_frequencies, 4)
    assert again.terms == vocabulary.terms
    assert again.index == {"zebra": 0, "añil": 1, "東京": 2}


def test_text_without_known_words_has_no_terms() -> None:
    vocabulary = Vocabulary(("a",), np.array([1], np.int32), 1)
    for tokens, unknown in (([], 0), (["x", "y", "x"], 3)):
        counted = vocabulary.count(tokens)
        assert (len(counted.indices), len(counted.counts), counted.unknown) == (0, 0, unknown)
        assert counted.indices.dtype == np.int32


EVERY_TERM = VocabularyLimits(min_df=1, max_terms=None)
texts = st.lists(st.lists(st.sampled_from("abcdefgh")).map(" ".join), max_size=20)


def test_example_made_by_hand() -> None:
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
    for shards, rows in (([], 0), ([[]], 0), ([["", ""]], 2)):
        vocabulary, counts = build_counts(shards)
        assert len(vocabulary) == 0
        assert counts.matrix.shape == (rows, 0)
    vocabulary, _ = build_counts([["a"]])
    assert count_terms([["b b"]], vocabulary).matrix.toarray().tolist() == [[0]]
